#include "worlds/walk.h"

#include "worlds/cbor_head.h"

namespace pawl::worlds {

bool skip_item(std::string_view bytes, size_t& at) {
  uint64_t left = 1;
  while (left > 0) {
    --left;
    cbor::Head head;
    if (!cbor::take_head(bytes, at, head) || head.info > 27) return false;
    const bool is_string = head.major == cbor::kMajorBytes || head.major == cbor::kMajorText;
    const bool is_list = head.major == cbor::kMajorArray || head.major == cbor::kMajorMap;
    if (!is_string && !is_list) continue;
    if (head.argument > bytes.size() - at) return false;
    if (is_string) at += static_cast<size_t>(head.argument);
    if (is_list) left += head.argument * (head.major == cbor::kMajorMap ? 2 : 1);
  }
  return true;
}

std::string_view member_of(std::string_view map, std::string_view key) {
  size_t at = 0;
  cbor::Head head;
  if (!cbor::take_head(map, at, head) || head.major != cbor::kMajorMap || head.info > 27) return {};
  for (uint64_t i = 0; i < head.argument; ++i) {
    const size_t key_begin = at;
    if (!skip_item(map, at)) return {};
    const bool found = string_of(map.substr(key_begin, at - key_begin)) == key;
    const size_t value_begin = at;
    if (!skip_item(map, at)) return {};
    if (found) return map.substr(value_begin, at - value_begin);
  }
  return {};
}

std::string_view string_of(std::string_view item) {
  size_t at = 0;
  cbor::Head head;
  if (!cbor::take_head(item, at, head) || head.info > 27) return {};
  if (head.major != cbor::kMajorText && head.major != cbor::kMajorBytes) return {};
  return head.argument == item.size() - at ? item.substr(at) : std::string_view{};
}

std::string_view tag_of(std::string_view variant) { return string_of(member_of(variant, "$tag")); }

}  // namespace pawl::worlds
