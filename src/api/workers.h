// WorkerRegistry: who has been fetching, and what an operator or the worker itself wants it to do.
// Seen from the calls they make; not durable, since a worker that lives calls again. Thread: any.
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
  std::string state = "running";  // as the worker said: running, quiet, drain, shutting_down …
  std::string told;               // what an operator wants of it: quiet, terminate; "" = nothing
  int64_t first_seen_ms = 0;
  int64_t last_seen_ms = 0;
  uint64_t fetched = 0;
  uint64_t finished = 0;
  uint64_t active = 0;  // as of its last heartbeat
  std::vector<std::string> queues;
  std::string hostname;  // as it said, "" = it did not
  int64_t pid = 0;

  // What counts: the operator's word, else the worker's. A worker that is leaving, in whatever
  // words, is quiet.
  std::string effective() const {
    if (!told.empty()) return told;
    return state == "running" ? state : "quiet";
  }
};

// What a worker may tell of itself beside its heartbeat; what it leaves out stays as it was.
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
  // False if no such worker has been seen. "" takes an earlier directive back.
  bool tell(std::string_view id, std::string_view directive);
  void forget(std::string_view id);
  // Tells all of them, and returns how many there are.
  size_t tell_all(std::string_view directive);
  // running, quiet or terminate; "running" for a worker that nobody knows.
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
