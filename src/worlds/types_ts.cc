// Declarations in TypeScript (AssemblyScript), on sdk/module-ts.
#include <set>

#include "worlds/types_for.h"

namespace pawl::worlds {
namespace {

constexpr TypeWords kTsTypes = {.boolean = "bool",
                                .integer = "i64",
                                .natural = "u64",
                                .bytes = "Bytes",
                                .text = "string",
                                .unit = "Unit",
                                .list = "Array",
                                .map = "Map",
                                .option = "Option"};

// A function pair read_X and put_X stands for every type that is no scalar: AssemblyScript has no
// overloads, and its generics do not choose by type.
class TsDeclaring {
 public:
  explicit TsDeclaring(const TypeNames& names) : names_(names) {}

  std::string declare(const std::vector<DeclaredType>& types) {
    for (const DeclaredType& type : types) {
      out_ += "\n";
      if (!type.schema.empty()) out_ += "// " + type.schema + "\n";
      switch (type.kind) {
        case DeclaredType::Kind::Record:
          record(type);
          break;
        case DeclaredType::Kind::Variant:
          variant(type);
          break;
        case DeclaredType::Kind::Alias:
          alias(type);
          break;
      }
    }
    return std::move(out_);
  }

 private:
  std::string type_of(const Type& type) const {
    return spell_type(kTsTypes, type, names_, [this](const Type& named) {
      // An alias cannot be constructed: what it stands for can.
      const TypeKind kind = named.plain().kind;
      if (kind != TypeKind::Record && kind != TypeKind::Variant) return type_of(named.plain());
      const Type* last = &named;
      while (last->target->kind == TypeKind::Ref) last = last->target.get();
      return names_.name_of(*last);
    });
  }

  // Part of a function's name.
  std::string label(const Type& type) const {
    switch (type.kind) {
      case TypeKind::Bool:
      case TypeKind::Int:
      case TypeKind::Duration:
      case TypeKind::Nat:
      case TypeKind::Time:
      case TypeKind::Bytes:
      case TypeKind::Text:
      case TypeKind::Dec128:
      case TypeKind::Hash:
      case TypeKind::Uuid:
      case TypeKind::Unit:
        return type_of(type);
      case TypeKind::List:
      case TypeKind::Set:
        return "list_" + label(type.inner[0]);
      case TypeKind::Map:
        return "map_" + label(type.inner[0]) + "_" + label(type.inner[1]);
      case TypeKind::Option:
        return "option_" + label(type.inner[0]);
      case TypeKind::Record:
      case TypeKind::Variant:
      case TypeKind::Ref:
        return names_.name_of(type);
    }
    return "";
  }

  static std::string initial(const Type& type, const std::string& name) {
    switch (type.plain().kind) {
      case TypeKind::Bool:
        return "false";
      case TypeKind::Int:
      case TypeKind::Duration:
      case TypeKind::Nat:
      case TypeKind::Time:
        return "0";
      case TypeKind::Text:
      case TypeKind::Dec128:
      case TypeKind::Hash:
      case TypeKind::Uuid:
        return "\"\"";
      case TypeKind::Bytes:
        return "new Bytes(0, 0)";
      case TypeKind::Unit:
      case TypeKind::List:
      case TypeKind::Set:
      case TypeKind::Map:
      case TypeKind::Option:
      case TypeKind::Record:
      case TypeKind::Variant:
        return "new " + name + "()";
      case TypeKind::Ref:
        break;
    }
    return "";
  }

  // An expression that reads a Value, and a statement's expression that gives the Encoded.
  std::string read(const Type& type, const std::string& value) {
    function_pair(type);
    return "read_" + label(type) + "(" + value + ")";
  }
  std::string encode(const Type& type, const std::string& value) {
    function_pair(type);
    return "encode_" + label(type) + "(" + value + ")";
  }

