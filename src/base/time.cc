#include "base/time.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/quote.h"

namespace pawl {
namespace {

constexpr int64_t kSecondsPerDay = 86400;
constexpr int64_t kDaysPerCycle = 146097;  // 400 Gregorian years
// 1970-01-01 counted from 0000-03-01. Years that begin in March put the leap day last.
constexpr int64_t kEpochFromMarchZero = 719468;
constexpr size_t kTextMax = 128;

int64_t floor_div(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

void put_two(char* out, int32_t value) {
  out[0] = static_cast<char>('0' + value / 10);
  out[1] = static_cast<char>('0' + value % 10);
}

Error refuse(std::string_view text, std::string_view kind, std::string_view reason) {
  std::string message = in_quotes(text);
  message.append(" is not ").append(kind).append(": ").append(reason);
  return Error{ErrorCode::InvalidContent, std::move(message)};
}

// Takes exactly `count` digits from the front of text.
std::optional<int32_t> take_digits(std::string_view& text, size_t count) {
  if (text.size() < count) return std::nullopt;
  int32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// A decimal number as it stands in a duration: whole part and billionths.
struct Decimal {
  int64_t whole = 0;
  int64_t billionths = 0;
  bool fractional = false;
};

// Whole digits, then optionally a dot and one to nine digits. Nothing on bad form or past
// kDurationMsMax.
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal number;
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  while (!text.empty() && is_digit(text.front())) {
    // The cap is in nanoseconds, the smallest unit; more digits are too long in every unit.
    if (number.whole > INT64_MAX / 10 - 1) return std::nullopt;
    number.whole = number.whole * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  if (!take(text, ".")) return number;
  number.fractional = true;
  int64_t scale = 1'000'000'000;
  while (!text.empty() && is_digit(text.front())) {
    if (scale == 1) return std::nullopt;
    scale /= 10;
    number.billionths += (text.front() - '0') * scale;
    text.remove_prefix(1);
  }
  if (scale == 1'000'000'000) return std::nullopt;
  return number;
}

// A sum of duration parts, in nanoseconds. 128 bits hold any two parts; add() refuses before the
// third.
class DurationSum {
 public:
  bool add(const Decimal& number, int64_t unit_ns) {
    total_ += static_cast<Wide>(number.whole) * unit_ns;
    total_ += (static_cast<Wide>(number.billionths) * unit_ns + 999'999'999) / 1'000'000'000;
    return total_ <= static_cast<Wide>(kDurationMsMax) * 1'000'000;
  }
  int64_t ms_rounded_up() const { return static_cast<int64_t>((total_ + 999'999) / 1'000'000); }

 private:
  using Wide = __int128;
  Wide total_ = 0;
};

constexpr std::string_view kTooLong = "it is longer than 9999 years";
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kNsPerSecond = 1000 * kNsPerMs;

}  // namespace

bool is_leap_year(int32_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int32_t days_in_month(int32_t year, int32_t month) {
  if (month == 2) return is_leap_year(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

int64_t days_from_civil(int32_t year, int32_t month, int32_t day) {
  const int64_t march_year = int64_t{year} - (month <= 2 ? 1 : 0);
  const int64_t march_month = (month + 9) % 12;
  const int64_t cycle = floor_div(march_year, 400);
  const int64_t year_in_cycle = march_year - cycle * 400;
  // (153 m + 2) / 5 is the number of days before the m-th month of a year that begins in March.
  const int64_t days_in_cycle = year_in_cycle * 365 + year_in_cycle / 4 - year_in_cycle / 100 +
                                (153 * march_month + 2) / 5 + day - 1;
  return cycle * kDaysPerCycle + days_in_cycle - kEpochFromMarchZero;
}

int32_t weekday_from_days(int64_t days) {
  const int64_t since_thursday = days - floor_div(days, 7) * 7;
  return static_cast<int32_t>((since_thursday + 4) % 7);
}

int64_t seconds_from_civil(const CivilTime& civil) {
  return days_from_civil(civil.year, civil.month, civil.day) * kSecondsPerDay +
         int64_t{civil.hour} * 3600 + int64_t{civil.minute} * 60 + civil.second;
}

CivilTime civil_from_seconds(int64_t unix_seconds) {
  const int64_t days = floor_div(unix_seconds, kSecondsPerDay);
  const auto second_of_day = static_cast<int32_t>(unix_seconds - days * kSecondsPerDay);
  const int64_t from_march_zero = days + kEpochFromMarchZero;
  const int64_t cycle = floor_div(from_march_zero, kDaysPerCycle);
  const int64_t day_of_cycle = from_march_zero - cycle * kDaysPerCycle;
  // Taking out the leap days that ended before this day (every 1460, 36524, last one) leaves 365 a
  // year.
  const int64_t year_in_cycle =
      (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36524 - day_of_cycle / 146096) / 365;
  const int64_t day_of_year =
      day_of_cycle - (year_in_cycle * 365 + year_in_cycle / 4 - year_in_cycle / 100);
  const int64_t march_month = (5 * day_of_year + 2) / 153;
  CivilTime civil;
  civil.day = static_cast<int32_t>(day_of_year - (153 * march_month + 2) / 5 + 1);
  civil.month = static_cast<int32_t>(march_month < 10 ? march_month + 3 : march_month - 9);
  civil.year = static_cast<int32_t>(cycle * 400 + year_in_cycle + (civil.month <= 2 ? 1 : 0));
  civil.hour = second_of_day / 3600;
  civil.minute = second_of_day / 60 % 60;
  civil.second = second_of_day % 60;
  return civil;
}

void append_rfc3339_ms(std::string& out, int64_t unix_ms) {
  unix_ms = std::clamp(unix_ms, kUnixMsMin, kUnixMsMax);
  const int64_t seconds = floor_div(unix_ms, 1000);
  const auto ms = static_cast<int32_t>(unix_ms - seconds * 1000);
  const CivilTime civil = civil_from_seconds(seconds);
  char text[] = "0000-00-00T00:00:00.000Z";
  put_two(text, civil.year / 100);
  put_two(text + 2, civil.year % 100);
  put_two(text + 5, civil.month);
  put_two(text + 8, civil.day);
  put_two(text + 11, civil.hour);
  put_two(text + 14, civil.minute);
  put_two(text + 17, civil.second);
  text[20] = static_cast<char>('0' + ms / 100);
  put_two(text + 21, ms % 100);
  out.append(text, sizeof text - 1);
}

std::string format_rfc3339_ms(int64_t unix_ms) {
  std::string out;
  append_rfc3339_ms(out, unix_ms);
  return out;
}

namespace {

struct Stamp {
  CivilTime civil;
  int32_t ms = 0;
  int64_t offset_seconds = 0;
};

// The grammar only; ranges are checked by the caller, who can name the part that is wrong.
bool take_stamp(std::string_view& rest, Stamp& stamp) {
  const auto year = take_digits(rest, 4);
  if (!year || !take(rest, "-")) return false;
  const auto month = take_digits(rest, 2);
  if (!month || !take(rest, "-")) return false;
  const auto day = take_digits(rest, 2);
  if (!day || !take(rest, "Tt")) return false;
  const auto hour = take_digits(rest, 2);
  if (!hour || !take(rest, ":")) return false;
  const auto minute = take_digits(rest, 2);
  if (!minute || !take(rest, ":")) return false;
  const auto second = take_digits(rest, 2);
  if (!second) return false;
  stamp.civil = {*year, *month, *day, *hour, *minute, *second};
  if (!take(rest, ".")) return true;
  int32_t digits = 0;
  for (int32_t scale = 100; !rest.empty() && is_digit(rest.front()); scale /= 10, ++digits) {
    stamp.ms += (rest.front() - '0') * scale;
    rest.remove_prefix(1);
  }
  return digits >= 1 && digits <= 9;
}

bool take_offset(std::string_view& rest, int64_t& offset_seconds) {
  if (take(rest, "Zz")) return rest.empty();
  const bool west = !rest.empty() && rest.front() == '-';
  if (!take(rest, "+-")) return false;
  const auto hours = take_digits(rest, 2);
  if (!hours || *hours > 23 || !take(rest, ":")) return false;
  const auto minutes = take_digits(rest, 2);
  if (!minutes || *minutes > 59) return false;
  offset_seconds = (*hours * 60 + *minutes) * (west ? -60 : 60);
  return rest.empty();
}

}  // namespace

Result<int64_t> parse_rfc3339(std::string_view text) {
  constexpr std::string_view kKind = "an RFC 3339 timestamp";
  Stamp stamp;
  std::string_view rest = text;
  if (text.size() > kTextMax || !take_stamp(rest, stamp)) {
    return refuse(text, kKind, "expected a form like 2026-01-31T12:00:00Z");
  }
  if (!take_offset(rest, stamp.offset_seconds)) {
    return refuse(text, kKind, "it must end in Z or an offset like +02:00");
  }
  CivilTime& civil = stamp.civil;
  if (civil.year < 1) return refuse(text, kKind, "the year is outside 0001-9999");
  if (civil.month < 1 || civil.month > 12) return refuse(text, kKind, "the month is outside 01-12");
  if (civil.day < 1 || civil.day > days_in_month(civil.year, civil.month)) {
    return refuse(text, kKind, "its month has no such day");
  }
  if (civil.hour > 23) return refuse(text, kKind, "the hour is outside 00-23");
  if (civil.minute > 59) return refuse(text, kKind, "the minute is outside 00-59");
  if (civil.second > 60) return refuse(text, kKind, "the second is outside 00-60");
  const bool leap = civil.second == 60;
  if (leap) {
    civil.second = 59;
    stamp.ms = 999;
  }
  const int64_t seconds = seconds_from_civil(civil) - stamp.offset_seconds;
  if (leap && floor_div(seconds, kSecondsPerDay) * kSecondsPerDay + kSecondsPerDay - 1 != seconds) {
    return refuse(text, kKind, "second 60 exists only at 23:59 UTC");
  }
  if (seconds < kUnixSecondsMin || seconds > kUnixSecondsMax) {
    return refuse(text, kKind, "in UTC the year is outside 0001-9999");
  }
  return seconds * 1000 + stamp.ms;
}

namespace {

struct IsoUnit {
  char letter;
  bool after_t;
  int64_t ns;
};
// In the order in which ISO 8601 wants them.
constexpr IsoUnit kIsoUnits[] = {
    {'W', false, 7 * kSecondsPerDay* kNsPerSecond},
    {'D', false, kSecondsPerDay* kNsPerSecond},
    {'H', true, 3600 * kNsPerSecond},
    {'M', true, 60 * kNsPerSecond},
    {'S', true, kNsPerSecond},
};

}  // namespace

Result<int64_t> parse_iso_duration_ms(std::string_view text) {
  constexpr std::string_view kKind = "an ISO 8601 duration";
  constexpr std::string_view kForm = "expected a form like PT1.5S, PT5M or P1DT2H";
  std::string_view rest = text;
  if (text.size() > kTextMax || !take(rest, "P")) return refuse(text, kKind, kForm);
  DurationSum sum;
  bool after_t = false;
  bool part_expected = true;  // after P and after T
  const IsoUnit* next_unit = std::begin(kIsoUnits);
  while (!rest.empty() || part_expected) {
    if (!after_t && take(rest, "T")) {
      after_t = part_expected = true;
      continue;
    }
    const std::optional<Decimal> number = take_decimal(rest);
    if (!number || rest.empty()) return refuse(text, kKind, kForm);
    if (!after_t && (rest.front() == 'Y' || rest.front() == 'M')) {
      return refuse(text, kKind, "years and months have no fixed length; use weeks, days or hours");
    }
    const IsoUnit* unit =
        std::find_if(next_unit, std::end(kIsoUnits), [&](const IsoUnit& candidate) {
          return candidate.letter == rest.front() && candidate.after_t == after_t;
        });
    if (unit == std::end(kIsoUnits)) return refuse(text, kKind, kForm);
    rest.remove_prefix(1);
    if (number->fractional && !rest.empty()) {
      return refuse(text, kKind, "only the last part may have a fraction");
    }
    if (!sum.add(*number, unit->ns)) return refuse(text, kKind, kTooLong);
    next_unit = unit + 1;
    part_expected = false;
  }
  return sum.ms_rounded_up();
}

namespace {

struct GoUnit {
  std::string_view name;
  int64_t ns;
};
constexpr GoUnit kGoUnits[] = {
    {"ns", 1},
    {"us", 1000},
    {"\u00b5s", 1000},  // micro sign
    {"\u03bcs", 1000},  // Greek mu
    {"ms", kNsPerMs},
    {"s", kNsPerSecond},
    {"m", 60 * kNsPerSecond},
    {"h", 3600 * kNsPerSecond},
    {"d", kSecondsPerDay* kNsPerSecond},
};

}  // namespace

Result<int64_t> parse_duration_ms(std::string_view text) {
  constexpr std::string_view kKind = "a duration";
  constexpr std::string_view kForm = "expected a form like 1h30m, 2.5s or 500ms";
  if (text == "0") return int64_t{0};
  if (text.empty() || text.size() > kTextMax) return refuse(text, kKind, kForm);
  DurationSum sum;
  for (std::string_view rest = text; !rest.empty();) {
    const std::optional<Decimal> number = take_decimal(rest);
    if (!number) return refuse(text, kKind, kForm);
    const std::string_view name =
        rest.substr(0, std::min(rest.find_first_of("0123456789."), rest.size()));
    const GoUnit* unit =
        std::find_if(std::begin(kGoUnits), std::end(kGoUnits),
                     [&](const GoUnit& candidate) { return candidate.name == name; });
    if (unit == std::end(kGoUnits)) {
      return refuse(text, kKind,
                    name.empty() ? "a number lacks its unit (ns us ms s m h d)"
                                 : "its units must be among ns us ms s m h d");
    }
    rest.remove_prefix(name.size());
    if (!sum.add(*number, unit->ns)) return refuse(text, kKind, kTooLong);
  }
  return sum.ms_rounded_up();
}

std::string format_iso_duration_ms(int64_t duration_ms) {
  if (duration_ms == 0) return "PT0S";
  std::string out = duration_ms < 0 ? "-P" : "P";
  uint64_t rest = duration_ms < 0 ? uint64_t{0} - static_cast<uint64_t>(duration_ms)
                                  : static_cast<uint64_t>(duration_ms);
  const auto part = [&](uint64_t unit_ms, char letter) {
    if (rest / unit_ms != 0) out.append(std::to_string(rest / unit_ms)) += letter;
    rest %= unit_ms;
  };
  part(kSecondsPerDay * 1000, 'D');
  if (rest == 0) return out;
  out += 'T';
  part(3600 * 1000, 'H');
  part(60 * 1000, 'M');
  if (rest == 0) return out;
  out += std::to_string(rest / 1000);
  if (rest % 1000 != 0) {
    std::string digits = std::to_string(1000 + rest % 1000);
    digits.front() = '.';
    out += digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  out += 'S';
  return out;
}

Result<int64_t> parse_when(std::string_view text, int64_t now_ms) {
  if (!text.starts_with('+')) return parse_rfc3339(text);
  PAWL_TRY(const int64_t delay_ms, parse_iso_duration_ms(text.substr(1)));
  if (now_ms > kUnixMsMax - delay_ms) {
    return refuse(text, "a usable point in time", "it lies after the year 9999");
  }
  return now_ms + delay_ms;
}

}  // namespace pawl
