#include "plan/references.h"

#include <set>

#include "base/quote.h"
#include "plan/nearest.h"

namespace pawl::plan {
namespace {

constexpr std::string_view kSteps = "steps";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view word_at(std::string_view text, bool dashes) {
  size_t size = 0;
  while (size < text.size() && (is_word(text[size]) || (dashes && text[size] == '-'))) ++size;
  return text.substr(0, size);
}

// steps['a.true.b'] is the full id of a nested step; one known part is enough.
bool is_known(const std::set<std::string_view>& ids, std::string_view name) {
  if (ids.contains(name) || ids.contains(name.substr(0, name.find('-')))) return true;
  while (true) {
    const size_t dot = name.find('.');
    if (ids.contains(name.substr(0, dot))) return true;
    if (dot == std::string_view::npos) return false;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

void References::note(const Cursor& at, std::string_view text, bool path) {
  for (size_t found = text.find(kSteps); found != std::string_view::npos;
       found = text.find(kSteps, found + kSteps.size())) {
    if (noted_.size() >= kNotedMax) return;
    if (found > 0 && (is_word(text[found - 1]) || text[found - 1] == '.')) continue;
    std::string_view rest = text.substr(found + kSteps.size());
    std::string_view name;
    std::string_view with_dashes;
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      name = word_at(rest, path);
      with_dashes = word_at(rest, true);
      if (rest.substr(name.size()).starts_with('(')) continue;  // a function of all steps
    } else if (rest.starts_with("['") || rest.starts_with("[\"")) {
      name = rest.substr(2, rest.find(rest[1], 2) - 2);
    }
    if (name.empty() || name.find('\\') != std::string_view::npos) continue;
    noted_.push_back({at.path(), at.line(), std::string(name),
                      with_dashes.size() > name.size() ? std::string(with_dashes) : ""});
  }
}

std::vector<Fault> References::judge(const Script& script) const {
  std::set<std::string_view> ids;
  for (const Step& step : script.steps) ids.insert(step.id);
  const std::vector<std::string_view> names(ids.begin(), ids.end());
  std::vector<Fault> out;
  for (const Reference& reference : noted_) {
    if (is_known(ids, reference.name)) continue;
    if (!reference.with_dashes.empty() && ids.contains(reference.with_dashes)) {
      out.push_back({reference.path, "unknown_step",
                     "'steps." + reference.with_dashes + "' reads as a subtraction",
                     "write steps['" + reference.with_dashes + "']", reference.line});
    } else if (out.size() < 100) {
      out.push_back({reference.path, "unknown_step",
                     "there is no step " + in_quotes(reference.name), meant(reference.name, names),
                     reference.line});
    }
  }
  return out;
}

}  // namespace pawl::plan
