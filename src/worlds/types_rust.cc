// Declarations in Rust, on sdk/module-rust.
#include <algorithm>

#include "worlds/types_for.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kRustWords[] = {
    "abstract", "as",     "async",   "await",  "become",  "box",      "break", "const",
    "continue", "do",     "dyn",     "else",   "enum",    "extern",   "false", "final",
    "fn",       "for",    "gen",     "if",     "impl",    "in",       "let",   "loop",
    "macro",    "match",  "mod",     "move",   "mut",     "override", "priv",  "pub",
    "ref",      "return", "static",  "struct", "trait",   "true",     "try",   "type",
    "typeof",   "unsafe", "unsized", "use",    "virtual", "where",    "while", "yield"};
constexpr std::string_view kRustNoRaw[] = {"Self", "crate", "self", "super", "_"};

std::string rust_word(const std::string& name) {
  const auto among = [&](const auto& words) {
    return std::find(std::begin(words), std::end(words), name) != std::end(words);
  };
  return among(kRustNoRaw) ? name + "_" : among(kRustWords) ? "r#" + name : name;
}

constexpr TypeWords kRustTypes = {.boolean = "bool",
                                  .integer = "i64",
                                  .natural = "u64",
                                  .bytes = "Blob",
                                  .text = "String",
                                  .unit = "()",
                                  .list = "Vec",
                                  .map = "BTreeMap",
                                  .option = "Option"};

std::string rust_type(const Type& type, const TypeNames& names) {
  return spell_type(kRustTypes, type, names);
}

void rust_record(std::string& out, const DeclaredType& type, const TypeNames& names) {
  out += "#[derive(Clone, Debug, Default, PartialEq)]\npub struct " + type.name + " {\n";
  for (const auto& member : type.members)
    out += "    pub " + rust_word(member.name) + ": " + rust_type(*member.type, names) + ",\n";
  const std::string value = type.members.empty() ? "_value" : "value";
  out += "}\nimpl Read for " + type.name + " {\n    fn read(" + value +
         ": Value) -> Self {\n        " + type.name + " {\n";
  for (const auto& member : type.members)
    out += "            " + rust_word(member.name) + ": Read::read(value.get(\"" + member.name +
           "\")),\n";
  out += "        }\n    }\n}\nimpl Put for " + type.name +
         " {\n    fn put(&self, out: &mut Vec<u8>) {\n        record(&[\n";
  for (const auto& member : type.members)
    out += "            (\"" + member.name + "\", &self." + rust_word(member.name) + "),\n";
  out += "        ])\n        .put(out)\n    }\n}\n";
}

void rust_variant(std::string& out, const DeclaredType& type, const TypeNames& names) {
  const auto is_unit = [](const DeclaredType::Member& arm) {
    return arm.type->plain().kind == TypeKind::Unit;
  };
  out += "#[derive(Clone, Debug, PartialEq)]\npub enum " + type.name + " {\n";
  for (const auto& arm : type.members)
    out += "    " + rust_word(arm.name) +
           (is_unit(arm) ? "" : "(" + rust_type(*arm.type, names) + ")") + ",\n";
  const auto& first = type.members[0];
  out += "}\nimpl Default for " + type.name + " {\n    fn default() -> Self {\n        " +
         type.name + "::" + rust_word(first.name) + (is_unit(first) ? "" : "(Default::default())") +
         "\n    }\n}\nimpl Read for " + type.name + " {\n    fn read(value: Value) -> Self {\n" +
         "        if value.is_null() {\n            return Self::default();\n        }\n"
         "        match value.tag() {\n";
  for (const auto& arm : type.members)
    out += "            \"" + arm.name + "\" => " + type.name + "::" + rust_word(arm.name) +
           (is_unit(arm) ? "" : "(Read::read(value.arm()))") + ",\n";
  out += "            _ => panic!(),\n        }\n    }\n}\nimpl Put for " + type.name +
         " {\n    fn put(&self, out: &mut Vec<u8>) {\n        match self {\n";
  for (const auto& arm : type.members)
    out += "            " + type.name + "::" + rust_word(arm.name) +
           (is_unit(arm) ? " => unit_variant(\"" + arm.name + "\")"
                         : "(value) => variant(\"" + arm.name + "\", value)") +
           ".put(out),\n";
  out += "        }\n    }\n}\n";
}

}  // namespace

std::string declare_rust(const std::vector<DeclaredType>& types, const TypeNames& names) {
  std::string out =
      "//! Made by `pawl worlds types --lang rust`: the types of the world's schemas.\n"
      "//! `T::read(value)` reads one, `encode(&value)` writes one.\n"
      "#![allow(dead_code, non_camel_case_types, non_snake_case, unused_imports)]\n\n"
      "use pawl_module::{record, unit_variant, variant, BTreeMap, Blob, Put, Read, String, Value, "
      "Vec};\n";
  for (const DeclaredType& type : types) {
    out += "\n";
    if (!type.schema.empty()) out += "/// " + type.schema + "\n";
    switch (type.kind) {
      case DeclaredType::Kind::Record:
        rust_record(out, type, names);
        break;
      case DeclaredType::Kind::Variant:
        rust_variant(out, type, names);
        break;
      case DeclaredType::Kind::Alias:
        out += "pub type " + type.name + " = " + rust_type(*type.members[0].type, names) + ";\n";
        break;
    }
  }
  return out;
}

}  // namespace pawl::worlds
