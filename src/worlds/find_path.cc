// Dotted paths into values: of a key, or of what events are correlated by.
#include <algorithm>

#include "worlds/cbor_head.h"
#include "worlds/type.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kArmSegment = "$value";

// The first segment of a path, which is cut off.
std::string_view take_segment(std::string_view& path) {
  const size_t dot = std::min(path.find('.'), path.size());
  const std::string_view segment = path.substr(0, dot);
  path.remove_prefix(std::min(dot + 1, path.size()));
  return segment;
}

bool is_path(std::string_view path) {
  return !path.empty() && path.front() != '.' && path.back() != '.';
}

// What is there, if anything is: behind refs and options.
const Type& present(const Type& declared) {
  const Type* type = &declared.plain();
  while (type->kind == TypeKind::Option) type = &type->inner.front().plain();
  return *type;
}

// Types of the same values. A ref is followed where the other is none, so that this takes no more
// steps than one of both has parts.
bool same_type(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind == TypeKind::Ref && b.kind == TypeKind::Ref) return a.ref == b.ref;
  const Type& x = a.plain();
  const Type& y = b.plain();
  return x.kind == y.kind &&
         std::equal(x.inner.begin(), x.inner.end(), y.inner.begin(), y.inner.end(), same_type) &&
         std::equal(x.members.begin(), x.members.end(), y.members.begin(), y.members.end(),
                    [](const auto& m, const auto& n) {
                      return m.first == n.first && same_type(m.second, n.second);
                    });
}

}  // namespace

Place find_path(const Type& type, const cbor::Item& value, std::string_view path) {
  if (!is_path(path)) return {};
  Place place{&value, &present(type)};
  while (!path.empty()) {
    const std::string_view segment = take_segment(path);
    const Type* next = nullptr;
    if (place.type->kind == TypeKind::Record) {
      next = place.type->member(segment);
    } else if (place.type->kind == TypeKind::Variant && segment == kArmSegment) {
      const cbor::Item* tag = place.item->find("$tag");
      if (tag != nullptr) next = place.type->member(tag->string);
    }
    if (next == nullptr) return {};
    const cbor::Item* item = place.item->find(segment);
    if (item == nullptr || (item->is_null() && next->plain().kind == TypeKind::Option)) return {};
    place = {item, &present(*next)};
  }
  return place;
}

const Type* path_type(const Type& type, std::string_view path) {
  if (!is_path(path)) return nullptr;
  // All that the value may be at a place; each once, so that arms within arms do not multiply.
  std::vector<const Type*> types{&present(type)};
  std::vector<const Type*> next;
  while (!path.empty()) {
    const std::string_view segment = take_segment(path);
    next.clear();
    for (const Type* at : types) {
      if (at->kind == TypeKind::Record) {
        if (const Type* member = at->member(segment); member != nullptr)
          next.push_back(&present(*member));
      } else if (at->kind == TypeKind::Variant && segment == kArmSegment) {
        for (const auto& [tag, arm] : at->members)
          if (arm.plain().kind != TypeKind::Unit) next.push_back(&present(arm));
      }
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    types.swap(next);
  }
  for (const Type* at : types)
    if (!same_type(*at, *types.front())) return nullptr;
  return types.empty() ? nullptr : types.front();
}

}  // namespace pawl::worlds
