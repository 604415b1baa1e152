// Any text as a stamp, a duration, a yearly rule, the name of a zone and the bytes of a zone file:
// refused, or a value inside its bounds that prints and reads back.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/time.h"
#include "base/tz.h"
#include "base/tz_rule.h"

namespace {

using namespace pawl;

void check_zone(const TimeZone& zone) {
  for (int64_t at : {kUnixSecondsMin, int64_t{-1}, int64_t{0}, int64_t{1'800'000'000},
                     int64_t{4'102'444'800}, kUnixSecondsMax}) {
    const OffsetSpan span = zone.span_at(at);
    PAWL_CHECK(span.begin < span.end);
    PAWL_CHECK(zone.offset_at(at) == span.offset);
    const TimeZone::LocalResult back = zone.to_utc(zone.to_local(at));
    PAWL_CHECK(back.first <= back.second);
  }
}

void check_stamp(std::string_view text) {
  const auto stamp = parse_rfc3339(text);
  if (!stamp.ok()) return;
  PAWL_CHECK(*stamp >= kUnixMsMin && *stamp <= kUnixMsMax);
  const auto again = parse_rfc3339(format_rfc3339_ms(*stamp));
  PAWL_CHECK(again.ok() && *again == *stamp);
}

void check_durations(std::string_view text) {
  for (auto* parse : {&parse_iso_duration_ms, &parse_duration_ms}) {
    const auto duration = parse(text);
    if (!duration.ok()) continue;
    PAWL_CHECK(*duration >= 0 && *duration <= kDurationMsMax);
    const auto again = parse_iso_duration_ms(format_iso_duration_ms(*duration));
    PAWL_CHECK(again.ok() && *again == *duration);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_stamp(text);
  check_durations(text);
  (void)parse_when(text, 1'700'000'000'000).ok();
  if (const auto rule = YearlyRule::parse(text)) {
    for (int64_t at : {int64_t{0}, int64_t{1'800'000'000}, int64_t{4'102'444'800}}) {
      const OffsetSpan span = rule->span_at(at);
      PAWL_CHECK(span.begin <= at && at < span.end);
    }
  }
  if (const auto zone = TimeZone::from_tzif("fuzzed", text); zone.ok()) check_zone(**zone);
  // Found zones are kept for ever: short names only, so that a long run stays small.
  if (size <= 12) (void)TimeZone::find(text).ok();
  return 0;
}
