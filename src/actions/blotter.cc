#include "actions/blotter.h"

#include <algorithm>
#include <tuple>

#include "actions/value_text.h"
#include "base/url.h"

namespace pawl::actions {
namespace {

constexpr size_t kLineBytesMin = 4;    // of a secret with several: single brackets are none
constexpr size_t kMemberBytesMin = 8;  // of a secret that is JSON: "http" and "bearer" are none

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  size_t from = text.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlanks) - from + 1);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string in_case(std::string_view text, char from, char to) {
  std::string out(text);
  for (char& c : out)
    if (c >= from && c <= from + 25) c = static_cast<char>(c - from + to);
  return out;
}

std::string in_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (char c : text) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

// As quoted() prints it.
std::string printed(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c < 0x20 || c >= 0x7f) c = '?';
  return out;
}

// As the content of a JSON string; its '/' escaped too, as some programs do.
std::string in_json(std::string_view text, bool slashes) {
  const std::string written = Value(std::string(text)).json();
  std::string out;
  for (char c : std::string_view(written).substr(1, written.size() - 2)) {
    if (slashes && c == '/') out += '\\';
    out += c;
  }
  return out;
}

// %2F as %2f.
std::string with_lower_hex(std::string text) {
  for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1))
    for (size_t i = at + 1; i < std::min(at + 3, text.size()); ++i) text[i] = lower(text[i]);
  return text;
}

// The part of the base64 that does not depend on what stands before and behind.
std::string in_base64(std::string_view text, size_t bytes_before) {
  std::string whole = actions::base64(std::string(bytes_before, '\0') + std::string(text));
  size_t from = (bytes_before * 8 + 5) / 6;
  size_t to = (bytes_before + text.size()) * 8 / 6;
  return whole.substr(from, to - from);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The number that `count` hex digits spell; -1 if they are none.
int64_t hex_number(std::string_view digits, size_t count) {
  if (digits.size() < count) return -1;
  int64_t number = 0;
  for (char c : digits.substr(0, count)) {
    if (hex_digit(c) < 0) return -1;
    number = number * 16 + hex_digit(c);
  }
  return number;
}

// What one place of a text stands for: a few bytes of it are a few bytes of what is meant.
struct Unit {
  char bytes[4];
  uint8_t size = 0;
  size_t taken = 0;  // 0: nothing is escaped here

  void add(char c) { bytes[size++] = c; }
};

Unit one(char c, size_t taken) {
  Unit unit;
  unit.add(c);
  unit.taken = taken;
  return unit;
}

Unit code_point(int64_t code, size_t taken) {
  Unit unit;
  unit.taken = taken;
  auto add = [&](int64_t c) { unit.add(static_cast<char>(c)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6), add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12), add(0x80 | (code >> 6 & 0x3f)), add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18), add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f)), add(0x80 | (code & 0x3f));
  }
  return unit;
}

// Behind a backslash: JSON's escapes, and those that other languages share with it.
Unit backslashed(std::string_view text) {
  if (text.size() < 2) return {};
  char c = text[1];
  if (c == 'u') {
    int64_t code = hex_number(text.substr(2), 4);
    if (code < 0) return {};
    if (code >= 0xd800 && code < 0xdc00 && text.substr(6, 2) == "\\u")
      if (int64_t low = hex_number(text.substr(8), 4); low >= 0xdc00 && low < 0xe000)
        return code_point(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), 12);
    return code_point(code, 6);
  }
  if (c == 'x') {
    int64_t code = hex_number(text.substr(2), 2);
    return code < 0 ? Unit{} : one(static_cast<char>(code), 4);
  }
  if (c >= '0' && c <= '3' && text.size() >= 4) {
    int64_t code = 0;
    for (char digit : text.substr(1, 3))
      code = digit >= '0' && digit <= '7' && code >= 0 ? code * 8 + (digit - '0') : -1;
    return code < 0 ? Unit{} : one(static_cast<char>(code), 4);
  }
  constexpr std::string_view kLetters = "bfnrtv";
  constexpr std::string_view kMeant = "\b\f\n\r\t\v";
  if (size_t at = kLetters.find(c); at != std::string_view::npos) return one(kMeant[at], 2);
  return is_alphanumeric(c) ? Unit{} : one(c, 2);
}

