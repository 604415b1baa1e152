// The yearly rule that ends a zone file, in POSIX TZ notation: "CET-1CEST,M3.5.0,M10.5.0/3". It
// says what the clocks do after the last transition the file lists, for ever.
//
// Accepts what RFC 8536 section 3.3 allows, including times of a change outside the day. Thread:
// any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl {

// A stretch of time with one offset (seconds east of UTC): [begin, end).
struct OffsetSpan {
  int64_t begin;
  int64_t end;
  int32_t offset;
};

struct YearlyRule {
  // The day on which clocks change, in the three forms that POSIX knows.
  struct Day {
    enum Form { NthWeekday, JulianNoLeap, ZeroBased } form = NthWeekday;
    int32_t month = 1;
    int32_t week = 1;     // 5 = the last
    int32_t day = 0;      // weekday, or day of the year
    int32_t time = 7200;  // seconds after local midnight
  };

  int32_t standard = 0;
  int32_t daylight = 0;  // this and the days count only with has_daylight
  bool has_daylight = false;
  Day daylight_begin;
  Day daylight_end;

  static std::optional<YearlyRule> parse(std::string_view text);

  // The years around the instant must fit in 32 bits.
  OffsetSpan span_at(int64_t unix_seconds) const;
};

}  // namespace pawl
