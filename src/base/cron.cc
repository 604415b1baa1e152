#include "base/cron.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/quote.h"
#include "base/time.h"

namespace pawl {
namespace {

constexpr size_t kExpressionMax = 256;
constexpr int64_t kEveryMsMin = 1000;
// The rarest date there is, 29 February on one weekday, comes every 28 years, or 40 across a
// century without a leap day.
constexpr int32_t kSearchYears = 40;

struct Field {
  std::string_view label;
  int32_t min;
  int32_t max;
  int32_t wildcard_max;    // "*" must not select Sunday twice
  std::string_view names;  // three letters each, the first for min
};
constexpr std::array<Field, 5> kFields = {{
    {"minute", 0, 59, 59, ""},
    {"hour", 0, 23, 23, ""},
    {"day of month", 1, 31, 31, ""},
    {"month", 1, 12, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
    {"day of week", 0, 7, 6, "SUNMONTUEWEDTHUFRISAT"},
}};
enum : size_t { kMinute, kHour, kDay, kMonth, kWeekday };

bool is_wild(std::string_view text) { return text.starts_with('*') || text.starts_with('?'); }

Error refuse(std::string message) { return Error{ErrorCode::InvalidContent, std::move(message)}; }

Error refuse(const Field& field, std::string_view reason) {
  return refuse(std::string(field.label).append(": ").append(reason));
}

Error outside(const Field& field, std::string_view what, int32_t min, int32_t max) {
  return refuse(
      field, std::string(what) + " is outside " + std::to_string(min) + "-" + std::to_string(max));
}

// Digits only, at most six; nothing else is a number here.
std::optional<int32_t> to_number(std::string_view text) {
  if (text.empty() || text.size() > 6) return std::nullopt;
  int32_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<int32_t> to_name(std::string_view text, const Field& field) {
  if (text.size() != 3) return std::nullopt;
  std::string upper;
  for (char c : text) upper += (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  for (size_t at = 0; at < field.names.size(); at += 3) {
    if (field.names.substr(at, 3) == upper) return field.min + static_cast<int32_t>(at / 3);
  }
  return std::nullopt;
}

Result<int32_t> parse_value(std::string_view text, const Field& field) {
  if (const auto named = to_name(text, field)) return *named;
  const auto number = to_number(text);
  if (!number) {
    std::string reason = in_quotes(text) + " is not a number";
    if (!field.names.empty()) {
      reason.append(" or a name (").append(field.names.substr(0, 3)).append("-");
      reason.append(field.names.substr(field.names.size() - 3)).append(")");
    }
    return refuse(field, reason);
  }
  if (*number < field.min || *number > field.max) return outside(field, text, field.min, field.max);
  return *number;
}

struct Range {
  int32_t low;
  int32_t high;
};

// "*", "?", "5" or "1-5". A single value with a step runs to the end: "5/15" is 5-59/15.
Result<Range> parse_range(std::string_view text, const Field& field, bool stepped) {
  if (text == "*") return Range{field.min, field.wildcard_max};
  if (text == "?") {
    if (&field != &kFields[kDay] && &field != &kFields[kWeekday]) {
      return refuse(field, "\"?\" is only for day of month and day of week");
    }
    return Range{field.min, field.wildcard_max};
  }
  const size_t dash = text.find('-');
  PAWL_TRY(const int32_t low, parse_value(text.substr(0, dash), field));
  if (dash == std::string_view::npos)
    return Range{low, stepped ? std::max(low, field.wildcard_max) : low};
  const std::string_view high_text = text.substr(dash + 1);
  PAWL_TRY(int32_t high, parse_value(high_text, field));
  // A week that ends on Sunday: FRI-SUN is 5-7.
  if (&field == &kFields[kWeekday] && high == 0 && low > 0 && to_name(high_text, field)) high = 7;
  if (high < low) return refuse(field, "range " + in_quotes(text) + " runs backwards");
  return Range{low, high};
}

Result<uint64_t> parse_item(std::string_view text, const Field& field) {
  const size_t slash = text.find('/');
  const bool stepped = slash != std::string_view::npos;
  PAWL_TRY(const Range range, parse_range(text.substr(0, slash), field, stepped));
  int32_t step = 1;
  if (stepped) {
    const std::string_view step_text = text.substr(slash + 1);
    const auto number = to_number(step_text);
    if (!number) return refuse(field, "step " + in_quotes(step_text) + " is not a number");
    // A larger step selects one value only, never what its author meant ("*/90" minutes).
    if (*number < 1 || *number > field.max) {
      return outside(field, std::string("step ").append(step_text), 1, field.max);
    }
    step = *number;
  }
  uint64_t bits = 0;
  for (int32_t value = range.low; value <= range.high; value += step) bits |= uint64_t{1} << value;
  return bits;
}

Result<uint64_t> parse_field(std::string_view text, const Field& field) {
  uint64_t bits = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) return refuse(field, "a list has an empty place: " + in_quotes(text));
    PAWL_TRY(const uint64_t item, parse_item(text.substr(begin, end - begin), field));
    bits |= item;
    begin = end + 1;
  }
  return bits;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// The five fields that a name stands for, or nothing.
std::string_view expand_macro(std::string_view name) {
  struct Macro {
    std::string_view name, fields;
  };
  constexpr Macro kMacros[] = {
      {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
      {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
      {"@hourly", "0 * * * *"},
  };
  for (const Macro& macro : kMacros) {
    if (macro.name == name) return macro.fields;
  }
  return {};
}

Result<int64_t> parse_every(const std::vector<std::string_view>& words) {
  if (words.size() != 2) return refuse("@every takes one duration, such as @every 1h30m");
  const bool iso = words[1].starts_with('P');
  PAWL_TRY(const int64_t every_ms,
           iso ? parse_iso_duration_ms(words[1]) : parse_duration_ms(words[1]));
  if (every_ms < kEveryMsMin) {
    return refuse("@every: " + std::string(words[1]) + " is shorter than 1s");
  }
  return every_ms;
}

// Whether some selected month is long enough for some selected day.
bool date_exists(uint64_t days, uint64_t months) {
  constexpr int32_t kLeapYear = 2000;
  for (int32_t month = 1; month <= 12; ++month) {
    const uint64_t in_month = (uint64_t{2} << days_in_month(kLeapYear, month)) - 1;
    if ((months >> month & 1) != 0 && (days & in_month) != 0) return true;
  }
  return false;
}

// Steps to the first minute of the next month, day, hour, or to the next minute.
void next_month(CivilTime& at) {
  at = at.month == 12 ? CivilTime{at.year + 1, 1, 1} : CivilTime{at.year, at.month + 1, 1};
}
void next_day(CivilTime& at) {
  if (at.day == days_in_month(at.year, at.month)) return next_month(at);
  at = CivilTime{at.year, at.month, at.day + 1};
}
void next_hour(CivilTime& at) {
  if (at.hour == 23) return next_day(at);
  ++at.hour;
  at.minute = 0;
}
void next_minute(CivilTime& at) {
  if (at.minute == 59) return next_hour(at);
  ++at.minute;
}

bool has(uint64_t bits, int32_t value) { return (bits >> value & 1) != 0; }

}  // namespace

Result<CronSchedule> CronSchedule::parse(std::string_view expression) {
  if (expression.size() > kExpressionMax) {
    return refuse("a cron expression has at most " + std::to_string(kExpressionMax) +
                  " characters");
  }
  std::vector<std::string_view> words = split_words(expression);
  CronSchedule schedule;
  if (!words.empty() && words[0].starts_with('@')) {
    if (words[0] == "@every") {
      PAWL_TRY(schedule.every_ms_, parse_every(words));
      return schedule;
    }
    const std::string_view fields = expand_macro(words[0]);
    if (fields.empty() || words.size() != 1) {
      return refuse(
          in_quotes(expression) +
          " is not one of @yearly @annually @monthly @weekly @daily @midnight @hourly, or "
          "@every with a duration");
    }
    words = split_words(fields);
  }
  if (words.size() != kFields.size()) {
    std::string message =
        "a cron expression has 5 fields (minute hour day-of-month month day-of-week), not " +
        std::to_string(words.size());
    if (words.size() == 6 || words.size() == 7) message += "; seconds and years are not supported";
    return refuse(std::move(message));
  }
  PAWL_TRY(schedule.minutes_, parse_field(words[kMinute], kFields[kMinute]));
  PAWL_TRY(schedule.hours_, parse_field(words[kHour], kFields[kHour]));
  PAWL_TRY(schedule.days_, parse_field(words[kDay], kFields[kDay]));
  PAWL_TRY(schedule.months_, parse_field(words[kMonth], kFields[kMonth]));
  PAWL_TRY(const uint64_t weekdays, parse_field(words[kWeekday], kFields[kWeekday]));
  schedule.weekdays_ = (weekdays | weekdays >> 7) & 0x7f;
  schedule.either_day_ = !is_wild(words[kDay]) && !is_wild(words[kWeekday]);
  if (!schedule.either_day_ && !date_exists(schedule.days_, schedule.months_)) {
    return refuse(kFields[kDay], in_quotes(words[kDay]) + " does not exist in the selected months");
  }
  return schedule;
}

bool CronSchedule::day_matches(const CivilTime& at) const {
  const bool day = has(days_, at.day);
  const bool weekday =
      has(weekdays_, weekday_from_days(days_from_civil(at.year, at.month, at.day)));
  return either_day_ ? day || weekday : day && weekday;
}

std::optional<int64_t> CronSchedule::next_after(int64_t unix_ms, const TimeZone& zone) const {
  unix_ms = std::clamp(unix_ms, kUnixMsMin, kUnixMsMax);
  if (every_ms_ != 0) {
    if (unix_ms > kUnixMsMax - every_ms_) return std::nullopt;
    return unix_ms + every_ms_;
  }
  const int64_t after = unix_ms / 1000 - (unix_ms % 1000 < 0 ? 1 : 0);
  CivilTime at = zone.to_local(after);
  at.second = 0;
  next_minute(at);
  const int32_t year_last = std::min(at.year + kSearchYears, 9999);
  while (at.year <= year_last) {
    if (!has(months_, at.month)) {
      next_month(at);
    } else if (!day_matches(at)) {
      next_day(at);
    } else if (!has(hours_, at.hour)) {
      next_hour(at);
    } else if (!has(minutes_, at.minute)) {
      next_minute(at);
    } else {
      const TimeZone::LocalResult due = zone.to_utc(at);
      // Not later although the wall clock is ahead: this is the repeated hour, which has run
      // already.
      if (due.kind != TimeZone::LocalResult::Gap && due.first > after) {
        if (due.first > kUnixSecondsMax) return std::nullopt;
        return due.first * 1000;
      }
      next_minute(at);
    }
  }
  return std::nullopt;
}

}  // namespace pawl
