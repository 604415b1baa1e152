// Base64 with the standard alphabet and padding (RFC 4648, section 4).
#pragma once

#include <string>
#include <string_view>

namespace pawl {

std::string base64(std::string_view bytes);
void append_base64(std::string& out, std::string_view bytes);

// Appends the bytes behind the text. Only the text that base64() writes for them passes: other
// characters, missing padding and set bits behind the last byte are refused; `out` is then as
// before.
bool append_from_base64(std::string& out, std::string_view text);
// The same into a string of its own.
bool from_base64(std::string_view text, std::string& bytes);

}  // namespace pawl
