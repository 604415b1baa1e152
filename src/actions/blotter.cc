#include "actions/blotter.h"

#include <algorithm>

#include "actions/value_text.h"
#include "base/json_writer.h"
#include "base/url.h"

namespace pawl::actions {
namespace {

constexpr size_t kLineBytesMin = 8;  // "-----" and single brackets are no secrets

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  size_t from = text.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlanks) - from + 1);
}

std::string in_json(std::string_view text) {
  std::string quoted;
  json::append_quoted(quoted, text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string in_case(std::string_view text, char from, char to) {
  std::string out(text);
  for (char& c : out)
    if (c >= from && c <= from + 25) c = static_cast<char>(c - from + to);
  return out;
}

std::string in_hex(std::string_view text, std::string_view digits) {
  std::string out;
  for (char c : text) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

// The part of the base64 that does not depend on what stands before and behind.
std::string in_base64(std::string_view text, size_t bytes_before) {
  std::string whole = actions::base64(std::string(bytes_before, '\0') + std::string(text));
  size_t from = (bytes_before * 8 + 5) / 6;
  size_t to = (bytes_before + text.size()) * 8 / 6;
  return whole.substr(from, to - from);
}

std::string for_urls(std::string base64) {
  std::replace(base64.begin(), base64.end(), '+', '-');
  std::replace(base64.begin(), base64.end(), '/', '_');
  return base64;
}

}  // namespace

Blotter::Blotter(const std::vector<expr::Secret>& secrets) {
  for (const expr::Secret& secret : secrets) {
    add_secret(secret.text);
    std::string_view rest = secret.text;
    if (rest.find('\n') == std::string_view::npos) continue;
    while (!rest.empty()) {
      size_t end = std::min(rest.find('\n'), rest.size());
      if (std::string_view line = trimmed(rest.substr(0, end)); line.size() >= kLineBytesMin)
        add_secret(line);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
}

void Blotter::add_spelling(std::string spelling, size_t bytes_min) {
  if (spelling.size() < bytes_min) return;
  for (const expr::Secret& known : spellings_)
    if (known.text == spelling) return;
  spellings_.push_back({"", std::move(spelling)});
}

void Blotter::add_secret(std::string_view secret) {
  add_spelling(std::string(secret), kSecretBytesMin);
  std::string_view core = trimmed(secret);
  if (core.size() < kSecretBytesMin) return;
  add_spelling(std::string(core), kSecretBytesMin);
  add_spelling(in_json(core), kSecretBytesMin);
  add_spelling(in_case(core, 'A', 'a'), kSpellingBytesMin);  // as a host name is written
  add_spelling(in_case(core, 'a', 'A'), kSpellingBytesMin);
  add_spelling(percent_encode(core), kSecretBytesMin);
  add_spelling(in_hex(core, "0123456789abcdef"), kSpellingBytesMin);
  add_spelling(in_hex(core, "0123456789ABCDEF"), kSpellingBytesMin);
  for (size_t before = 0; before < 3; ++before) {
    std::string encoded = in_base64(core, before);
    add_spelling(for_urls(encoded), kSpellingBytesMin);
    add_spelling(std::move(encoded), kSpellingBytesMin);
  }
  if (core.size() >= kNumberBytesMin)
    if (auto parsed = Value::parse(core); parsed.ok() && parsed->is_number())
      numbers_.push_back(parsed->json());
}

std::string Blotter::text(std::string_view text) const { return expr::redact(text, spellings_); }

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
