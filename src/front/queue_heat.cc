#include "front/queue_heat.h"

namespace pawl::front {

bool QueueHeat::note(std::string_view scoped_queue, uint32_t jobs, int64_t now_ms) {
  const int64_t second = now_ms / 1000;
  std::lock_guard lock(mutex_);
  auto found = queues_.find(scoped_queue);
  if (found == queues_.end()) {
    // Those of earlier seconds are forgotten when there are too many.
    if (queues_.size() >= kQueuesMax)
      std::erase_if(queues_, [&](const auto& entry) { return entry.second.second < second - 1; });
    if (queues_.size() >= kQueuesMax) return false;
    found = queues_.emplace(scoped_queue, Count{second}).first;
  }
  Count& count = found->second;
  if (second != count.second) {
    if (count.jobs < kCoolPerSecond || second > count.second + 1) count.hot = false;
    count.second = second;
    count.jobs = 0;
  }
  count.jobs += jobs;
  if (count.jobs >= kHotPerSecond) count.hot = true;
  return count.hot;
}

}  // namespace pawl::front
