// Base64 with the standard alphabet (RFC 4648, section 4), padded. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl {

std::string base64(std::string_view bytes);

// Nothing if the text is not what base64() gives for some bytes: other characters, blanks, missing
// padding, bits set behind the last byte.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace pawl
