#include "worlds/table.h"

#include <algorithm>

namespace pawl::worlds {

std::optional<std::string> Overlay::get(std::string_view key) {
  const auto written = writes_.find(key);
  return written == writes_.end() ? base_.get(key) : written->second;
}

void Overlay::put(std::string_view key, std::string value) {
  const auto at = writes_.lower_bound(key);
  if (at != writes_.end() && at->first == key) {
    at->second = std::move(value);
  } else {
    writes_.emplace_hint(at, std::string(key), std::move(value));
  }
}

void Overlay::remove(std::string_view key) {
  const auto at = writes_.lower_bound(key);
  if (at != writes_.end() && at->first == key) {
    at->second.reset();
  } else {
    writes_.emplace_hint(at, std::string(key), std::nullopt);
  }
}

// visit may write: so the place among the writes is a key, not an iterator, and what visit sees is
// a copy.
void Overlay::scan(std::string_view prefix, std::string_view from,
                   FunctionRef<bool(std::string_view key, std::string_view value)> visit) {
  std::string next(std::max(prefix, from));  // the first key that was not visited, or one before it
  bool go_on = true;
  std::string key, value;
  // Visits writes from `next` on that lie before `end` (null: all of the prefix).
  auto visit_writes = [&](const std::string_view* end) {
    while (go_on) {
      const auto at = writes_.lower_bound(next);
      if (at == writes_.end() || !at->first.starts_with(prefix)) return;
      if (end != nullptr && at->first >= *end) return;
      key = at->first;
      const bool there = at->second.has_value();
      if (there) value = *at->second;
      next.assign(key).push_back('\0');
      if (there) go_on = visit(key, value);
    }
  };
  base_.scan(prefix, from, [&](std::string_view base_key, std::string_view base_value) {
    visit_writes(&base_key);
    if (!go_on) return false;
    if (writes_.find(base_key) == writes_.end()) {
      next.assign(base_key).push_back('\0');
      return go_on = visit(base_key, base_value);
    }
    const std::string past = std::string(base_key) + '\0';
    const std::string_view end = past;
    visit_writes(&end);
    return go_on;
  });
  visit_writes(nullptr);
}

}  // namespace pawl::worlds
