// Walking canonical CBOR without reading it into items: for keys of events, arms of variants and
// members of records of the journal. Bytes that are broken give nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::worlds {

// Moves past the item at `at`. False: the bytes end within it.
bool skip_item(std::string_view bytes, size_t& at);

// The encoding of a member of a map with this text key; empty if there is none, or this is no map.
std::string_view member_of(std::string_view map, std::string_view key);

// The content of an encoded text or byte string; empty for other items.
std::string_view string_of(std::string_view item);

// The arm of an encoded variant; empty if it is none.
std::string_view tag_of(std::string_view variant);

}  // namespace pawl::worlds
