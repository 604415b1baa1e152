// Timestamps and durations of CEL as text: nanoseconds, years 0001 to 9999, durations within int64
// nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "expr/cel/val.h"

namespace pawl::expr {

inline constexpr int64_t kNanosPerSecond = 1'000'000'000;

// The timestamp, or a range error.
Val checked_timestamp(int64_t seconds, uint32_t nanos);

// RFC 3339 with up to nine digits of fraction; an error value says what is wrong.
Val parse_timestamp(std::string_view text);
std::string format_timestamp(int64_t seconds, uint32_t nanos);

// "1h30m", "-1.5s", "10ms": h m s ms us µs ns.
Val parse_duration(std::string_view text);
std::string format_duration(int64_t nanoseconds);

}  // namespace pawl::expr
