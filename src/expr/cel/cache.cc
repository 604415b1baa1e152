#include "expr/cel/cache.h"

#include <algorithm>

namespace pawl::expr {
namespace {

constexpr size_t kNewShare = 4;  // one part in this many is for programs requested once

}  // namespace

Result<std::shared_ptr<const Program>> ProgramCache::get(std::string_view source) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(source); found != index_.end()) {
      promote(found->second);
      ++stats_.hits;
      return found->second->program;
    }
    ++stats_.misses;
  }
  PAWL_TRY(std::shared_ptr<const Program> program, Program::compile(source, options_));
  insert(program);
  return program;
}

void ProgramCache::promote(Order::iterator entry) {
  Segment& from = segment_of(*entry);
  if (!entry->kept) {
    from.bytes -= entry->program->bytes();
    kept_.bytes += entry->program->bytes();
    entry->kept = true;
  }
  kept_.order.splice(kept_.order.begin(), from.order, entry);
  trim();
}

void ProgramCache::insert(const std::shared_ptr<const Program>& program) {
  const std::lock_guard lock(mutex_);
  if (index_.contains(program->source())) return;
  new_.order.push_front({program, false});
  new_.bytes += program->bytes();
  index_.emplace(program->source(), new_.order.begin());
  trim();
}

void ProgramCache::forget_last(Segment& segment) {
  const std::shared_ptr<const Program> last = segment.order.back().program;
  segment.bytes -= last->bytes();
  index_.erase(last->source());
  segment.order.pop_back();
}

void ProgramCache::trim() {
  while (new_.order.size() + kept_.order.size() > limits_.entries_max ||
         new_.bytes + kept_.bytes > limits_.bytes_max) {
    const bool many_new =
        new_.order.size() > std::max<size_t>(1, limits_.entries_max / kNewShare) ||
        new_.bytes > limits_.bytes_max / kNewShare;
    forget_last((many_new || kept_.order.empty()) ? new_ : kept_);
  }
}

ProgramCache::Stats ProgramCache::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.entries = new_.order.size() + kept_.order.size();
  stats.bytes = new_.bytes + kept_.bytes;
  return stats;
}

}  // namespace pawl::expr
