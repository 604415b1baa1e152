// TimeZone: the rule that turns an instant into a wall clock time and back.
//
// Zones come from the system's compiled zone files (TZif version 2 or later, /usr/share/zoneinfo);
// after the last listed transition the file's own POSIX rule continues for ever. "UTC", "", "Z" and
// fixed offsets ("+05:30", "-03:00", "05:30") need no file. A zone is immutable: offsets found once
// stay for the life of the process, whatever a package upgrade does to the files.
//
// Thread: any. find() takes a lock and, the first time a name is seen, reads a file of at most 64
// KiB.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/tz_rule.h"

namespace pawl {

class TimeZone {
 public:
  // InvalidContent if the name is malformed, unknown, or its file is no zone file. Names that mean
  // something else on another machine ("localtime") or count leap seconds ("right/…") are refused.
  static Result<std::shared_ptr<const TimeZone>> find(std::string_view iana_name);

  // A zone from the bytes of a TZif file; InvalidContent if they are not one. Callers normally use
  // find().
  static Result<std::shared_ptr<const TimeZone>> from_tzif(std::string_view name,
                                                           std::string_view bytes);

  static const TimeZone& utc();

  // Seconds east of UTC. Instants outside the years 0001..9999 get the offset of the nearest one
  // inside.
  int32_t offset_at(int64_t unix_seconds) const;

  CivilTime to_local(int64_t unix_seconds) const;

  struct LocalResult {
    // Unique: first == second. Overlap (clocks set back): the wall clock shows this time at `first`
    // and again, for the last time, at `second`. Gap (clocks set forward): it never shows it, and
    // first == second is the instant of the jump.
    enum Kind { Unique, Gap, Overlap } kind;
    int64_t first;
    int64_t second;
  };
  LocalResult to_utc(const CivilTime& local) const;

  const std::string& name() const { return name_; }

  // The stretch of time around an instant in which the offset does not change.
  OffsetSpan span_at(int64_t unix_seconds) const;

 private:
  struct Transition {
    int64_t at;
    int32_t offset;  // from `at` on
  };
  TimeZone(std::string name, int32_t first_offset, std::vector<Transition> transitions,
           std::optional<YearlyRule> rule);

  std::string name_;
  int32_t first_offset_;                 // before the first transition
  std::vector<Transition> transitions_;  // strictly ascending, each changes the offset
  std::optional<YearlyRule> rule_;       // after the last transition
};

}  // namespace pawl
