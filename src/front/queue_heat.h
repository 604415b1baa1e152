// QueueHeat: which queues get more jobs than one partition should take. The jobs of such a queue
// are spread; until then they stay together, and so in order.
//
// Counts pushes of this node by queue and second. Bounded: a queue beyond kQueuesMax counts as
// cool. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace pawl::front {

class QueueHeat {
 public:
  static constexpr uint32_t kHotPerSecond = 3'000;   // from here on its jobs are spread
  static constexpr uint32_t kCoolPerSecond = 1'000;  // below this they stay together again
  static constexpr size_t kQueuesMax = 10'000;

  // Jobs are pushed; true: spread them.
  bool note(std::string_view scoped_queue, uint32_t jobs, int64_t now_ms);

 private:
  struct Count {
    int64_t second = 0;
    uint32_t jobs = 0;
    bool hot = false;
  };
  std::mutex mutex_;
  std::map<std::string, Count, std::less<>> queues_;  // guarded by mutex_
};

}  // namespace pawl::front
