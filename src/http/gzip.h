// gzip compression and decompression, with a bound on the output.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace pawl::http {

// Fast rather than small: it runs on an I/O thread. Nothing if zlib has no memory.
std::optional<std::string> gzip(std::string_view plain);

enum class InflateFault : unsigned char { None, Corrupt, TooLarge, NoRoom };

// Called before `plain` grows to that many bytes; false ends it with NoRoom.
using MayGrow = FunctionRef<bool(size_t bytes)>;

// Inflates exactly one gzip member that fills `packed`. Memory stays within bytes_max.
InflateFault gunzip(std::string_view packed, size_t bytes_max, std::string& plain,
                    MayGrow may_grow);
InflateFault gunzip(std::string_view packed, size_t bytes_max, std::string& plain);

}  // namespace pawl::http
