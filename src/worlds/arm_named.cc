#include "worlds/arm_named.h"

#include <optional>

#include "worlds/cbor.h"

namespace pawl::worlds {
namespace {

std::string text_or_nothing(const std::optional<json::View>& value) {
  return value && value->is_string() ? value->string() : "";
}

std::string only_member(json::View object) {
  std::string name;
  if (object.size() == 1)
    object.each_member([&](json::View key, json::View) { name = key.string(); });
  return name;
}

}  // namespace

std::string arm_named_by(json::View value, Lens lens) {
  if (!value.is_object()) return "";
  if (lens == Lens::Tagged) {
    const auto body = value.find("variant");
    return body && body->is_object() ? text_or_nothing(body->find("tag")) : "";
  }
  const auto tag = value.find("$tag");
  return tag ? text_or_nothing(tag) : only_member(value);
}

std::string arm_named_by(std::string_view bytes) {
  const auto read = cbor::read(bytes);
  if (!read.ok() || !read.value().is_map()) return "";
  const cbor::Item& value = read.value();
  const cbor::Item* tag = value.find("$tag");
  if (tag == nullptr && value.items.size() == 2) tag = &value.items[0];
  return tag != nullptr && tag->is_text() ? std::string(tag->string) : "";
}

}  // namespace pawl::worlds
