// Declarations in C++, on sdk/module-cpp/pawl_module.h.
#include <algorithm>

#include "worlds/types_for.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kCppWords[] = {
    "alignas",  "alignof", "and",      "asm",       "auto",     "bool",      "break",    "case",
    "catch",    "char",    "class",    "concept",   "const",    "constexpr", "continue", "decltype",
    "default",  "delete",  "do",       "double",    "else",     "enum",      "explicit", "export",
    "extern",   "false",   "float",    "for",       "friend",   "goto",      "if",       "inline",
    "int",      "long",    "mutable",  "namespace", "new",      "noexcept",  "not",      "nullptr",
    "operator", "or",      "private",  "protected", "public",   "register",  "requires", "return",
    "short",    "signed",  "sizeof",   "static",    "struct",   "switch",    "template", "this",
    "throw",    "true",    "try",      "typedef",   "typename", "union",     "unsigned", "using",
    "virtual",  "void",    "volatile", "while",     "xor"};

std::string cpp_word(const std::string& name) {
  const bool taken =
      std::find(std::begin(kCppWords), std::end(kCppWords), name) != std::end(kCppWords);
  return taken ? name + "_" : name;
}

constexpr TypeWords kCppTypes = {.boolean = "bool",
                                 .integer = "int64_t",
                                 .natural = "uint64_t",
                                 .bytes = "pawl::Bytes",
                                 .text = "pawl::Text",
                                 .unit = "pawl::Unit",
                                 .list = "pawl::Array",
                                 .map = "pawl::Pairs",
                                 .option = "pawl::Option"};

std::string cpp_type(const Type& type, const TypeNames& names) {
  return spell_type(kCppTypes, type, names);
}

void cpp_record(std::string& out, const DeclaredType& type, const TypeNames& names) {
  out += "struct " + type.name + " {\n";
  for (const auto& member : type.members)
    out += "  " + cpp_type(*member.type, names) + " " + cpp_word(member.name) + "{};\n";
  out += "};\n";
  const std::string in = type.members.empty() ? "" : " value", into = in.empty() ? "" : " into";
  out += "inline void read(const pawl::Value&" + in + ", " + type.name + "&" + into + ") {\n";
  for (const auto& member : type.members)
    out += "  read(value[\"" + member.name + "\"], into." + cpp_word(member.name) + ");\n";
  out += "}\ninline void put(pawl::Buffer& out, const " + type.name + "&" + in + ") {\n";
  out += "  out.head(5, " + std::to_string(type.members.size()) + ");\n";
  for (const auto& member : type.members)
    out +=
        "  put(out, \"" + member.name + "\");\n  put(out, value." + cpp_word(member.name) + ");\n";
  out += "}\n";
}

void cpp_variant(std::string& out, const DeclaredType& type, const TypeNames& names) {
  out += "struct " + type.name + " {\n  enum class Tag : uint8_t { ";
  for (const auto& arm : type.members)
    out += (&arm == &type.members[0] ? "" : ", ") + cpp_word(arm.name);
  out += " };\n  Tag tag{};\n";
  for (const auto& arm : type.members)
    if (arm.type->plain().kind != TypeKind::Unit)
      out += "  " + cpp_type(*arm.type, names) + " as_" + arm.name + "{};\n";
  out += "};\ninline void read(const pawl::Value& value, " + type.name + "& into) {\n";
  out += "  if (!value) return;\n  const pawl::Text tag = value.tag();\n";
  for (const auto& arm : type.members) {
    out += "  if (tag == \"" + arm.name + "\") {\n    into.tag = " + type.name +
           "::Tag::" + cpp_word(arm.name) + ";\n";
    if (arm.type->plain().kind != TypeKind::Unit)
      out += "    read(value.arm(), into.as_" + arm.name + ");\n";
    out += "  }\n";
  }
  out += "}\ninline void put(pawl::Buffer& out, const " + type.name + "& value) {\n";
  out += "  switch (value.tag) {\n";
  for (const auto& arm : type.members) {
    const bool unit = arm.type->plain().kind == TypeKind::Unit;
    out += "    case " + type.name + "::Tag::" + cpp_word(arm.name) +
           ":\n      return put(out, pawl::variant(\"" + arm.name + "\"" +
           (unit ? "" : ", value.as_" + arm.name) + "));\n";
  }
  out += "  }\n}\n";
}

}  // namespace

std::string declare_cpp(const std::vector<DeclaredType>& types, const TypeNames& names) {
  std::string out =
      "// Made by `pawl worlds types --lang cpp`: the types of the world's schemas.\n"
      "// pawl::as<T>(value) reads one, pawl::encode(value) writes one.\n"
      "#pragma once\n\n#include \"pawl_module.h\"\n";
  for (const DeclaredType& type : types) {
    out += "\n";
    if (!type.schema.empty()) out += "// " + type.schema + "\n";
    switch (type.kind) {
      case DeclaredType::Kind::Record:
        cpp_record(out, type, names);
        break;
      case DeclaredType::Kind::Variant:
        cpp_variant(out, type, names);
        break;
      case DeclaredType::Kind::Alias:
        out += "using " + type.name + " = " + cpp_type(*type.members[0].type, names) + ";\n";
        break;
    }
  }
  return out;
}

}  // namespace pawl::worlds
