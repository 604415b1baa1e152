#include "base/tz_rule.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/time.h"

namespace pawl {
namespace {

constexpr int32_t kRuleHoursMax = 167;  // RFC 8536 widens the time of a change to a week either way

class RuleParser {
 public:
  explicit RuleParser(std::string_view text) : rest_(text) {}

  std::optional<YearlyRule> parse() {
    YearlyRule rule;
    if (!abbreviation() || !offset(rule.standard)) return std::nullopt;
    if (rest_.empty()) return rule;
    rule.has_daylight = true;
    rule.daylight = rule.standard + 3600;
    if (!abbreviation()) return std::nullopt;
    if (!rest_.empty() && rest_.front() != ',' && !offset(rule.daylight)) return std::nullopt;
    if (!take(',') || !day(rule.daylight_begin)) return std::nullopt;
    if (!take(',') || !day(rule.daylight_end)) return std::nullopt;
    if (!rest_.empty()) return std::nullopt;
    return rule;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool number(int32_t min, int32_t max, int32_t& out) {
    size_t length = 0;
    int32_t value = 0;
    while (length < rest_.size() && length < 3 && is_digit(rest_[length])) {
      value = value * 10 + (rest_[length++] - '0');
    }
    if (length == 0 || value < min || value > max) return false;
    rest_.remove_prefix(length);
    out = value;
    return true;
  }

  bool abbreviation() {
    const bool bracketed = take('<');
    size_t length = 0;
    while (length < rest_.size() && (bracketed ? rest_[length] != '>' : is_alpha(rest_[length]))) {
      ++length;
    }
    if (length < 3) return false;
    rest_.remove_prefix(length);
    return !bracketed || take('>');
  }

  // [+-]h[:mm[:ss]] as signed seconds.
  bool clock(int32_t hours_max, int32_t& out) {
    const bool negative = take('-');
    if (!negative) take('+');
    int32_t hours = 0;
    int32_t minutes = 0;
    int32_t seconds = 0;
    if (!number(0, hours_max, hours)) return false;
    if (take(':') && !number(0, 59, minutes)) return false;
    if (take(':') && !number(0, 59, seconds)) return false;
    out = (hours * 60 + minutes) * 60 + seconds;
    if (negative) out = -out;
    return true;
  }

  // POSIX counts offsets westward, we count eastward.
  bool offset(int32_t& out) {
    int32_t west = 0;
    if (!clock(24, west)) return false;
    out = -west;
    return true;
  }

  bool day(YearlyRule::Day& out) {
    if (take('M')) {
      out.form = YearlyRule::Day::NthWeekday;
      if (!number(1, 12, out.month) || !take('.')) return false;
      if (!number(1, 5, out.week) || !take('.')) return false;
      if (!number(0, 6, out.day)) return false;
    } else if (take('J')) {
      out.form = YearlyRule::Day::JulianNoLeap;
      if (!number(1, 365, out.day)) return false;
    } else {
      out.form = YearlyRule::Day::ZeroBased;
      if (!number(0, 365, out.day)) return false;
    }
    return !take('/') || clock(kRuleHoursMax, out.time);
  }

  std::string_view rest_;
};

// Local seconds (read as UTC) at which the rule's day strikes in this year.
int64_t rule_seconds(const YearlyRule::Day& rule, int32_t year) {
  int64_t days = 0;
  switch (rule.form) {
    case YearlyRule::Day::NthWeekday: {
      const int64_t first = days_from_civil(year, rule.month, 1);
      const int32_t ahead = (rule.day - weekday_from_days(first) + 7) % 7;
      int32_t day = ahead + (rule.week - 1) * 7;
      if (day >= days_in_month(year, rule.month)) day -= 7;
      days = first + day;
      break;
    }
    case YearlyRule::Day::JulianNoLeap:
      days = days_from_civil(year, 1, rule.day);
      if (rule.day >= 60 && is_leap_year(year)) ++days;
      break;
    case YearlyRule::Day::ZeroBased:
      days = days_from_civil(year, 1, 1 + rule.day);
      break;
  }
  return days * 86400 + rule.time;
}

}  // namespace

std::optional<YearlyRule> YearlyRule::parse(std::string_view text) {
  return RuleParser(text).parse();
}

OffsetSpan YearlyRule::span_at(int64_t unix_seconds) const {
  if (!has_daylight) return {INT64_MIN, INT64_MAX, standard};
  struct Change {
    int64_t at;
    bool begins;
  };
  // A change may lie a week off its year, so two years on either side hold both neighbours.
  const int32_t year = civil_from_seconds(unix_seconds).year;
  std::array<Change, 10> changes;
  size_t count = 0;
  for (int32_t y = year - 2; y <= year + 2; ++y) {
    changes[count++] = {rule_seconds(daylight_begin, y) - standard, true};
    changes[count++] = {rule_seconds(daylight_end, y) - daylight, false};
  }
  // Where one year's end and the next begin coincide, the begin comes last: daylight time goes on.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.at != b.at ? a.at < b.at : a.begins < b.begins;
  });
  const auto next =
      std::upper_bound(changes.begin(), changes.end(), unix_seconds,
                       [](int64_t at, const Change& change) { return at < change.at; });
  PAWL_CHECK(next != changes.begin() && next != changes.end());
  const Change& last = *std::prev(next);
  return {last.at, next->at, last.begins ? daylight : standard};
}

}  // namespace pawl