Unit entity(std::string_view text) {
  struct Known {
    std::string_view name;
    char meant;
  };
  constexpr Known kKnown[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  for (const Known& known : kKnown)
    if (text.starts_with(known.name)) return one(known.meant, known.name.size());
  if (!text.starts_with("&#")) return {};
  bool hex = text.size() > 2 && (text[2] == 'x' || text[2] == 'X');
  size_t at = hex ? 3 : 2;
  int64_t code = 0;
  for (; at < text.size() && at < 12 && text[at] != ';'; ++at) {
    int digit = hex_digit(text[at]);
    if (digit < 0 || (!hex && digit > 9)) return {};
    code = code * (hex ? 16 : 10) + digit;
  }
  if (at >= text.size() || text[at] != ';' || code > 0x10ffff) return {};
  return code_point(code, at + 1);
}

// What is escaped at the beginning of the text.
Unit escaped(std::string_view text) {
  switch (text[0]) {
    case '\\':
      return backslashed(text);
    case '%': {
      int64_t code = hex_number(text.substr(1), 2);
      return code < 0 ? Unit{} : one(static_cast<char>(code), 3);
    }
    case '&':
      return entity(text);
    case '\'':  // in a shell's quotes, and doubled as in SQL and YAML
      if (text.starts_with("'\\''")) return one('\'', 4);
      return text.starts_with("''") ? one('\'', 2) : Unit{};
    case '"':  // doubled as in CSV
      return text.starts_with("\"\"") ? one('"', 2) : Unit{};
    default:
      return {};
  }
}

}  // namespace

Blotter::Blotter(const std::vector<expr::Secret>& secrets) {
  for (const expr::Secret& secret : secrets) {
    add_secret(secret.text);
    add_lines(secret.text);
    if (auto parsed = Value::parse(secret.text); parsed.ok()) add_texts(*parsed);
  }
  index();
}

