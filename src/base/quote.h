// Quotes foreign text for an error message: at most 64 characters of it, nothing unprintable, so
// that a message stays one short line whatever the caller sent. Thread: any.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

std::string in_quotes(std::string_view text);

}  // namespace pawl
