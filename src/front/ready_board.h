// ReadyBoard: which partitions of this process may have jobs in a queue, so that a fetch asks the
// right one first and passes over those that are known to be empty.
//
// A partition is known to be empty once an answer came back short and nothing became ready since it
// was asked. Until then it counts as ready. So passing over a partition never hides a job that was
// acknowledged before: its engine reports the queue before the push is answered.
//
// Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::front {

class ReadyBoard {
 public:
  static constexpr size_t kQueuesMax = 20'000;  // beyond these, all partitions are asked

  explicit ReadyBoard(uint16_t partitions) : partitions_(partitions) {}

  // By the engine of the partition.
  void became_ready(uint16_t partition, std::string_view queue);
  // Nothing is known of the partition: it begins to be served.
  void forget(uint16_t partition);

  struct Choice {
    uint16_t partition = 0;
    uint64_t version = 0;  // of what was known when it was chosen
  };
  // Those of `among` that may have jobs; who was asked longest ago comes first.
  std::vector<Choice> choose(std::string_view queue, const std::vector<uint16_t>& among);
  // What a partition answered: fewer jobs than were asked for, or as many.
  void came_short(std::string_view queue, Choice choice);
  void gave_all(std::string_view queue, Choice choice);

 private:
  struct Entry {
    uint64_t version = 1;
    uint64_t turn = 0;  // of the last full answer, or when it became ready
    bool empty = false;
  };
  using Entries = std::vector<Entry>;
  Entries* need(std::string_view queue);

  const uint16_t partitions_;
  std::mutex mutex_;
  std::map<std::string, Entries, std::less<>> queues_;  // guarded by mutex_
  uint64_t turns_ = 0;                                  // guarded by mutex_
};

}  // namespace pawl::front
