// Time as text and as a calendar: RFC 3339 stamps, ISO 8601 and Go-style durations, civil dates.
//
// Nothing here reads a clock or a locale, and everything is integer arithmetic on the proleptic
// Gregorian calendar, so a result is the same on every machine and safe inside the kernel. An
// instant is a count of Unix milliseconds (or seconds, where the name says so); leap seconds do not
// exist in it.
//
// Every parser takes hostile text: it is bounded, strict, and answers InvalidContent with a message
// that quotes the text. Thread: any.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl {

// The instants this module can print: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z.
inline constexpr int64_t kUnixSecondsMin = -62135596800;
inline constexpr int64_t kUnixSecondsMax = 253402300799;
inline constexpr int64_t kUnixMsMin = kUnixSecondsMin * 1000;
inline constexpr int64_t kUnixMsMax = kUnixSecondsMax * 1000 + 999;
// The longest duration a parser returns, about 9999 years: added to a printable instant it cannot
// overflow.
inline constexpr int64_t kDurationMsMax = int64_t{3652059} * 86400 * 1000;

// A date and a time of day as a wall clock shows them, in no particular zone.
struct CivilTime {
  int32_t year = 1970;
  int32_t month = 1;  // 1..12
  int32_t day = 1;    // 1..days_in_month
  int32_t hour = 0;
  int32_t minute = 0;
  int32_t second = 0;  // 0..59

  auto operator<=>(const CivilTime&) const = default;
};

bool is_leap_year(int32_t year);
int32_t days_in_month(int32_t year, int32_t month);
// Days since 1970-01-01. The day may lie outside its month: it counts on from the month's first.
int64_t days_from_civil(int32_t year, int32_t month, int32_t day);
// 0 = Sunday … 6 = Saturday.
int32_t weekday_from_days(int64_t days);
// Both read the civil time as UTC. The seconds must belong to a year that fits in 32 bits.
int64_t seconds_from_civil(const CivilTime& civil);
CivilTime civil_from_seconds(int64_t unix_seconds);

// "2026-02-03T04:05:06.007Z": UTC, always three digits of milliseconds, so that stamps sort as
// text. An instant outside the printable range prints as the nearest printable one.
std::string format_rfc3339_ms(int64_t unix_ms);
void append_rfc3339_ms(std::string& out, int64_t unix_ms);

// Unix milliseconds. Any numeric offset is accepted; up to nine digits of fraction are accepted and
// cut to milliseconds; the leap second 23:59:60 UTC reads as the last millisecond before it.
Result<int64_t> parse_rfc3339(std::string_view text);

// "P1DT2H", "PT1.5S", "P2W". Only the last part may have a fraction. Years and months are refused,
// since they have no fixed length. In both duration parsers a rest below a millisecond rounds up: a
// wait must not end early, and a positive duration must not become zero.
Result<int64_t> parse_iso_duration_ms(std::string_view text);

// "1h30m", "500ms", "2.5s": Go's syntax without a sign, units ns us µs ms s m h and d (24 hours);
// plain "0".
Result<int64_t> parse_duration_ms(std::string_view text);

// The shortest form of days, hours, minutes and seconds: "PT0S", "PT1.5S", "P1DT2H".
std::string format_iso_duration_ms(int64_t duration_ms);

// A point in time as a caller states it: "+PT2S" counted from now_ms, or an RFC 3339 stamp.
Result<int64_t> parse_when(std::string_view text, int64_t now_ms);

}  // namespace pawl