void Blotter::add_lines(std::string_view text) {
  if (text.find('\n') == std::string_view::npos) return;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (std::string_view line = trimmed(text.substr(0, end)); line.size() >= kLineBytesMin)
      add_secret(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Of a secret that is JSON: a program that prints it has its members as an output.
void Blotter::add_texts(const Value& value) {
  if (value.is_string()) {
    if (value.as_string().size() < kMemberBytesMin) return;
    add_secret(value.as_string());
    add_lines(value.as_string());
  } else if (value.is_array()) {
    for (const Value& element : value.as_array()) add_texts(element);
  } else if (value.is_object()) {
    for (const Value::Member& member : value.as_object()) add_texts(member.value);
  }
}

void Blotter::add_spelling(std::string spelling, size_t bytes_min, Kind kind) {
  if (spelling.size() >= bytes_min) spellings_.push_back({std::move(spelling), kind});
}

// A secret of many lines has thousands of spellings, of which few can begin at any one place.
void Blotter::index() {
  auto key = [](const Spelling& spelling) { return std::tie(spelling.kind, spelling.bytes); };
  std::sort(spellings_.begin(), spellings_.end(),
            [&](const Spelling& a, const Spelling& b) { return key(a) < key(b); });
  spellings_.erase(
      std::unique(spellings_.begin(), spellings_.end(),
                  [&](const Spelling& a, const Spelling& b) { return key(a) == key(b); }),
      spellings_.end());
  if (spellings_.empty()) return;
  beginning_with_.resize(256);
  for (size_t i = 0; i < spellings_.size(); ++i) {
    auto add = [&](char c) { beginning_with_[static_cast<unsigned char>(c)].push_back(i); };
    const auto& [bytes, kind] = spellings_[i];
    add(bytes[0]);
    if (kind == Kind::Plain && bytes[0] == ' ') add('+');
    if (kind == Kind::Hex && bytes[0] >= 'a') add(static_cast<char>(bytes[0] - 'a' + 'A'));
    if (kind == Kind::Base64 && bytes[0] == '+') add('-');
    if (kind == Kind::Base64 && bytes[0] == '/') add('_');
  }
}

void Blotter::add_secret(std::string_view secret) {
  add_spelling(std::string(secret), kSecretBytesMin);
  std::string_view core = trimmed(secret);
  if (core.size() < kSecretBytesMin) return;
  add_spelling(std::string(core), kSecretBytesMin);
  add_spelling(printed(core), kSpellingBytesMin);
  add_spelling(in_case(core, 'A', 'a'), kSpellingBytesMin);  // as a host name is written
  add_spelling(in_case(core, 'a', 'A'), kSpellingBytesMin);
  add_spelling(in_hex(core), kSpellingBytesMin, Kind::Hex);
  // Escaped, so that it is found where it is escaped or encoded once more.
  for (const std::string& form : {std::string(core), in_json(core, false), in_json(core, true),
                                  percent_encode(core), with_lower_hex(percent_encode(core))}) {
    add_spelling(form, kSpellingBytesMin);
    for (size_t before = 0; before < 3; ++before)
      add_spelling(in_base64(form, before), kSpellingBytesMin, Kind::Base64);
  }
  if (core.size() >= kNumberBytesMin)
    if (auto parsed = Value::parse(core); parsed.ok() && parsed->is_number())
      numbers_.push_back(parsed->json());
}

struct Blotter::Match {
  size_t spelt = 0;  // bytes of the spelling that are there
  size_t taken = 0;  // bytes of the text that say so
};

// Encoded, so that it says as many bytes of the secret.
size_t Blotter::beginning_bytes_min(Kind kind) {
  switch (kind) {
    case Kind::Plain:
      return kBeginningBytesMin;
    case Kind::Hex:
      return kBeginningBytesMin * 2;
    case Kind::Base64:
      return (kBeginningBytesMin * 8 + 5) / 6;
  }
  return kBeginningBytesMin;
}

// `escapes`: what can be an escape is one; else it is taken as it stands, as long as that fits.
Blotter::Match Blotter::match(std::string_view text, size_t at, const Spelling& spelling,
                              bool escapes) {
  const std::string& wanted = spelling.bytes;
  auto fits = [&](size_t i, char c) {
    if (c == wanted[i]) return true;
    if (spelling.kind == Kind::Hex) return lower(c) == wanted[i];
    if (spelling.kind == Kind::Base64)
      return (wanted[i] == '+' && c == '-') || (wanted[i] == '/' && c == '_');
    return wanted[i] == ' ' && c == '+';
  };
  auto may_stand_between = [&](char c) {
    if (spelling.kind == Kind::Plain) return false;
    return c == '\n' || c == '\r' || (spelling.kind == Kind::Hex && (c == ' ' || c == ':'));
  };
  Match done;
  size_t here = at;
  while (done.spelt < wanted.size() && here < text.size()) {
    bool as_it_is = fits(done.spelt, text[here]);
    Unit unit = as_it_is && !escapes ? Unit{} : escaped(text.substr(here));
    if (unit.taken == 0) unit = one(text[here], 1);
    size_t fitting = 0;
    while (fitting < unit.size && done.spelt + fitting < wanted.size() &&
           fits(done.spelt + fitting, unit.bytes[fitting]))
      ++fitting;
    if (fitting == unit.size) {
      done.spelt += fitting;
    } else if (done.spelt == 0 || !may_stand_between(unit.bytes[0])) {
      break;
    }
    here += unit.taken;
    if (fitting == unit.size) done.taken = here - at;
  }
  return done;
}

// How many bytes of the text, from `at` on, are a secret; 0 = none. The beginning of one counts, if
// it is asked for, with all of the word that it stands in: how far a guess was right must not show.
size_t Blotter::find_at(std::string_view text, size_t at, bool beginnings) const {
  size_t most = 0;
  bool whole = true;
  // Two letters or digits are no escape and no separator, so they are what they are.
  const bool plain =
      at + 1 < text.size() && is_alphanumeric(text[at]) && is_alphanumeric(text[at + 1]);
  auto look = [&](char first) {
    for (size_t i : beginning_with_[static_cast<unsigned char>(first)]) {
      const Spelling& spelling = spellings_[i];
      if (plain && spelling.bytes[1] != text[at + 1] &&
          (spelling.kind != Kind::Hex || spelling.bytes[1] != lower(text[at + 1])))
        continue;
      for (bool escapes : {false, true}) {
        Match found = match(text, at, spelling, escapes);
        bool all = found.spelt == spelling.bytes.size();
        bool enough = all || (beginnings && found.spelt >= beginning_bytes_min(spelling.kind));
        if (!enough || found.taken < most || (found.taken == most && whole)) continue;
        most = found.taken;
        whole = all;
      }
    }
  };
  look(text[at]);
  const Unit unit = escaped(text.substr(at));
  if (unit.taken > 0 && unit.bytes[0] != text[at]) look(unit.bytes[0]);
  if (whole) return most;
  return std::min(text.find_first_of("\"' \t\r\n", at + most), text.size()) - at;
}

std::string Blotter::without(std::string_view text, bool beginnings) const {
  if (empty()) return std::string(text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t taken = find_at(text, at, beginnings);
    if (taken == 0) {
      out += text[at++];
    } else {
      out += "***";
      at += taken;
    }
  }
  return out;
}

std::string Blotter::text(std::string_view text) const { return without(text, false); }

std::string Blotter::message(std::string_view text) const { return without(text, true); }

void Blotter::value(Value& value) const {
  if (empty()) return;
  if (value.is_string()) {
    value = Value(text(value.as_string()));
  } else if (value.is_number()) {
    if (!numbers_.empty() &&
        std::find(numbers_.begin(), numbers_.end(), value.json()) != numbers_.end())
      value = Value("***");
  } else if (value.is_array()) {
    for (Value& element : value.as_array()) this->value(element);
  } else if (value.is_object()) {
    Value::Object clean;
    for (Value::Member member : value.as_object()) {
      this->value(member.value);
      clean.set(text(member.key), std::move(member.value));
    }
    value = std::move(clean);
  }
}

}  // namespace pawl::actions
