// Dates: seconds since 1970, broken-down times and their text. UTC only; there is no clock here.
#include "base/time.h"

#include <cmath>

#include "expr/jq/machine.h"

namespace pawl::expr::jq {
namespace {

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

bool in_range(double seconds) {
  return seconds >= static_cast<double>(kUnixSecondsMin) &&
         seconds <= static_cast<double>(kUnixSecondsMax);
}

// [year, month from 0, day, hour, minute, second, weekday, day of the year from 0].
Datum broken_down(Machine& m, const CivilTime& civil, double fraction) {
  const int64_t days = days_from_civil(civil.year, civil.month, civil.day);
  const auto whole = [](int64_t value) { return Datum::integer(value); };
  return Datum::array(
      {whole(civil.year), whole(civil.month - 1), whole(civil.day), whole(civil.hour),
       whole(civil.minute), number(civil.second + fraction), whole(weekday_from_days(days)),
       whole(days - days_from_civil(civil.year, 1, 1))},
      m.budget);
}

bool gmtime(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!in.is_number()) return m.raise("gmtime() requires a number");
  const double whole = std::floor(in.as_double());
  if (!in_range(whole))
    return m.raise("error converting number of seconds since epoch to datetime");
  out = broken_down(m, civil_from_seconds(static_cast<int64_t>(whole)), in.as_double() - whole);
  return true;
}

bool read_civil(Machine& m, const Datum& in, CivilTime& civil) {
  const std::string problem = "requires an array of 6 numbers";
  if (!in.is_array() || in.as_array().size() < 6) return m.raise(problem);
  double parts[6];
  for (size_t i = 0; i < 6; ++i) {
    if (!in.as_array()[i].is_number()) return m.raise(problem);
    parts[i] = in.as_array()[i].as_double();
  }
  const bool sane = parts[0] >= 1 && parts[0] <= 9999 && parts[1] >= 0 && parts[1] < 12 &&
                    parts[2] >= 1 && parts[2] < 32 && parts[3] >= 0 && parts[3] < 24 &&
                    parts[4] >= 0 && parts[4] < 60 && parts[5] >= 0 && parts[5] < 61;
  if (!sane) return m.raise("the broken-down time is out of range");
  civil = {static_cast<int32_t>(parts[0]), static_cast<int32_t>(parts[1]) + 1,
           static_cast<int32_t>(parts[2]), static_cast<int32_t>(parts[3]),
           static_cast<int32_t>(parts[4]), static_cast<int32_t>(parts[5])};
  return true;
}

bool mktime(Machine& m, const Datum& in, Arguments, Datum& out) {
  CivilTime civil;
  if (!read_civil(m, in, civil)) return false;
  out = Datum::integer(seconds_from_civil(civil));
  return true;
}

std::string padded(int64_t value, size_t width, char with = '0') {
  std::string text = std::to_string(value);
  return text.size() < width ? std::string(width - text.size(), with) + text : text;
}

// Prints the number that a letter stands for; false if it stands for none.
bool print_number(const CivilTime& civil, char letter, std::string& out) {
  const int64_t days = days_from_civil(civil.year, civil.month, civil.day);
  const int64_t weekday = weekday_from_days(days);
  struct Field {
    char letter;
    size_t width;
    char with;
    int64_t value;
  };
  const Field fields[] = {
      {'Y', 4, '0', civil.year},
      {'y', 2, '0', civil.year % 100},
      {'m', 2, '0', civil.month},
      {'d', 2, '0', civil.day},
      {'e', 2, ' ', civil.day},
      {'H', 2, '0', civil.hour},
      {'I', 2, '0', civil.hour % 12 == 0 ? 12 : civil.hour % 12},
      {'M', 2, '0', civil.minute},
      {'S', 2, '0', civil.second},
      {'j', 3, '0', days - days_from_civil(civil.year, 1, 1) + 1},
      {'u', 1, '0', (weekday + 6) % 7 + 1},
      {'w', 1, '0', weekday},
      {'s', 1, '0', seconds_from_civil(civil)},
  };
  for (const Field& field : fields) {
    if (field.letter != letter) continue;
    out += padded(field.value, field.width, field.with);
    return true;
  }
  return false;
}

std::string_view part_name(const CivilTime& civil, char letter) {
  const int64_t days = days_from_civil(civil.year, civil.month, civil.day);
  const std::string_view weekday = kDays[weekday_from_days(days)];
  const std::string_view month = kMonths[civil.month - 1];
  const std::pair<char, std::string_view> names[] = {
      {'A', weekday},
      {'a', weekday.substr(0, 3)},
      {'B', month},
      {'b', month.substr(0, 3)},
      {'h', month.substr(0, 3)},
      {'p', civil.hour < 12 ? "AM" : "PM"},
      {'Z', "UTC"},
      {'z', "+0000"},
      {'n', "\n"},
      {'t', "\t"},
      {'%', "%"},
  };
  for (const auto& [known, name] : names) {
    if (known == letter) return name;
  }
  return "";
}

bool print_part(const CivilTime& civil, char letter, std::string& out) {
  constexpr std::pair<char, std::string_view> kShort[] = {{'T', "%H:%M:%S"},
                                                          {'R', "%H:%M"},
                                                          {'F', "%Y-%m-%d"},
                                                          {'D', "%m/%d/%y"},
                                                          {'c', "%a %b %e %H:%M:%S %Y"}};
  for (const auto& [known, format] : kShort) {
    if (known != letter) continue;
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        out += format[i];
      } else {
        print_part(civil, format[++i], out);
      }
    }
    return true;
  }
  if (print_number(civil, letter, out)) return true;
  const std::string_view name = part_name(civil, letter);
  out += name;
  return !name.empty();
}

