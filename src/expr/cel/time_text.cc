#include "expr/cel/time_text.h"

#include "base/time.h"
#include "expr/text.h"

namespace pawl::expr {
namespace {

// Reads exactly `count` digits at `at`; -1 if they are not there.
int32_t digits(std::string_view text, size_t at, size_t count) {
  int32_t value = 0;
  if (at + count > text.size()) return -1;
  for (size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

bool read_fraction(std::string_view text, size_t& at, uint32_t& nanos) {
  if (at >= text.size() || text[at] != '.') return true;
  size_t count = 0;
  for (++at; at < text.size() && is_digit(text[at]); ++at, ++count) {
    if (count < 9) nanos = nanos * 10 + static_cast<uint32_t>(text[at] - '0');
  }
  if (count == 0 || count > 9) return false;
  for (; count < 9; ++count) nanos *= 10;
  return true;
}

bool read_zone(std::string_view text, size_t at, int64_t& offset_s) {
  if (at >= text.size()) return false;
  if (text[at] == 'Z' || text[at] == 'z') return at + 1 == text.size();
  if (text[at] != '+' && text[at] != '-') return false;
  const int32_t hours = digits(text, at + 1, 2);
  const int32_t minutes = digits(text, at + 4, 2);
  if (text.size() != at + 6 || text[at + 3] != ':' || hours < 0 || hours > 23 || minutes < 0 ||
      minutes > 59)
    return false;
  offset_s = (hours * 60 + minutes) * 60 * (text[at] == '-' ? -1 : 1);
  return true;
}

Val bad_timestamp(std::string_view text) {
  return Val::error("cannot convert '" + std::string(text.substr(0, 64)) +
                    "' to a timestamp: expected RFC 3339 such as 2026-01-31T12:00:00Z, in the "
                    "range of the years 0001 to 9999");
}

}  // namespace

Val checked_timestamp(int64_t seconds, uint32_t nanos) {
  if (seconds < kUnixSecondsMin || seconds > kUnixSecondsMax) {
    return Val::error("range error: a timestamp must lie in the years 0001 to 9999");
  }
  return Val::timestamp(seconds, nanos);
}

Val parse_timestamp(std::string_view text) {
  CivilTime civil;
  civil.year = digits(text, 0, 4);
  civil.month = digits(text, 5, 2);
  civil.day = digits(text, 8, 2);
  civil.hour = digits(text, 11, 2);
  civil.minute = digits(text, 14, 2);
  civil.second = digits(text, 17, 2);
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':') {
    return bad_timestamp(text);
  }
  if (civil.year < 0 || civil.month < 1 || civil.month > 12 || civil.day < 1 ||
      civil.day > days_in_month(civil.year, civil.month) || civil.hour < 0 || civil.hour > 23 ||
      civil.minute < 0 || civil.minute > 59 || civil.second < 0 || civil.second > 59) {
    return bad_timestamp(text);
  }
  size_t at = 19;
  uint32_t nanos = 0;
  int64_t offset_s = 0;
  if (!read_fraction(text, at, nanos) || !read_zone(text, at, offset_s)) return bad_timestamp(text);
  return checked_timestamp(seconds_from_civil(civil) - offset_s, nanos);
}

std::string format_timestamp(int64_t seconds, uint32_t nanos) {
  const CivilTime civil = civil_from_seconds(seconds);
  std::string out;
  const auto put = [&](int32_t value, size_t width) {
    const std::string text = std::to_string(value);
    out.append(width > text.size() ? width - text.size() : 0, '0').append(text);
  };
  put(civil.year, 4);
  out += '-';
  put(civil.month, 2);
  out += '-';
  put(civil.day, 2);
  out += 'T';
  put(civil.hour, 2);
  out += ':';
  put(civil.minute, 2);
  out += ':';
  put(civil.second, 2);
  if (nanos != 0) {
    out += '.';
    put(static_cast<int32_t>(nanos), 9);
    out.erase(out.find_last_not_of('0') + 1);
  }
  return out += 'Z';
}

namespace {

struct Unit {
  std::string_view name;
  int64_t nanos;
};
constexpr Unit kUnits[] = {{"ns", 1},
                           {"us", 1000},
                           {"µs", 1000},
                           {"μs", 1000},
                           {"ms", 1000000},
                           {"s", kNanosPerSecond},
                           {"m", 60 * kNanosPerSecond},
                           {"h", 3600 * kNanosPerSecond}};

// One number with its unit, e.g. "1.5h"; false if malformed or too long.
bool read_part(std::string_view text, size_t& at, __int128& total) {
  __int128 whole = 0;
  __int128 fraction = 0;
  __int128 scale = 1;
  size_t count = 0;
  for (; at < text.size() && is_digit(text[at]); ++at, ++count) {
    if (whole > (static_cast<__int128>(1) << 64)) return false;
    whole = whole * 10 + (text[at] - '0');
  }
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at, ++count) {
      if (scale < 1'000'000'000'000'000'000) {
        fraction = fraction * 10 + (text[at] - '0');
        scale *= 10;
      }
    }
  }
  if (count == 0) return false;
  const Unit* unit = nullptr;
  for (const Unit& candidate : kUnits) {
    if (text.substr(at, candidate.name.size()) != candidate.name) continue;
    if (unit == nullptr || candidate.name.size() > unit->name.size()) unit = &candidate;
  }
  if (unit == nullptr) return false;
  at += unit->name.size();
  total += whole * unit->nanos + fraction * unit->nanos / scale;
  return total <= static_cast<__int128>(INT64_MAX) + 1;
}

}  // namespace

Val parse_duration(std::string_view text) {
  const auto bad = [&] {
    return Val::error(
        "cannot convert '" + std::string(text.substr(0, 64)) +
        "' to a duration: expected a form such as 1h30m or 1.5s, in the range of about 292 years");
  };
  size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) ++at;
  if (text.substr(at) == "0") return Val::duration(0);
  if (at == text.size()) return bad();
  __int128 total = 0;
  while (at < text.size()) {
    if (!read_part(text, at, total)) return bad();
  }
  if (negative) total = -total;
  if (total > INT64_MAX || total < INT64_MIN) return bad();
  return Val::duration(static_cast<int64_t>(total));
}

std::string format_duration(int64_t nanoseconds) {
  std::string out = nanoseconds < 0 ? "-" : "";
  const uint64_t size =
      nanoseconds < 0 ? 0 - static_cast<uint64_t>(nanoseconds) : static_cast<uint64_t>(nanoseconds);
  out += std::to_string(size / kNanosPerSecond);
  if (const uint64_t rest = size % kNanosPerSecond; rest != 0) {
    const std::string digits_text = std::to_string(rest);
    out.append(".").append(9 - digits_text.size(), '0').append(digits_text);
    out.erase(out.find_last_not_of('0') + 1);
  }
  return out += 's';
}

}  // namespace pawl::expr
