// getFullYear … getMilliseconds of timestamps, with an optional zone, and of durations.
#include "base/time.h"
#include "base/tz.h"
#include "expr/cel/functions.h"
#include "expr/cel/time_text.h"

namespace pawl::expr {
namespace {

enum class Part {
  FullYear,
  Month,
  Date,
  DayOfMonth,
  DayOfWeek,
  DayOfYear,
  Hours,
  Minutes,
  Seconds,
  Milliseconds
};

// "" and "UTC" are UTC; "+05:30", "-08:00" and "02:00" are fixed; all else is an IANA name.
bool local_seconds(const Val& time, const Val& zone, int64_t& seconds, Val& error) {
  Result<std::shared_ptr<const TimeZone>> found = TimeZone::find(zone.as_string());
  if (!found.ok()) {
    error =
        Val::error("unknown time zone '" + std::string(zone.as_string().substr(0, 64)) +
                   "': expected an IANA name such as Europe/Berlin or an offset such as +02:00");
    return false;
  }
  seconds = time.seconds() + (*found)->offset_at(time.seconds());
  return true;
}

int64_t part_of_time(Part part, int64_t seconds, uint32_t nanos) {
  const CivilTime civil = civil_from_seconds(seconds);
  const int64_t days = days_from_civil(civil.year, civil.month, civil.day);
  switch (part) {
    case Part::FullYear:
      return civil.year;
    case Part::Month:
      return civil.month - 1;
    case Part::Date:
      return civil.day;
    case Part::DayOfMonth:
      return civil.day - 1;
    case Part::DayOfWeek:
      return weekday_from_days(days);
    case Part::DayOfYear:
      return days - days_from_civil(civil.year, 1, 1);
    case Part::Hours:
      return civil.hour;
    case Part::Minutes:
      return civil.minute;
    case Part::Seconds:
      return civil.second;
    case Part::Milliseconds:
      return nanos / 1'000'000;
  }
  return 0;
}

template <Part kPart>
Val part(CallContext& context, Arguments args) {
  const Val& of = args[0];
  if (of.is(Kind::Duration) && args.size() == 1) {
    const int64_t seconds = of.duration_ns() / kNanosPerSecond;
    if (kPart == Part::Hours) return Val::integer(seconds / 3600);
    if (kPart == Part::Minutes) return Val::integer(seconds / 60);
    if (kPart == Part::Seconds) return Val::integer(seconds);
    // The part below the second, not the whole duration in milliseconds: so the CEL conformance
    // suite has it.
    if (kPart == Part::Milliseconds)
      return Val::integer(of.duration_ns() % kNanosPerSecond / 1'000'000);
  }
  if (!of.is(Kind::Timestamp) || (args.size() == 2 && !args[1].is(Kind::String)))
    return no_overload("time accessor", args);
  int64_t seconds = of.seconds();
  Val error;
  if (args.size() == 2) {
    if (!context.budget.spend_steps(20)) return exhausted();
    if (!local_seconds(of, args[1], seconds, error)) return error;
  }
  return Val::integer(part_of_time(kPart, seconds, of.nanos()));
}

constexpr Function kTimeFunctions[] = {
    {"getFullYear", part<Part::FullYear>, 0, 1, true},
    {"getMonth", part<Part::Month>, 0, 1, true},
    {"getDate", part<Part::Date>, 0, 1, true},
    {"getDayOfMonth", part<Part::DayOfMonth>, 0, 1, true},
    {"getDayOfWeek", part<Part::DayOfWeek>, 0, 1, true},
    {"getDayOfYear", part<Part::DayOfYear>, 0, 1, true},
    {"getHours", part<Part::Hours>, 0, 1, true},
    {"getMinutes", part<Part::Minutes>, 0, 1, true},
    {"getSeconds", part<Part::Seconds>, 0, 1, true},
    {"getMilliseconds", part<Part::Milliseconds>, 0, 1, true},
};

}  // namespace

std::span<const Function> time_functions() { return kTimeFunctions; }

}  // namespace pawl::expr
