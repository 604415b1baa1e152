// CronSchedule: computes when a recurring job is due next.
//
// Five fields (minute hour day-of-month month day-of-week) with lists, ranges, steps, names in any
// case, "?" for the two day fields, Sunday as 0 or 7; or @yearly @annually @monthly @weekly @daily
// @midnight @hourly; or "@every 1h30m" (also "@every PT5M"), at least one second. As in Vixie's
// cron, a day must satisfy both day fields if either begins with "*" (or "?"), else one of them is
// enough.
//
// A schedule is a pure function of instant and zone, so replay gives the same answer. Times of day
// are wall clock times in the zone: one that a clock change skips does not run that day, one that
// it repeats runs the first time only. @every is elapsed time and knows no zone.
//
// Thread: any; immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/tz.h"

namespace pawl {

class CronSchedule {
 public:
  // InvalidContent names the field and what it allows: "minute: 99 is outside 0-59". A date that no
  // year has (31 February) is refused here rather than never due.
  static Result<CronSchedule> parse(std::string_view expression);

  // The first due instant strictly after this one; a multiple of a second except for @every, which
  // adds its interval. Nothing if none comes before the year 10000. Bounded work, tens of µs at
  // worst.
  std::optional<int64_t> next_after(int64_t unix_ms, const TimeZone& zone) const;

  bool operator==(const CronSchedule&) const = default;

 private:
  CronSchedule() = default;

  bool day_matches(const CivilTime& at) const;

  // Bit n is set if the value n is selected; weekdays hold Sunday as 0 only.
  uint64_t minutes_ = 0;
  uint64_t hours_ = 0;
  uint64_t days_ = 0;
  uint64_t months_ = 0;
  uint64_t weekdays_ = 0;
  bool either_day_ = false;  // both day fields are restricted: one is enough
  int64_t every_ms_ = 0;     // not 0: @every, and the fields do not count
};

}  // namespace pawl