  // Those of lists, maps and options; declared types have theirs, and the SDK has those of scalars.
  void function_pair(const Type& type) {
    const bool composite = type.kind == TypeKind::List || type.kind == TypeKind::Set ||
                           type.kind == TypeKind::Map || type.kind == TypeKind::Option;
    if (!composite || !made_.insert(label(type)).second) return;
    for (const Type& inner : type.inner) function_pair(inner);
    const std::string type_name = type_of(type), name = label(type);
    std::string reading, writing;
    if (type.kind == TypeKind::Option) {
      reading = "  const into = new " + type_name +
                "();\n  if (!value.isNull) {\n    into.some = true;\n"
                "    into.value = " +
                read(type.inner[0], "value") + ";\n  }\n";
      writing = "  return value.some ? " + encode(type.inner[0], "value.value") +
                " : Encoded.nothing();\n";
    } else if (type.kind == TypeKind::Map) {
      reading = "  const into = new " + type_name +
                "();\n  const items = value.elements();\n"
                "  for (let i = 0; i < items.length; i += 2)\n    into.set(" +
                read(type.inner[0], "items[i]") + ", " + read(type.inner[1], "items[i + 1]") +
                ");\n";
      writing =
          "  const out = new Entries();\n  const keys = value.keys();\n"
          "  for (let i = 0; i < keys.length; ++i)\n    out.add(" +
          encode(type.inner[0], "keys[i]") + ", " + encode(type.inner[1], "value.get(keys[i])") +
          ");\n  return out.done();\n";
    } else {
      reading = "  const into = new " + type_name +
                "();\n  const items = value.elements();\n"
                "  for (let i = 0; i < items.length; ++i) into.push(" +
                read(type.inner[0], "items[i]") + ");\n";
      writing = "  const out = new List();\n  for (let i = 0; i < value.length; ++i) out.add(" +
                encode(type.inner[0], "value[i]") + ");\n  return out.done();\n";
    }
    functions_ += "function read_" + name + "(value: Value): " + type_name + " {\n" + reading +
                  "  return into;\n}\nfunction encode_" + name + "(value: " + type_name +
                  "): Encoded {\n" + writing + "}\n";
  }

  void record(const DeclaredType& type) {
    std::string fields, reading, writing;
    for (const auto& member : type.members) {
      const std::string& name = member.name;
      fields += "  " + name + ": " + type_of(*member.type) + " = " +
                initial(*member.type, type_of(*member.type)) + ";\n";
      reading +=
          "  into." + name + " = " + read(*member.type, "value.get(\"" + name + "\")") + ";\n";
      writing += "  out.put(\"" + name + "\", " + encode(*member.type, "value." + name) + ");\n";
    }
    finish(type, fields, "  const into = new " + type.name + "();\n" + reading + "  return into;\n",
           "  const out = new Record();\n" + writing + "  return out.done();\n");
  }

  void variant(const DeclaredType& type) {
    std::string fields = "  tag: string = \"" + type.members[0].name + "\";\n";
    std::string reading, writing;
    for (const auto& arm : type.members) {
      if (arm.type->plain().kind == TypeKind::Unit) continue;
      fields += "  as_" + arm.name + ": " + type_of(*arm.type) + " = " +
                initial(*arm.type, type_of(*arm.type)) + ";\n";
      reading += "  if (into.tag == \"" + arm.name + "\") into.as_" + arm.name + " = " +
                 read(*arm.type, "value.arm") + ";\n";
      writing += "  if (value.tag == \"" + arm.name + "\") return Encoded.variant(value.tag, " +
                 encode(*arm.type, "value.as_" + arm.name) + ");\n";
    }
    finish(type, fields,
           "  const into = new " + type.name +
               "();\n  if (value.isNull) return into;\n  into.tag = value.tag;\n" + reading +
               "  return into;\n",
           writing + "  return Encoded.variant(value.tag);\n");
  }

  void alias(const DeclaredType& type) {
    const Type& inner = *type.members[0].type;
    const std::string reading = read(inner, "value"), writing = encode(inner, "value");
    flush();
    out_ += "export type " + type.name + " = " + type_of(inner) + ";\nexport function read_" +
            type.name + "(value: Value): " + type.name + " {\n  return " + reading +
            ";\n}\nexport function encode_" + type.name + "(value: " + type.name +
            "): Encoded {\n  return " + writing + ";\n}\n";
  }

  void finish(const DeclaredType& type, const std::string& fields, const std::string& reading,
              const std::string& writing) {
    flush();
    out_ += "export class " + type.name + " {\n" + fields + "}\nexport function read_" + type.name +
            "(value: Value): " + type.name + " {\n" + reading + "}\nexport function encode_" +
            type.name + "(value: " + type.name + "): Encoded {\n" + writing + "}\n";
  }

  void flush() { out_ += std::exchange(functions_, {}); }

  const TypeNames& names_;
  std::string out_, functions_;
  std::set<std::string> made_;
};

}  // namespace

std::string declare_ts(const std::vector<DeclaredType>& types, const TypeNames& names) {
  return "// Made by `pawl worlds types --lang ts`: the types of the world's schemas.\n"
         "// read_T(value) reads one, encode_T(value) writes one.\n"
         "import {\n  Bytes, Encoded, Entries, List, Option, Record, Unit, Value,\n"
         "  encode_bool, encode_Bytes, encode_i64, encode_string, encode_u64, encode_Unit,\n"
         "  read_bool, read_Bytes, read_i64, read_string, read_u64, read_Unit,\n"
         "} from \"./pawl_module\";\n" +
         TsDeclaring(names).declare(types);
}

}  // namespace pawl::worlds
