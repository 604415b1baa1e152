#include "actions/blotter.h"

#include <algorithm>

namespace pawl::actions {

Blotter::Blotter(const std::vector<expr::Secret>& secrets) : Blotter(spellings_of(secrets)) {}

Blotter::Blotter(Spellings spellings)
    : search_(std::move(spellings.texts)), numbers_(std::move(spellings.numbers)) {}

// The beginning of a secret is masked with the whole word around it, so that the result does not
// show how much of a guess was right.
std::string Blotter::without(std::string_view text, bool beginnings, Effort* effort) const {
  if (empty()) return std::string(text);
  SpellingSearch::Scan scan(search_, text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const SpellingSearch::Found found = scan.at(at, beginnings);
    if (found.taken == 0) {
      out += text[at++];
      continue;
    }
    out += "***";
    at += found.taken;
    if (!found.whole) at = std::min(text.find_first_of("\"' \t\r\n", at), text.size());
  }
  if (effort != nullptr) {
    effort->steps += scan.steps();
    effort->gave_up |= scan.gave_up();
  }
  return out;
}

std::string Blotter::text(std::string_view text, Effort* effort) const {
  return without(text, false, effort);
}

std::string Blotter::message(std::string_view text, Effort* effort) const {
  return without(text, true, effort);
}

void Blotter::value(Value& value) const {
  if (empty()) return;
  if (value.is_string()) {
    value = Value(text(value.as_string()));
  } else if (value.is_number()) {
    if (!numbers_.empty() && std::binary_search(numbers_.begin(), numbers_.end(), value.json()))
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
