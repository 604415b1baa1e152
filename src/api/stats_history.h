// StatsHistory: numbers of jobs enqueued and ended by minute and by hour, for operators' charts.
//
// Made of samples of the queues' counters, which are durable; the history itself is in memory and
// starts empty with the server. Bounded in time and in entries: the oldest are dropped first. A
// period without a sample counts with the next one.
//
// Thread: any. Samples are taken wherever the state is at hand: by the sampler's thread, every few
// seconds, and by the calls that show figures.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pawl {
class State;
}

namespace pawl::api {

struct Tally {
  uint64_t enqueued = 0;
  uint64_t completed = 0;
  uint64_t failed = 0;  // for good: discarded

  void add(const Tally& other) {
    enqueued += other.enqueued;
    completed += other.completed;
    failed += other.failed;
  }
  bool empty() const { return enqueued == 0 && completed == 0 && failed == 0; }
};

// The scope of figures: all, one tenant, or one queue.
struct StatsScope {
  std::string tenant = {};  // "" = all
  std::string queue = {};   // without the tenant; "" = all

  bool covers(std::string_view scoped) const;
};

// Buckets of one length, oldest first.
class TallySeries {
 public:
  TallySeries(int64_t step_ms, size_t buckets_max, size_t entries_max)
      : step_ms_(step_ms), buckets_max_(buckets_max), entries_max_(entries_max) {}

  void add(int64_t at_ms, const std::string& scoped, const Tally& tally);
  // Visits (start of the bucket, its tally for that scope), from since_ms to before until_ms.
  void each(int64_t since_ms, int64_t until_ms, const StatsScope& scope,
            const std::function<void(int64_t, const Tally&)>& visit) const;

 private:
  struct Bucket {
    int64_t start_ms = 0;
    std::map<std::string, Tally> queues;
  };
  int64_t step_ms_;
  size_t buckets_max_;
  size_t entries_max_;
  size_t entries_ = 0;
  std::deque<Bucket> buckets_;
};

class StatsHistory {
 public:
  static constexpr int64_t kSampleMs = 10'000;
  static constexpr int64_t kMinuteMs = 60'000;
  static constexpr int64_t kHourMs = 60 * kMinuteMs;
  static constexpr int64_t kMinutesKept = 24 * 60;
  static constexpr int64_t kHoursKept = 30 * 24;
  static constexpr size_t kEntriesMax = 200'000;

  ~StatsHistory() { stop(); }

  // Counts changes since the last sample. The first one only sets the base.
  void sample(const State& state, int64_t now_ms);

  // Calls sampler() every few seconds, on a separate thread, until stop().
  void start(std::function<void()> sampler);
  void stop();

  Tally last_minute(const StatsScope& scope, int64_t now_ms) const;
  // One entry per period, from the first that the history knows; empty ones too.
  std::vector<std::pair<int64_t, Tally>> periods(const StatsScope& scope, int64_t period_ms,
                                                 int64_t since_ms, int64_t until_ms) const;
  int64_t since_ms() const;  // of the first sample; 0 = none yet

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Tally> seen_;  // the counters as of the last sample
  int64_t since_ms_ = 0;
  TallySeries fine_{kSampleMs, 12, kEntriesMax};
  TallySeries minutes_{kMinuteMs, kMinutesKept, kEntriesMax};
  TallySeries hours_{kHourMs, kHoursKept, kEntriesMax};

  std::condition_variable wakes_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace pawl::api
