// Canonical bytes as JSON: the sugar of their type, or what can be said without one.
#include <charconv>

#include "base/json_writer.h"
#include "worlds/hash.h"
#include "worlds/type.h"

namespace pawl::worlds {
namespace {

using cbor::Item;

void append_integer(std::string& out, const Item& item) {
  char digits[24];
  char* at = digits;
  uint64_t magnitude = item.number;
  if (item.kind == cbor::Kind::Negative) {
    if (magnitude == UINT64_MAX) {  // one less than any 64-bit integer
      out += "-18446744073709551616";
      return;
    }
    *at++ = '-';
    ++magnitude;
  }
  out.append(digits, std::to_chars(at, digits + sizeof digits, magnitude).ptr);
}

void append_base64_quoted(std::string& out, std::string_view bytes) {
  out += '"';
  append_base64(out, bytes);
  out += '"';
}

// What the kind of the item alone says.
void append_scalar(std::string& out, const Item& item) {
  switch (item.kind) {
    case cbor::Kind::Nat:
    case cbor::Kind::Negative:
      return append_integer(out, item);
    case cbor::Kind::Bytes:
      return append_base64_quoted(out, item.string);
    case cbor::Kind::Text:
      return json::append_quoted(out, item.string);
    case cbor::Kind::False:
      out += "false";
      return;
    case cbor::Kind::True:
      out += "true";
      return;
    case cbor::Kind::Array:
    case cbor::Kind::Map:
    case cbor::Kind::Null:
      break;
  }
  out += "null";
}

bool has_text_keys(const Item& map) {
  for (size_t i = 0; i < map.items.size(); i += 2)
    if (!map.items[i].is_text()) return false;
  return true;
}

bool has_integer_keys(const Type& map) {
  const TypeKind key = map.inner[0].plain().kind;
  return key == TypeKind::Int || key == TypeKind::Nat;
}

// print(i): the item at i. Objects only if all keys are text.
template <class Print>
void append_map(std::string& out, const Item& map, bool object, Print&& print) {
  out += object ? '{' : '[';
  for (size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (i > 0) out += ',';
    if (!object) out += '[';
    print(i);
    out += object ? ':' : ',';
    print(i + 1);
    if (!object) out += ']';
  }
  out += object ? '}' : ']';
}

template <class Print>
void append_list(std::string& out, const Item& list, Print&& print) {
  out += '[';
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out += ',';
    print(list.items[i]);
  }
  out += ']';
}

void append_variant(std::string& out, const Type& type, const Item& item) {
  const Item* tag = item.find("$tag");
  const Type* arm = tag == nullptr ? nullptr : type.member(tag->string);
  if (arm == nullptr) return cbor::append_json(out, item);
  out += "{\"$tag\":";
  append_scalar(out, *tag);
  if (const Item* payload = item.find("$value"); payload != nullptr) {
    out += ",\"$value\":";
    append_json(out, *arm, *payload);
  }
  out += '}';
}

}  // namespace

void append_json(std::string& out, const Type& declared, const cbor::Item& item) {
  const Type& type = declared.plain();
  if (type.kind == TypeKind::Option && !item.is_null())
    return append_json(out, type.inner.front(), item);
  if (type.kind == TypeKind::Variant) return append_variant(out, type, item);
  if (item.is_array()) {
    const bool of_one = type.kind == TypeKind::List || type.kind == TypeKind::Set;
    if (!of_one) return cbor::append_json(out, item);
    return append_list(out, item,
                       [&](const Item& element) { append_json(out, type.inner.front(), element); });
  }
  if (!item.is_map()) return append_scalar(out, item);
  const bool map = type.kind == TypeKind::Map;
  const bool object = has_text_keys(item) && !(map && has_integer_keys(type));
  append_map(out, item, object, [&](size_t i) {
    const Type* member = nullptr;
    if (i % 2 == 1 && map) member = &type.inner[1];
    if (i % 2 == 1 && !map && item.items[i - 1].is_text())
      member = type.member(item.items[i - 1].string);
    if (member == nullptr) return cbor::append_json(out, item.items[i]);
    append_json(out, *member, item.items[i]);
  });
}

void append_json(std::string& out, const Type& type, std::string_view canonical) {
  const Result<cbor::Item> item = cbor::read(canonical);
  if (!item.ok()) {
    out += "null";
    return;
  }
  append_json(out, type, *item);
}

namespace cbor {

void append_json(std::string& out, const Item& item) {
  if (item.is_array())
    return append_list(out, item, [&](const Item& element) { append_json(out, element); });
  if (item.is_map())
    return append_map(out, item, has_text_keys(item),
                      [&](size_t i) { append_json(out, item.items[i]); });
  append_scalar(out, item);
}

}  // namespace cbor
}  // namespace pawl::worlds
