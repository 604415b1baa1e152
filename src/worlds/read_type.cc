// Type expressions as they stand in schemas.
#include <algorithm>
#include <iterator>

#include "base/ascii.h"
#include "worlds/json_pointer.h"
#include "worlds/type.h"

namespace pawl::worlds {
namespace {

constexpr TypeKind kAllTypeKinds[] = {
    TypeKind::Bool, TypeKind::Int,    TypeKind::Nat,      TypeKind::Dec128, TypeKind::Bytes,
    TypeKind::Text, TypeKind::Time,   TypeKind::Duration, TypeKind::Hash,   TypeKind::Uuid,
    TypeKind::Unit, TypeKind::Record, TypeKind::Variant,  TypeKind::List,   TypeKind::Set,
    TypeKind::Map,  TypeKind::Option, TypeKind::Ref};

bool is_member_name(std::string_view name) {
  if (name.empty() || is_digit(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alphanumeric(c) || c == '_'; });
}

class TypeReader {
 public:
  explicit TypeReader(std::vector<Complaint>& faults) : faults_(faults) {}

  Type type(const cbor::Item& expression, const std::string& path, size_t depth) {
    if (depth > kTypeDepthMax) return invalid(path, "a type has at most 64 levels");
    if (!expression.is_map() || expression.items.size() != 2 || !expression.items[0].is_text())
      return invalid(path, "a type is an object with exactly one member, such as {\"nat\": {}}");
    const std::string_view name = expression.items[0].string;
    const auto* kind = std::find_if(std::begin(kAllTypeKinds), std::end(kAllTypeKinds),
                                    [&](TypeKind some) { return type_name(some) == name; });
    if (kind == std::end(kAllTypeKinds)) return invalid(path, "there is no type of this name");
    return body(*kind, expression.items[1], path + "/" + std::string(name), depth);
  }

 private:
  Type invalid(const std::string& path, std::string_view message) {
    faults_.push_back({path, std::string(message), "type.invalid"});
    return Type{};
  }

  Type body(TypeKind kind, const cbor::Item& body, const std::string& path, size_t depth) {
    switch (kind) {
      case TypeKind::Bool:
      case TypeKind::Int:
      case TypeKind::Nat:
      case TypeKind::Dec128:
      case TypeKind::Bytes:
      case TypeKind::Text:
      case TypeKind::Time:
      case TypeKind::Duration:
      case TypeKind::Hash:
      case TypeKind::Uuid:
      case TypeKind::Unit:
        return scalar(kind, body, path);
      case TypeKind::Record:
      case TypeKind::Variant:
        return members(kind, body, path, depth);
      case TypeKind::List:
      case TypeKind::Set:
        return of_one(kind, type(body, path, depth + 1));
      case TypeKind::Map:
        return map(body, path, depth);
      case TypeKind::Option:
        return option(body, path, depth);
      case TypeKind::Ref:
        return ref(body, path);
    }
    return Type{};
  }

  static Type of_one(TypeKind kind, Type inner) {
    Type type;
    type.kind = kind;
    type.inner.push_back(std::move(inner));
    return type;
  }

  Type scalar(TypeKind kind, const cbor::Item& body, const std::string& path) {
    if (!body.is_map()) return invalid(path, "must be {}");
    for (size_t i = 0; i + 1 < body.items.size(); i += 2)
      unknown_member(body.items[i], path, "a scalar type has no members");
    Type type;
    type.kind = kind;
    return type;
  }

  void unknown_member(const cbor::Item& name, const std::string& path, std::string_view message) {
    faults_.push_back({below(path, name.string), std::string(message), "field.unknown"});
  }

  Type members(TypeKind kind, const cbor::Item& body, const std::string& path, size_t depth) {
    if (!body.is_map()) return invalid(path, "must be an object of names and types");
    Type type_of;
    type_of.kind = kind;
    for (size_t i = 0; i + 1 < body.items.size(); i += 2) {
      const cbor::Item& name = body.items[i];
      const std::string at = below(path, name.string);
      if (!name.is_text() || !is_member_name(name.string)) {
        invalid(at, "a name is made of letters, digits and _, and begins with no digit");
        continue;
      }
      type_of.members.emplace_back(name.string, type(body.items[i + 1], at, depth + 1));
    }
    std::sort(type_of.members.begin(), type_of.members.end(), [](const auto& a, const auto& b) {
      return a.first.size() != b.first.size() ? a.first.size() < b.first.size() : a.first < b.first;
    });
    return type_of;
  }

  Type map(const cbor::Item& body, const std::string& path, size_t depth) {
    if (!body.is_map()) return invalid(path, "must be {\"key\": type, \"value\": type}");
    for (size_t i = 0; i + 1 < body.items.size(); i += 2)
      if (body.items[i].string != "key" && body.items[i].string != "value")
        unknown_member(body.items[i], path, "a map has a key and a value");
    const cbor::Item* key = body.find("key");
    const cbor::Item* value = body.find("value");
    if (key == nullptr) faults_.push_back({path + "/key", "is missing", "field.missing"});
    if (value == nullptr) faults_.push_back({path + "/value", "is missing", "field.missing"});
    if (key == nullptr || value == nullptr) return Type{};
    Type type_of;
    type_of.kind = TypeKind::Map;
    const size_t faults_before = faults_.size();
    type_of.inner.push_back(type(*key, path + "/key", depth + 1));
    const TypeKind kind = type_of.inner.front().kind;
    if (faults_.size() == faults_before && kind != TypeKind::Ref && !is_key_kind(kind))
      invalid(path + "/key", "a map's key is int, nat, text, uuid or hash");
    type_of.inner.push_back(type(*value, path + "/value", depth + 1));
    return type_of;
  }

  Type option(const cbor::Item& body, const std::string& path, size_t depth) {
    const size_t faults_before = faults_.size();
    Type inner = type(body, path, depth + 1);
    if (faults_.size() == faults_before &&
        (inner.kind == TypeKind::Option || inner.kind == TypeKind::Unit))
      return invalid(path, "an option holds neither an option nor a unit");
    return of_one(TypeKind::Option, std::move(inner));
  }

  Type ref(const cbor::Item& body, const std::string& path) {
    if (!body.is_text()) return invalid(path, "must be the name of a schema");
    Type type;
    type.kind = TypeKind::Ref;
    type.ref = std::string(body.string);
    return type;
  }

  std::vector<Complaint>& faults_;
};

}  // namespace

Type read_type(const cbor::Item& expression, const std::string& path,
               std::vector<Complaint>& faults) {
  return TypeReader(faults).type(expression, path, 1);
}

}  // namespace pawl::worlds
