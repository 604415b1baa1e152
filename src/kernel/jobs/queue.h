// Queue: the waiting jobs of one name, counts by state, and an operator's settings.
// Limit: a concurrency key that jobs of any queue may share.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "journal/events.h"
#include "kernel/resident.h"
#include "plan/ojs/queue_name.h"

namespace pawl {

template <class Key>
class SpillIndex;  // spill_index.h

// A worker takes the smallest: higher priority first, then older place, then id.
struct ReadyKey {
  int32_t reverse_priority = 0;
  uint64_t order = 0;
  JobId job;

  auto operator<=>(const ReadyKey&) const = default;
};

constexpr int64_t kRateWindowMs = 1000;  // period of a queue's rate

struct Queue : Resident {
  Queue(std::string queue_name, size_t window_max);
  ~Queue();

  std::string name;  // scoped
  QueueSettings settings;
  std::array<uint64_t, kJobStateCount>
      counts{};  // live states: now; terminal states: since the beginning
  uint64_t dead = 0;
  uint64_t forgotten = 0;  // finished jobs that are no longer stored
  int64_t created_ms = 0;
  int64_t rate_window_ms = 0;  // start of the running second
  uint32_t rate_used = 0;
  bool wake = false;       // in memory only: a job became available since the last
                           // take_ready_queues()
  bool oversized = false;  // in memory only: waits for its window to be shrunk
  // Reading its front may fill its window from disk, which changes no answer.
  const std::unique_ptr<SpillIndex<ReadyKey>> ready;

  uint64_t count(JobState state) const { return counts[static_cast<size_t>(state)]; }
  uint64_t finished_stored() const {
    return count(JobState::Completed) + count(JobState::Cancelled) + count(JobState::Discarded) -
           forgotten;
  }
  uint64_t depth() const {
    return count(JobState::Available) + count(JobState::Scheduled) + count(JobState::Retryable) +
           count(JobState::Pending);
  }
};

// Whether the jobs of a queue with these settings live at its home, if there are several partitions.
constexpr bool is_pinned(const QueueSettings& settings) {
  return settings.partition == QueuePlace::Pinned ||
         (settings.partition == QueuePlace::Auto && settings.rate_per_second != 0);
}
std::string_view queue_place_name(QueuePlace place);  // "auto", "pinned", "spread"
std::optional<QueuePlace> parse_queue_place(std::string_view name);

std::string encode_queue(const Queue& queue);
bool decode_queue(std::string_view bytes, Queue& queue);

struct Limit : Resident {
  Limit() : Resident(EntityKind::Limit) {}

  std::string key;
  LimitSettings settings;
  uint64_t active = 0;
  int64_t window_ms = 0;
  uint32_t used = 0;
  std::map<std::string_view, Queue*> held_back;  // in memory only: queues that wait for room

  static void fields(auto& self, auto&& visit) {
    visit(1, "key", self.key);
    visit(2, "version", self.version);
    visit(3, "settings", self.settings);
    visit(4, "active", self.active);
    visit(5, "window_ms", self.window_ms);
    visit(6, "used", self.used);
  }
};

}  // namespace pawl
