#include "actions/spelling.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/base64.h"
#include "base/url.h"
#include "base/value.h"

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

// As in_quotes() prints it.
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

// The part of the base64 that does not depend on the surrounding bytes.
std::string in_base64(std::string_view text, size_t bytes_before) {
  std::string whole = base64(std::string(bytes_before, '\0') + std::string(text));
  size_t from = (bytes_before * 8 + 5) / 6;
  size_t to = (bytes_before + text.size()) * 8 / 6;
  return whole.substr(from, to - from);
}

class Speller {
 public:
  void add_secret(std::string_view secret);
  void add_lines(std::string_view text);
  void add_texts(const Value& value);

  Spellings found;

 private:
  void add(std::string spelling, size_t bytes_min, SpellingKind kind = SpellingKind::Plain) {
    if (spelling.size() >= bytes_min) found.texts.push_back({std::move(spelling), kind});
  }
  // Most plain spellings are equal, and sorting thousands of lines is expensive.
  void add_new(const std::string& spelling, size_t bytes_min, size_t since) {
    for (size_t i = since; i < found.texts.size(); ++i)
      if (found.texts[i].bytes == spelling) return;
    add(spelling, bytes_min);
  }
};

void Speller::add_secret(std::string_view secret) {
  const size_t since = found.texts.size();
  add(std::string(secret), Spellings::kSecretBytesMin);
  std::string_view core = trimmed(secret);
  if (core.size() < Spellings::kSecretBytesMin) return;
  add_new(std::string(core), Spellings::kSecretBytesMin, since);
  add_new(printed(core), Spellings::kEncodedBytesMin, since);
  add_new(in_case(core, 'A', 'a'), Spellings::kEncodedBytesMin, since);  // like host names
  add_new(in_case(core, 'a', 'A'), Spellings::kEncodedBytesMin, since);
  // Escaped, so that it is found where it is escaped or encoded once more.
  std::vector<std::string> forms{std::string(core), in_json(core, false), in_json(core, true),
                                 percent_encode(core), with_lower_hex(percent_encode(core))};
  std::sort(forms.begin(), forms.end());
  forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
  for (const std::string& form : forms) add_new(form, Spellings::kEncodedBytesMin, since);
  for (const std::string& form : forms)
    for (size_t before = 0; before < 3; ++before)
      add(in_base64(form, before), Spellings::kEncodedBytesMin, SpellingKind::Base64);
  add(in_hex(core), Spellings::kEncodedBytesMin, SpellingKind::Hex);
  if (core.size() >= Spellings::kNumberBytesMin)
    if (auto parsed = Value::parse(core); parsed.ok() && parsed->is_number())
      found.numbers.push_back(parsed->json());
}

void Speller::add_lines(std::string_view text) {
  if (text.find('\n') == std::string_view::npos) return;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (std::string_view line = trimmed(text.substr(0, end)); line.size() >= kLineBytesMin)
      add_secret(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// For a secret that is JSON: if a program prints it, the output has its members.
void Speller::add_texts(const Value& value) {
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

}  // namespace

Spellings spellings_of(const std::vector<expr::Secret>& secrets) {
  Speller speller;
  // A definition may use a secret many times.
  std::set<std::string_view> texts;
  for (const expr::Secret& secret : secrets) texts.insert(secret.text);
  for (std::string_view text : texts) {
    speller.add_secret(text);
    speller.add_lines(text);
    if (auto parsed = Value::parse(text); parsed.ok()) speller.add_texts(*parsed);
  }
  std::sort(speller.found.numbers.begin(), speller.found.numbers.end());
  return std::move(speller.found);
}

char folded(char c, SpellingKind kind) {
  switch (kind) {
    case SpellingKind::Plain:
      return c == '+' ? ' ' : c;
    case SpellingKind::Hex:
      return lower(c);
    case SpellingKind::Base64:
      return c == '-' ? '+' : c == '_' ? '/' : c;
  }
  return c;
}

bool may_stand_between(char c, SpellingKind kind) {
  if (kind == SpellingKind::Plain) return false;
  return c == '\n' || c == '\r' || (kind == SpellingKind::Hex && (c == ' ' || c == ':'));
}

}  // namespace pawl::actions
