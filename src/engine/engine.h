// Engine: the core on a thread of its own, with a committer beside it.
//
// submit() hands tasks over; the engine thread decides them into the open batch; a batch is
// committed with one fsync, on the committer while more is being decided, or in place when nothing
// else waits (that saves a hand-over, which an idle server's only request would feel). Only then
// are the tasks of the batch answered (D3).
//
// When the store fails, every waiting and later task is refused with the store's error and failed()
// tells; the process must be restarted, since the memory is ahead of the disk.
//
// Threads: submit(), failed(), stats() and listeners' (un)subscribing from any; the rest from the
// one that starts and stops it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/core.h"

namespace pawl {

struct EngineConfig {
  CoreConfig core;
  size_t inputs_max = 65'536;  // submitted and not yet decided
  // Held while the answers of one batch are given: lets the layer above send them together.
  std::function<std::shared_ptr<void>()> around_release;
};

struct EngineStats {
  uint64_t batches = 0;
  uint64_t tasks = 0;
  uint64_t journal_head = 0;
  size_t inputs_waiting = 0;
  size_t parked = 0;
  size_t jobs_resident = 0;
  size_t dirty = 0;
};

// A durable record, handed to whoever follows the journal. Called on the committing thread: be
// quick.
using RecordListener =
    std::function<void(uint64_t number, const std::shared_ptr<const std::string>& record)>;

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> start(Store& store, const EngineConfig& config,
                                               Clock& clock, Random& random);
  ~Engine();

  // Overloaded when too much waits already; the tasks from `accepted` on were not taken.
  Status submit(TaskPtr task);
  // One hand-over for many. What does not fit is refused on the spot.
  void submit(std::vector<TaskPtr>& tasks);

  // Decides what was submitted, commits it, writes the rows, and ends the threads. Parked tasks are
  // refused.
  void stop();

  std::optional<Error> failed() const;
  EngineStats stats() const;
  Recovery recovery() const { return recovery_; }

  uint64_t listen(RecordListener listener);
  void unlisten(uint64_t id);

 private:
  Engine(const EngineConfig& config, std::unique_ptr<Core> core, Store& store, Clock& clock);
  void run();
  void run_committer();
  bool wait_for_work();
  void decide_inputs();
  void commit_if_wanted(bool idle);
  void commit_now(SealedBatch& sealed);
  void finish_commit();
  void fail(const Error& error);
  void answer_parked();
  void publish(SealedBatch& sealed);
  void note_stats();

  EngineConfig config_;
  std::unique_ptr<Core> core_;
  Store& store_;
  Clock& clock_;
  Recovery recovery_;

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

  std::vector<TaskPtr> deciding_;  // engine thread
  size_t next_ = 0;                // engine thread: in deciding_
  bool committing_ = false;        // engine thread
  SealedBatch in_flight_;

  std::mutex listeners_mutex_;
  std::vector<std::pair<uint64_t, RecordListener>> listeners_;
  std::atomic<size_t> listener_count_{0};
  uint64_t listener_ids_ = 0;

  std::thread committer_;
  std::thread thread_;
};

}  // namespace pawl
