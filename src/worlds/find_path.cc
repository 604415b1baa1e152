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

// Moves past one item; false if the bytes end before it does.
bool skip_item(std::string_view bytes, size_t& at) {
  for (uint64_t open = 1; open > 0; --open) {
    cbor::Head head;
    if (!cbor::take_head(bytes, at, head)) return false;
    if (head.major < cbor::kMajorBytes || head.major > cbor::kMajorMap) continue;
    if (head.argument > bytes.size() - at) return false;
    if (head.major <= cbor::kMajorText) {
      at += static_cast<size_t>(head.argument);
    } else {
      open += head.major == cbor::kMajorMap ? 2 * head.argument : head.argument;
    }
  }
  return true;
}

// The item that begins at `at`, which is moved past it; empty if there is none.
std::string_view take_item(std::string_view bytes, size_t& at) {
  const size_t begin = at;
  return skip_item(bytes, at) ? bytes.substr(begin, at - begin) : std::string_view();
}

std::string_view text_of_item(std::string_view item) {
  size_t at = 0;
  cbor::Head head;
  return cbor::take_head(item, at, head) && head.major == cbor::kMajorText ? item.substr(at)
                                                                           : std::string_view();
}

// The member `name` of the map that `item` is; `tag` gets the text of a member "$tag" before it.
std::string_view member_in(std::string_view item, std::string_view name, std::string_view& tag) {
  size_t at = 0;
  cbor::Head head;
  if (!cbor::take_head(item, at, head) || head.major != cbor::kMajorMap) return {};
  for (uint64_t i = 0; i < head.argument; ++i) {
    const std::string_view key = text_of_item(take_item(item, at));
    const std::string_view member = take_item(item, at);
    if (member.empty()) return {};
    if (key == name) return member;
    if (key == "$tag") tag = text_of_item(member);
  }
  return {};
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

// What a segment may lead to from a type.
void add_segment_types(const Type& type, std::string_view segment, std::vector<const Type*>& out) {
  if (type.kind == TypeKind::Record) {
    if (const Type* member = type.member(segment); member != nullptr)
      out.push_back(&present(*member));
  } else if (type.kind == TypeKind::Variant && segment == kArmSegment) {
    for (const auto& [tag, arm] : type.members)
      if (arm.plain().kind != TypeKind::Unit) out.push_back(&present(arm));
  }
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

std::string_view find_bytes(const Type& type, std::string_view canonical, std::string_view path) {
  if (!is_path(path)) return {};
  const Type* at = &present(type);
  std::string_view item = canonical;
  while (!path.empty()) {
    const std::string_view segment = take_segment(path);
    const bool arm = at->kind == TypeKind::Variant && segment == kArmSegment;
    if (!arm && at->kind != TypeKind::Record) return {};
    std::string_view tag;
    item = member_in(item, segment, tag);
    const Type* next = at->member(arm ? tag : segment);
    if (item.empty() || next == nullptr) return {};
    if (item == "\xf6" && next->plain().kind == TypeKind::Option) return {};
    at = &present(*next);
  }
  return item;
}

const Type* path_type(const Type& type, std::string_view path) {
  if (!is_path(path)) return nullptr;
  // All that the value may be at a place; each once, so that arms within arms do not multiply.
  std::vector<const Type*> types{&present(type)};
  std::vector<const Type*> next;
  while (!path.empty()) {
    const std::string_view segment = take_segment(path);
    next.clear();
    for (const Type* at : types) add_segment_types(*at, segment, next);
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    types.swap(next);
  }
  for (const Type* at : types)
    if (!same_type(*at, *types.front())) return nullptr;
  return types.empty() ? nullptr : types.front();
}

}  // namespace pawl::worlds
