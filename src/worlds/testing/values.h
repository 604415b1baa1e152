// Values and types of worlds as short texts, for tests and fuzzers. What is not as it should be in
// a test's own text aborts.
#pragma once

#include <string>
#include <string_view>

#include "worlds/type.h"

namespace pawl::worlds {

std::string from_hex(std::string_view hex);
std::string cbor_of(std::string_view json);  // from_plain_json()
Type type_of(std::string_view type_json);    // read_type(), without complaints
// Refs are resolved among schemas given as {"com.acme/A@1": type, …}.
Type type_of(std::string_view type_json, std::string_view schemas_json);

// The bytes in hex, or the message of the refusal.
std::string json_to_hex(const Type& type, std::string_view json, Lens lens = Lens::Sugar);
std::string cbor_to_hex(const Type& type, std::string_view hex);
std::string hex_to_json(const Type& type, std::string_view hex);

}  // namespace pawl::worlds
