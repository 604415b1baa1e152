// EngineLoop: the core on its own thread, with a committer thread.
//
// submit() hands tasks over; the engine thread decides them into the open batch; a batch is
// committed with one fsync, on the committer while more is being decided, or in place when nothing
// else waits (this saves a thread switch in the latency of a single request). Only then are the
// tasks of the batch answered (D3).
//
// Small tasks take precedence over large ones: a heavy task, or the turn of a run, does not begin
// during a commit of megabytes or while the store is congested, and a heavy task not in a batch
// with other tasks. So a small request waits for one piece of heavy work
// and its commit, never for two.
//
// When the store fails, the memory is ahead of the disk, so it is discarded. Every waiting or new
// task is refused with the store's error, parked ones too, and failed() reports it; tasks that only
// read are answered from durable data, as long as the disk can be read. The engine asks the store
// to reopen, after a pause that grows from kRetryMsMin to kRetryMsMax; once that succeeds, the
// state is recovered as after a restart: effects are requested again, listeners get records that
// turned out to be durable, and tasks are accepted again. A damaged store (Corrupt) is not
// reopened.
//
// Threads: submit(), failed(), stats(), pulse() and listeners' (un)subscribing from any; the rest
// from the one that starts and stops it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/config.h"
#include "engine/outgoing.h"

namespace pawl {

class Core;
struct Recovery;
enum class RunTurns : uint8_t;

struct EngineStats {
  uint64_t outages = 0;      // of the store
  uint64_t quarantined = 0;  // runs and jobs
  uint64_t batches = 0;
  uint64_t commit_us = 0;  // that they took to become durable, in all
  uint64_t tasks = 0;
  uint64_t journal_head = 0;
  size_t inputs_waiting = 0;
  size_t parked = 0;
  size_t jobs_resident = 0;
  size_t dirty = 0;
};

// The duration of the engine's current work, for a watchdog. An idle engine takes a turn each
// second.
struct EnginePulse {
  int64_t turn_age_ms = 0;    // since its last turn began
  int64_t commit_age_ms = 0;  // since the current commit began; 0 = none
};

// A durable record, passed to listeners of the journal. Called on the committing thread, so it must
// not wait.
using RecordListener =
    std::function<void(uint64_t number, const std::shared_ptr<const std::string>& record)>;

class EngineLoop {
 public:
  static constexpr int64_t kRetryMsMin = 200;
  static constexpr int64_t kRetryMsMax = 2'000;

  static Result<std::unique_ptr<EngineLoop>> start(Store& store, const EngineConfig& config,
                                                   Clock& clock, Random& random);
  ~EngineLoop();

  // Overloaded when too many tasks wait; the task was not taken.
  Status submit(TaskPtr task);
  // Submits many tasks at once. Tasks that do not fit are refused immediately.
  void submit(std::vector<TaskPtr>& tasks);

  // Decides and commits submitted tasks, writes the rows, and ends the threads. Parked tasks are
  // decided for the last time.
  void stop();

  // Why tasks are refused at present, if they are.
  std::optional<Error> failed() const;
  EngineStats stats() const;
  uint16_t partition() const { return config_.core.state.partition; }
  EnginePulse pulse() const;  // takes no lock: it works even if the engine is stuck
  const Recovery& recovery() const { return *recovery_; }  // of the last start

  uint64_t listen(RecordListener listener);
  void unlisten(uint64_t id);

 private:
  EngineLoop(const EngineConfig& config, std::unique_ptr<Core> core, Store& store, Clock& clock,
             Random& random);
  void run();
  void run_committer();
  bool wait_for_work();
  void work();
  void decide_inputs();
  RunTurns turns_now() const;
  bool heavy_must_wait() const;
  bool may_read() const;
  void decide_read(TaskPtr task);
  void commit_if_wanted(bool idle);
  void commit_now(ClosedBatch& closed);
  void finish_commit();
  static Error outage_of(const Error& error);
  void note_failure(const Error& error);
  void go_down();
  void refuse_while_down();
  void answer_from_disk(const TaskPtr& task);
  int64_t retry_in_ms() const;
  void come_back();
  Status reopen();
  void quarantine();
  void open_to_read();
  Status publish_found();
  void answer_parked();
  void publish(uint64_t number, std::string&& record);
  void note_stats();

  EngineConfig config_;
  const FollowRecord follow_;
  std::unique_ptr<Core> core_;
  Store& store_;
  Clock& clock_;
  Random& random_;
  std::unique_ptr<const Recovery> recovery_;

  mutable std::mutex mutex_;
  std::condition_variable engine_wakes_;
  std::condition_variable committer_wakes_;
  std::vector<TaskPtr> inputs_;   // guarded by mutex_
  bool engine_waits_ = false;     // guarded by mutex_
  bool stopping_ = false;         // guarded by mutex_
  bool to_commit_ = false;        // guarded by mutex_: in_flight_ belongs to the committer
  bool commit_done_ = false;      // guarded by mutex_: in_flight_ belongs to the engine again
  bool committer_ends_ = false;   // guarded by mutex_
  std::optional<Error> failure_;  // guarded by mutex_
  EngineStats stats_;             // guarded by mutex_

  std::deque<TaskPtr> heavy_;      // engine thread
  std::deque<TaskPtr> reads_;      // engine thread: deferred to a later batch
  int64_t reads_ns_ = 0;           // engine thread: time of the reads in the open batch
  uint32_t heavy_stood_back_ = 0;  // engine thread: batches in a row
  std::vector<TaskPtr> deciding_;  // engine thread
  size_t next_ = 0;                // engine thread: in deciding_
  bool committing_ = false;        // engine thread
  bool in_flight_heavy_ = false;   // engine thread: the current commit has megabytes
  ClosedBatch in_flight_;
  uint64_t published_ = 0;  // the newest record passed to listeners; used by the committing thread

  // Engine thread. While down, core_ holds what is durable, or is null if that cannot be read.
  bool down_ = false;
  std::chrono::steady_clock::time_point down_since_;
  std::chrono::steady_clock::time_point retry_at_;
  std::chrono::milliseconds retry_pause_{0};

  std::atomic<int64_t> turn_began_ms_{0};    // steady clock
  std::atomic<int64_t> commit_began_ms_{0};  // 0 = no commit is under way

  std::mutex listeners_mutex_;
  std::vector<std::pair<uint64_t, RecordListener>> listeners_;
  std::atomic<size_t> listener_count_{0};
  uint64_t listener_ids_ = 0;

  std::thread committer_;
  std::thread thread_;
};

}  // namespace pawl
