#include "expr/cache.h"

namespace pawl::expr {

Result<std::shared_ptr<const Program>> ProgramCache::get(std::string_view source) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(source); found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      ++stats_.hits;
      return order_.front();
    }
    ++stats_.misses;
  }
  PAWL_TRY(std::shared_ptr<const Program> program, Program::compile(source, options_));
  insert(program);
  return program;
}

void ProgramCache::insert(const std::shared_ptr<const Program>& program) {
  const std::lock_guard lock(mutex_);
  if (index_.contains(program->source())) return;
  order_.push_front(program);
  index_.emplace(program->source(), order_.begin());
  stats_.bytes += program->bytes();
  while (!order_.empty() &&
         (order_.size() > limits_.entries_max || stats_.bytes > limits_.bytes_max)) {
    stats_.bytes -= order_.back()->bytes();
    index_.erase(order_.back()->source());
    order_.pop_back();
  }
}

ProgramCache::Stats ProgramCache::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.entries = order_.size();
  return stats;
}

}  // namespace pawl::expr
