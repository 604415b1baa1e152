#include "expr/schema/formats.h"

#include <array>
#include <utility>

#include "base/time.h"
#include "expr/schema/node.h"
#include "expr/text.h"

namespace pawl::expr::schema {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 13> kNames{{
    {"date-time", Format::DateTime},
    {"date", Format::Date},
    {"time", Format::Time},
    {"duration", Format::Duration},
    {"email", Format::Email},
    {"hostname", Format::Hostname},
    {"ipv4", Format::Ipv4},
    {"ipv6", Format::Ipv6},
    {"uri", Format::Uri},
    {"uri-reference", Format::UriReference},
    {"uuid", Format::Uuid},
    {"json-pointer", Format::JsonPointer},
    {"regex", Format::Regex},
}};

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Reads exactly `digits` digits at the start; -1 if they are not there.
int take_number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

size_t take_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count;
}

bool is_date(std::string_view text) {
  const int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) return false;
  const int month = take_number(text, 2);
  if (month < 1 || month > 12 || !take(text, '-')) return false;
  const int day = take_number(text, 2);
  return text.empty() && day >= 1 && day <= days_in_month(year, month);
}

bool is_time(std::string_view text) {
  const int hour = take_number(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ':')) return false;
  const int minute = take_number(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ':')) return false;
  const int second = take_number(text, 2);
  if (second < 0 || second > 60) return false;
  if (take(text, '.') && take_digits(text) == 0) return false;
  int offset = 0;
  if (!take(text, 'Z') && !take(text, 'z')) {
    const bool west = take(text, '-');
    if (!west && !take(text, '+')) return false;
    const int hours = take_number(text, 2);
    if (hours < 0 || hours > 23 || !take(text, ':')) return false;
    const int minutes = take_number(text, 2);
    if (minutes < 0 || minutes > 59) return false;
    offset = (hours * 60 + minutes) * (west ? -1 : 1);
  }
  if (!text.empty()) return false;
  if (second < 60) return true;
  // A leap second is the last one of a UTC day.
  const int utc = ((hour * 60 + minute - offset) % 1440 + 1440) % 1440;
  return utc == 1439;
}

bool is_date_time(std::string_view text) {
  if (text.size() < 11 || (text[10] != 'T' && text[10] != 't')) return false;
  return is_date(text.substr(0, 10)) && is_time(text.substr(11));
}

// The parts that follow each other without a gap: "Y" then "M" then "D", never "Y" then "D".
bool take_parts(std::string_view& text, std::string_view units) {
  size_t next = 0;
  bool any = false;
  while (!text.empty() && is_digit(text.front())) {
    take_digits(text);
    if (text.empty()) return false;
    const size_t unit = units.find(text.front());
    if (unit == std::string_view::npos || unit < next || (any && unit != next)) return false;
    text.remove_prefix(1);
    next = unit + 1;
    any = true;
  }
  return any;
}

bool is_duration(std::string_view text) {
  if (!take(text, 'P') || text.empty()) return false;
  if (text.back() == 'W') {
    text.remove_suffix(1);
    return take_digits(text) > 0 && text.empty();
  }
  if (text.front() != 'T' && !take_parts(text, "YMD")) return false;
  if (text.empty()) return true;
  return take(text, 'T') && take_parts(text, "HMS") && text.empty();
}

bool is_hostname(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  size_t label = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '.') {
      if (label == 0 || label > 63 || text[i - 1] == '-') return false;
      label = 0;
      continue;
    }
    if (!is_digit(text[i]) && !is_alpha(text[i]) && (text[i] != '-' || label == 0)) return false;
    ++label;
  }
  return true;
}

bool is_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && !take(text, '.')) return false;
    size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) ++digits;
    if (digits == 0 || digits > 3 || (digits > 1 && text[0] == '0')) return false;
    if (take_number(text, digits) > 255) return false;
  }
  return text.empty();
}

bool is_ipv6(std::string_view text) {
  int groups = 0;
  bool gap = false;
  if (text.starts_with("::")) {
    gap = true;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    const size_t end = text.find(':');
    const std::string_view group = text.substr(0, end);
    if (group.find('.') != std::string_view::npos) {
      if (end != std::string_view::npos || !is_ipv4(group)) return false;
      groups += 2;
      break;
    }
    if (group.empty() || group.size() > 4) return false;
    for (const char c : group) {
      if (!is_hex(c)) return false;
    }
    ++groups;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) return false;
    if (text.front() == ':') {
      if (std::exchange(gap, true)) return false;
      text.remove_prefix(1);
    }
  }
  return gap ? groups <= 7 : groups == 8;
}

bool is_atext(char c) {
  return is_digit(c) || is_alpha(c) ||
         std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos;
}

