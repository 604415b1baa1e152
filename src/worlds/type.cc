#include "worlds/type.h"

#include <algorithm>

namespace pawl::worlds {
namespace {

// The order of the names' encodings.
bool name_comes_before(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace

Type::Type() = default;
Type::Type(const Type& other) = default;
Type::Type(Type&& other) noexcept = default;
Type& Type::operator=(const Type& other) = default;
Type& Type::operator=(Type&& other) noexcept = default;
Type::~Type() = default;

size_t Type::index_of(std::string_view name) const {
  const auto at = std::lower_bound(members.begin(), members.end(), name,
                                   [](const auto& member_of, std::string_view wanted) {
                                     return name_comes_before(member_of.first, wanted);
                                   });
  if (at == members.end() || at->first != name) return members.size();
  return static_cast<size_t>(at - members.begin());
}

const Type* Type::member(std::string_view name) const {
  const size_t index = index_of(name);
  return index == members.size() ? nullptr : &members[index].second;
}

const Type& Type::plain() const {
  const Type* type = this;
  while (type->kind == TypeKind::Ref && type->target != nullptr) type = type->target.get();
  return *type;
}

std::string_view type_name(TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
      return "bool";
    case TypeKind::Int:
      return "int";
    case TypeKind::Nat:
      return "nat";
    case TypeKind::Dec128:
      return "dec128";
    case TypeKind::Bytes:
      return "bytes";
    case TypeKind::Text:
      return "text";
    case TypeKind::Time:
      return "time";
    case TypeKind::Duration:
      return "duration";
    case TypeKind::Hash:
      return "hash";
    case TypeKind::Uuid:
      return "uuid";
    case TypeKind::Unit:
      return "unit";
    case TypeKind::Record:
      return "record";
    case TypeKind::Variant:
      return "variant";
    case TypeKind::List:
      return "list";
    case TypeKind::Set:
      return "set";
    case TypeKind::Map:
      return "map";
    case TypeKind::Option:
      return "option";
    case TypeKind::Ref:
      return "ref";
  }
  return "";
}

bool is_key_kind(TypeKind kind) {
  return kind == TypeKind::Int || kind == TypeKind::Nat || kind == TypeKind::Text ||
         kind == TypeKind::Uuid || kind == TypeKind::Hash;
}

}  // namespace pawl::worlds
