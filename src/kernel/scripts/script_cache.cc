#include "kernel/scripts/script_cache.h"

#include "plan/definition.h"

namespace pawl {
namespace {

// Approximate memory. Measured with 10,000 small steps: 11.6 MB, of which their text is
// 1.1; this gives 13.
size_t bytes_of(const plan::Script& plan, const std::string& canonical) {
  constexpr size_t kHeapPerStep = 128;  // dependencies, parameters
  constexpr size_t kTextCopies = 2;     // here, and in pieces in the steps
  return plan.steps.size() * (sizeof(plan::Step) + kHeapPerStep) +
         plan.lists.size() * sizeof(plan::List) + kTextCopies * canonical.size();
}

}  // namespace

std::shared_ptr<const plan::Script> ScriptCache::get(const std::string& canonical) {
  if (auto known = by_text_.find(canonical); known != by_text_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return known->second->plan;
  }
  auto compiled = plan::compile_canonical(canonical);
  if (!compiled.ok()) return nullptr;
  const size_t bytes = bytes_of(**compiled, canonical);
  entries_.push_front({canonical, std::move(compiled).value(), bytes});
  by_text_.emplace(entries_.front().canonical, entries_.begin());
  bytes_ += bytes;
  return entries_.front().plan;
}

// Down to half of the bound, since the caller has to visit every run for it.
void ScriptCache::trim() {
  while (bytes_ > bytes_max_ / 2 || entries_.size() > kEntriesMax / 2) {
    const Entry& last = entries_.back();
    bytes_ -= last.bytes;
    by_text_.erase(last.canonical);
    entries_.pop_back();
  }
}

}  // namespace pawl