bool is_local_part(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    const std::string_view inner = text.substr(1, text.size() - 2);
    for (size_t i = 0; i < inner.size(); ++i) {
      if (inner[i] == '\\' && ++i == inner.size()) return false;
      if (inner[i] < 0x20 || inner[i] == 0x7f) return false;
      if (inner[i] == '"' && (i == 0 || inner[i - 1] != '\\')) return false;
    }
    return true;
  }
  bool dot = true;  // a dot may not come first, last, or twice in a row
  for (const char c : text) {
    if (c == '.' ? dot : !is_atext(c)) return false;
    dot = c == '.';
  }
  return !dot;
}

bool is_email(std::string_view text) {
  const size_t at = text.rfind('@');
  if (at == std::string_view::npos || !is_local_part(text.substr(0, at))) return false;
  std::string_view domain = text.substr(at + 1);
  if (domain.size() >= 2 && domain.front() == '[' && domain.back() == ']') {
    domain = domain.substr(1, domain.size() - 2);
    return domain.starts_with("IPv6:") ? is_ipv6(domain.substr(5)) : is_ipv4(domain);
  }
  return is_hostname(domain);
}

bool is_uri_text(std::string_view text, std::string_view extra) {
  constexpr std::string_view kMarks = "-._~!$&'()*+,;=:@";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return false;
      i += 2;
    } else if (!is_digit(c) && !is_alpha(c) && kMarks.find(c) == std::string_view::npos &&
               extra.find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

bool is_authority(std::string_view text) {
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    if (!is_uri_text(text.substr(0, at), "") ||
        text.substr(0, at).find('@') != std::string_view::npos)
      return false;
    text.remove_prefix(at + 1);
  }
  if (text.find('@') != std::string_view::npos) return false;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const size_t close = text.find(']');
    if (close == std::string_view::npos || !is_ipv6(text.substr(1, close - 1))) return false;
    port = text.substr(close + 1);
  } else {
    const size_t colon = text.find(':');
    if (!is_uri_text(text.substr(0, colon), "")) return false;
    if (colon != std::string_view::npos) port = text.substr(colon);
  }
  if (port.empty()) return true;
  if (!take(port, ':')) return false;
  take_digits(port);
  return port.empty();
}

size_t scheme_length(std::string_view text) {
  if (text.empty() || !is_alpha(text[0])) return 0;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == ':') return i;
    if (!is_digit(text[i]) && !is_alpha(text[i]) && text[i] != '+' && text[i] != '-' &&
        text[i] != '.')
      return 0;
  }
  return 0;
}

bool is_uri_reference(std::string_view text) {
  const size_t scheme = scheme_length(text);
  if (scheme > 0) text.remove_prefix(scheme + 1);
  if (const size_t hash = text.find('#'); hash != std::string_view::npos) {
    if (!is_uri_text(text.substr(hash + 1), "/?")) return false;
    text = text.substr(0, hash);
  }
  if (const size_t query = text.find('?'); query != std::string_view::npos) {
    if (!is_uri_text(text.substr(query + 1), "/?")) return false;
    text = text.substr(0, query);
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    const size_t slash = text.find('/');
    if (!is_authority(text.substr(0, slash))) return false;
    text = slash == std::string_view::npos ? std::string_view() : text.substr(slash);
  } else if (scheme == 0 && text.substr(0, text.find('/')).find(':') != std::string_view::npos) {
    return false;  // would read as a scheme
  }
  return is_uri_text(text, "/");
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

bool is_json_pointer(std::string_view text) {
  if (!text.empty() && text.front() != '/') return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '~' && (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1')))
      return false;
  }
  return true;
}

}  // namespace

Format format_named(std::string_view name) {
  for (const auto& [known, format] : kNames) {
    if (known == name) return format;
  }
  return Format::None;
}

std::string_view format_name(Format format) {
  for (const auto& [name, known] : kNames) {
    if (known == format) return name;
  }
  return "";
}

bool matches_format(Format format, std::string_view text, Budget& budget) {
  switch (format) {
    case Format::None:
      return true;
    case Format::DateTime:
      return is_date_time(text);
    case Format::Date:
      return is_date(text);
    case Format::Time:
      return is_time(text);
    case Format::Duration:
      return is_duration(text);
    case Format::Email:
      return is_email(text);
    case Format::Hostname:
      return is_hostname(text);
    case Format::Ipv4:
      return is_ipv4(text);
    case Format::Ipv6:
      return is_ipv6(text);
    case Format::Uri:
      return scheme_length(text) > 0 && is_uri_reference(text);
    case Format::UriReference:
      return is_uri_reference(text);
    case Format::Uuid:
      return is_uuid(text);
    case Format::JsonPointer:
      return is_json_pointer(text);
    case Format::Regex:
      return compile_ecma_regex(text, budget).ok();
  }
  return true;
}

}  // namespace pawl::expr::schema
