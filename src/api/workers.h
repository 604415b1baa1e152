// WorkerRegistry: the workers that have called, and their state as set by an operator or
// themselves. Built from their calls; not durable, since a live worker calls again. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::api {

constexpr size_t kWorkerIdBytesMax = 255;

struct WorkerInfo {
  std::string id;
  std::string state = "running";  // as reported by the worker: running, quiet, drain, shutting_down
                                  // … …
  std::string told;               // the operator's directive: quiet, terminate; "" = none
  int64_t first_seen_ms = 0;
  int64_t last_seen_ms = 0;
  uint64_t fetched = 0;
  uint64_t finished = 0;
  uint64_t active = 0;  // as of its last heartbeat
  int64_t beat_ms = 0;  // of that heartbeat
  std::vector<std::string> queues;
  std::string hostname;  // as reported, or ""
  int64_t pid = 0;

  // The effective state: the operator's directive, else the worker's report. A worker that is
  // leaving is quiet.
  std::string effective() const {
    if (!told.empty()) return told;
    return state == "running" ? state : "quiet";
  }
};

constexpr int64_t kWorkerStaleAfterMs = 60'000;

inline bool is_stale(const WorkerInfo& worker, int64_t now_ms) {
  return now_ms - worker.last_seen_ms > kWorkerStaleAfterMs;
}

struct WorkerCounts {
  size_t total = 0;
  size_t running = 0;
  size_t quiet = 0;
  size_t stale = 0;
};
WorkerCounts count_workers(const std::vector<WorkerInfo>& workers, int64_t now_ms);
// Workers that have fetched from a queue of this tenant.
size_t count_workers_of(const std::vector<WorkerInfo>& workers, std::string_view tenant);

// Optional data in a heartbeat; omitted members stay unchanged.
struct WorkerSelf {
  std::vector<std::string> queues;  // scoped names
  std::string hostname;
  int64_t pid = 0;
};

class WorkerRegistry {
 public:
  void fetched(std::string_view id, const std::vector<std::string>& queues, size_t jobs,
               int64_t now_ms);
  void finished(std::string_view id, size_t jobs, int64_t now_ms);
  void beat(std::string_view id, size_t active, int64_t now_ms);
  void says(std::string_view id, std::string_view state, int64_t now_ms);
  void introduces(std::string_view id, const WorkerSelf& self, int64_t now_ms);
  // False if no such worker has been seen. "" revokes an earlier directive.
  bool tell(std::string_view id, std::string_view directive);
  void forget(std::string_view id);
  // Sets the directive of all workers, and returns their number.
  size_t tell_all(std::string_view directive);
  // The directive of a worker that another node has seen; it counts as not seen here.
  void tell_ahead(std::string_view id, std::string_view directive);
  // running, quiet or terminate; "running" for an unknown worker.
  std::string state(std::string_view id) const;
  bool may_fetch(std::string_view id) const;
  std::vector<WorkerInfo> list(int64_t now_ms) const;
  bool find(std::string_view id, WorkerInfo& out) const;
  // When a worker last asked for this queue (scoped name); 0 = never.
  int64_t queue_last_asked_ms(std::string_view scoped) const;

 private:
  static constexpr size_t kWorkersMax = 10'000;
  static constexpr int64_t kForgetAfterMs = 3600 * 1000;

  WorkerInfo* need(std::string_view id, int64_t now_ms);

  mutable std::mutex mutex_;
  std::map<std::string, WorkerInfo, std::less<>> workers_;
  std::map<std::string, int64_t, std::less<>> queue_asked_;
};

}  // namespace pawl::api
