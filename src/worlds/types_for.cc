#include "worlds/types_for.h"

#include <algorithm>
#include <map>
#include <set>

#include "worlds/builtins.h"

namespace pawl::worlds {
namespace {

// "order_id" -> "OrderId": the part of a nested type's name.
std::string camel(std::string_view text) {
  std::string out;
  bool up = true;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && (c < '0' || c > '9')) {
      up = true;
    } else {
      out += up && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      up = false;
    }
  }
  return out;
}

struct SchemaName {
  std::string space, base, version;
};

SchemaName split_name(std::string_view name) {
  const size_t slash = name.find('/'), at = name.rfind('@');
  if (slash == name.npos || at == name.npos || at < slash) return {"", camel(name), ""};
  return {camel(name.substr(0, slash)), camel(name.substr(slash + 1, at - slash - 1)),
          std::string(name.substr(at + 1))};
}

// The declarations of schemas, each after those that it needs.
class Declaring final : public TypeNames {
 public:
  explicit Declaring(const std::map<std::string, std::shared_ptr<const Type>>& schemas)
      : schemas_(schemas) {
    std::map<std::string, int> bases;
    for (const auto& [name, type] : schemas) ++bases[split_name(name).base];
    for (const auto& [name, type] : schemas) {
      const SchemaName parts = split_name(name);
      // Unique names stay short; equal ones tell namespace and version.
      std::string chosen =
          bases[parts.base] == 1 ? parts.base : parts.space + parts.base + "V" + parts.version;
      while (!taken_.insert(chosen).second) chosen += "_";
      schema_names_[name] = chosen;
    }
    for (const auto& [name, type] : schemas) declare_schema(name);
  }

  const std::string& name_of(const Type& type) const override {
    static const std::string kNone;
    if (type.kind == TypeKind::Ref) {
      const auto found = schema_names_.find(type.ref);
      return found == schema_names_.end() ? kNone : found->second;
    }
    const auto found = inner_names_.find(&type);
    return found == inner_names_.end() ? kNone : found->second;
  }
  const std::vector<DeclaredType>& types() const { return types_; }

 private:
  void declare_schema(const std::string& name) {
    if (!declared_.insert(name).second) return;
    const auto found = schemas_.find(name);
    if (found != schemas_.end()) declare(*found->second, schema_names_[name], name);
  }

  void declare(const Type& type, const std::string& name, const std::string& schema) {
    DeclaredType made;
    made.name = name;
    made.schema = schema;
    if (type.kind == TypeKind::Record || type.kind == TypeKind::Variant) {
      made.kind =
          type.kind == TypeKind::Record ? DeclaredType::Kind::Record : DeclaredType::Kind::Variant;
      for (const auto& [member, inner] : type.members) {
        need(inner, name + camel(member));
        made.members.push_back({member, &inner, name_of(inner)});
      }
    } else {
      for (const Type& inner : type.inner) need(inner, name + "Item");
      if (type.kind == TypeKind::Ref) declare_schema(type.ref);
      made.members.push_back({"", &type, ""});
    }
    types_.push_back(std::move(made));
  }

  // What a declaration uses is declared before it.
  void need(const Type& type, std::string name) {
    if (type.kind == TypeKind::Ref) return declare_schema(type.ref);
    for (const Type& inner : type.inner)
      need(inner, name + (type.inner.size() > 1 && &inner == &type.inner[1] ? "Value" : ""));
    if (type.kind != TypeKind::Record && type.kind != TypeKind::Variant) return;
    while (!taken_.insert(name).second) name += "_";
    inner_names_[&type] = name;
    declare(type, name, "");
  }

  const std::map<std::string, std::shared_ptr<const Type>>& schemas_;
  std::map<std::string, std::string> schema_names_;
  std::map<const Type*, std::string> inner_names_;
  std::set<std::string> taken_, declared_;
  std::vector<DeclaredType> types_;
};

void collect_refs(const Type& type, std::set<std::string>& into) {
  if (type.kind == TypeKind::Ref) into.insert(type.ref);
  for (const auto& [name, member] : type.members) collect_refs(member, into);
  for (const Type& inner : type.inner) collect_refs(inner, into);
}

