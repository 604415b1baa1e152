#include "link/warnings.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace pawl::link {

void Warnings::add(std::string text) {
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& entry) { return entry.text == text; });
  if (found == entries_.end()) {
    log::warning(text);
    entries_.push_front({std::move(text)});
    if (entries_.size() > kMax) entries_.pop_back();
  } else {
    entries_.splice(entries_.begin(), entries_, found);
  }
  ++entries_.front().times;
  entries_.front().last = std::chrono::steady_clock::now();
}

std::vector<std::string> Warnings::list() const {
  const std::lock_guard lock(mutex_);
  const auto oldest = std::chrono::steady_clock::now() - kept_;
  std::vector<std::string> out;
  for (const Entry& entry : entries_) {
    if (entry.last < oldest) continue;
    out.push_back(entry.times == 1 ? entry.text
                                   : entry.text + " (" + std::to_string(entry.times) + " times)");
  }
  return out;
}

}  // namespace pawl::link