bool strftime(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!args[0].is_string()) return m.raise("strftime/1 requires a string format");
  Datum broken = in;
  if (in.is_number() && !gmtime(m, in, args, broken)) return false;
  CivilTime civil;
  if (!read_civil(m, broken, civil)) return false;
  std::string text;
  const std::string& format = args[0].as_string();
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
    } else if (++i >= format.size() || !print_part(civil, format[i], text)) {
      return m.raise("strftime/1: unknown conversion in the format");
    }
    if (!m.step(format[i] == '%' ? 1 : 4)) return false;
  }
  out = Datum::string(std::move(text), m.budget);
  return true;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool format(std::string_view format) {
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] == ' ') {
        blanks();
      } else if (format[i] != '%') {
        if (!literal(format[i])) return false;
      } else if (++i >= format.size() || !part(format[i])) {
        return false;
      }
    }
    return true;
  }
  bool done() const { return text_.empty(); }
  bool civil(CivilTime& out) const {
    out = civil_;
    if (pm_ >= 0) out.hour = out.hour % 12 + 12 * pm_;
    return out.year >= 1 && out.day >= 1 && out.day <= days_in_month(out.year, out.month);
  }

 private:
  void blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t')) text_.remove_prefix(1);
  }
  bool literal(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool digits(size_t most, int32_t low, int32_t high, int32_t& out) {
    int32_t value = 0;
    size_t count = 0;
    for (; count < most && count < text_.size() && text_[count] >= '0' && text_[count] <= '9';
         ++count)
      value = value * 10 + (text_[count] - '0');
    text_.remove_prefix(count);
    out = value;
    return count > 0 && value >= low && value <= high;
  }
  template <size_t N>
  bool name(const std::string_view (&names)[N], int32_t& out) {
    for (size_t i = 0; i < N; ++i) {
      for (const size_t length : {names[i].size(), size_t{3}}) {
        if (!text_.starts_with(names[i].substr(0, length))) continue;
        text_.remove_prefix(length);
        out = static_cast<int32_t>(i);
        return true;
      }
    }
    return false;
  }
  bool zone() {
    if (literal('Z')) return true;
    const bool west = !text_.empty() && text_[0] == '-';
    if (!west && (text_.empty() || text_[0] != '+')) return false;
    text_.remove_prefix(1);
    int32_t hours = 0;
    int32_t minutes = 0;
    if (!digits(2, 0, 23, hours)) return false;
    literal(':');
    if (!digits(2, 0, 59, minutes)) return false;
    offset_ = (west ? -60 : 60) * (hours * 60 + minutes);
    return true;
  }
  bool zone_name() {
    size_t count = 0;
    while (count < text_.size() && text_[count] >= 'A' && text_[count] <= 'Z') ++count;
    text_.remove_prefix(count);
    return count > 0;
  }
  bool part(char letter) {
    int32_t ignored = 0;
    switch (letter) {
      case 'Y':
        return digits(4, 1, 9999, civil_.year);
      case 'm':
        return digits(2, 1, 12, civil_.month);
      case 'd':
        return digits(2, 1, 31, civil_.day);
      case 'e':
        blanks();
        return digits(2, 1, 31, civil_.day);
      case 'H':
        return digits(2, 0, 23, civil_.hour);
      case 'I':
        return digits(2, 1, 12, civil_.hour);
      case 'M':
        return digits(2, 0, 59, civil_.minute);
      case 'S':
        return digits(2, 0, 60, civil_.second);
      case 'j':
        return digits(3, 1, 366, ignored);
      case 'p':
        pm_ = text_.starts_with("PM") ? 1 : 0;
        return literal(pm_ == 1 ? 'P' : 'A') && literal('M');
      case 'a':
      case 'A':
        return name(kDays, ignored);
      case 'b':
      case 'h':
      case 'B': {
        int32_t month = 0;
        if (!name(kMonths, month)) return false;
        civil_.month = month + 1;
        return true;
      }
      case 'Z':
        return zone_name();
      case 'z':
        return zone();
      case 'T':
        return format("%H:%M:%S");
      case 'R':
        return format("%H:%M");
      case 'F':
        return format("%Y-%m-%d");
      case '%':
        return literal('%');
      default:
        return false;
    }
  }

  std::string_view text_;
  CivilTime civil_{1900, 1, 1, 0, 0, 0};
  int64_t offset_ = 0;
  int32_t pm_ = -1;
};

bool strptime(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!in.is_string()) return m.raise("strptime/1 requires string inputs and arguments");
  if (!args[0].is_string()) return m.raise("strptime/1 requires string inputs and arguments");
  if (!m.step(1 + args[0].as_string().size() + in.as_string().size() / 8)) return false;
  Reader reader(in.as_string());
  CivilTime civil;
  if (!reader.format(args[0].as_string()) || !reader.done() || !reader.civil(civil))
    return m.raise("date " + described(in, m.budget) + " does not match the format \"" +
                   args[0].as_string().substr(0, 80) + "\"");
  out = broken_down(m, civil, 0);
  return true;
}

}  // namespace

std::vector<NativeEntry> time_natives() {
  return {
      {"gmtime", 0, gmtime},
      {"mktime", 0, mktime},
      {"strftime", 1, strftime},
      {"strptime", 1, strptime},
  };
}

}  // namespace pawl::expr::jq