Error broken_schema(const std::string& name, const std::vector<Complaint>& faults) {
  Error error{ErrorCode::InvalidContent, "the schema " + name + " is not valid"};
  error.complaints = faults;
  if (!faults.empty()) error.message += ": " + faults[0].path + ": " + faults[0].message;
  return error;
}

Result<Type> read_schema(const std::string& name, json::View expression) {
  PAWL_TRY(const std::string bytes, from_plain_json(expression));
  PAWL_TRY(const cbor::Item item, cbor::read(bytes));
  std::vector<Complaint> faults;
  Type type = read_type(item, "", faults);
  if (!faults.empty()) return broken_schema(name, faults);
  return type;
}

}  // namespace

std::string spell_type(const TypeWords& words, const Type& type, const TypeNames& names,
                       FunctionRef<std::string(const Type&)> reference) {
  const auto within = [&](size_t n) { return spell_type(words, type.inner[n], names, reference); };
  const auto of = [](std::string_view head, const std::string& inner) {
    return std::string(head) + "<" + inner + ">";
  };
  switch (type.kind) {
    case TypeKind::Bool:
      return std::string(words.boolean);
    case TypeKind::Int:
    case TypeKind::Duration:
      return std::string(words.integer);
    case TypeKind::Nat:
    case TypeKind::Time:
      return std::string(words.natural);
    case TypeKind::Bytes:
      return std::string(words.bytes);
    case TypeKind::Text:
    case TypeKind::Dec128:
    case TypeKind::Hash:
    case TypeKind::Uuid:
      return std::string(words.text);
    case TypeKind::Unit:
      return std::string(words.unit);
    case TypeKind::List:
    case TypeKind::Set:
      return of(words.list, within(0));
    case TypeKind::Map:
      return of(words.map, within(0) + ", " + within(1));
    case TypeKind::Option:
      return of(words.option, within(0));
    case TypeKind::Record:
    case TypeKind::Variant:
      return names.name_of(type);
    case TypeKind::Ref:
      return reference(type);
  }
  return "";
}

std::optional<ModuleLanguage> parse_module_language(std::string_view name) {
  if (name == "cpp") return ModuleLanguage::Cpp;
  if (name == "rust") return ModuleLanguage::Rust;
  if (name == "ts") return ModuleLanguage::Ts;
  return std::nullopt;
}

Result<std::string> types_for(json::View nodes, ModuleLanguage language) {
  Types types;
  add_builtin_types(types);
  std::map<std::string, std::string> paths;
  std::set<std::string> wanted;
  Status read = ok_status();
  nodes.each_element([&](json::View node) {
    const auto kind = node.find("$kind"), name = node.find("name"), type = node.find("type");
    if (!read.ok() || !kind || !kind->equals("defschema") || !name || !name->is_string() || !type)
      return;
    auto made = read_schema(name->string(), *type);
    if (!made.ok()) return void(read = made.error());
    paths[name->string()] = "/" + name->string();
    wanted.insert(name->string());
    types.add(name->string(), std::move(made).value());
  });
  PAWL_TRY_DO(read);
  std::vector<Complaint> faults;
  types.resolve(paths, faults);
  if (!faults.empty()) return broken_schema(faults[0].path, faults);
  std::map<std::string, std::shared_ptr<const Type>> schemas;
  while (!wanted.empty()) {
    const std::string name = *wanted.begin();
    wanted.erase(wanted.begin());
    const auto type = types.find(name);
    if (type == nullptr || !schemas.emplace(name, type).second) continue;
    collect_refs(*type, wanted);
    std::erase_if(wanted, [&](const std::string& one) { return schemas.count(one) != 0; });
  }
  const Declaring declaring(schemas);
  switch (language) {
    case ModuleLanguage::Cpp:
      return declare_cpp(declaring.types(), declaring);
    case ModuleLanguage::Rust:
      return declare_rust(declaring.types(), declaring);
    case ModuleLanguage::Ts:
      return declare_ts(declaring.types(), declaring);
  }
  return std::string();
}

}  // namespace pawl::worlds
