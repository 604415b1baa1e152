// Support for engine tests: a clock that the test moves, repeatable randomness, tasks that record
// their outcome, and a core driven by hand.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/core.h"
#include "kernel/testing/world.h"
#include "store/memory_store.h"

namespace pawl {

class TestClock : public Clock {
 public:
  int64_t now_ms() override { return now.load(); }
  std::atomic<int64_t> now{kWorldStartMs};
};

class TestRandom : public Random {
 public:
  uint64_t next() override { return mix64(++draws_); }

 private:
  uint64_t draws_ = 0;
};

// Decides by a function; its outcome is "waits", "ok <what it found>" or "refused <code>".
class TestTask : public Task {
 public:
  using Decide = std::function<std::optional<Parking>(Frame&, bool last_call, std::string& found)>;
  explicit TestTask(Decide decide) : decide_(std::move(decide)) {}

  std::optional<Parking> decide(Frame& frame, bool last_call) override;
  void durable(Wakes&) override { settle("ok " + found_); }
  void refuse(const Error& error) override;

  std::string outcome() const;
  // Blocks until it is answered or refused.
  std::string wait() const;

 private:
  void settle(std::string outcome);

  Decide decide_;
  mutable std::mutex mutex_;
  std::string found_;
  std::string outcome_;
  std::atomic<bool> settled_{false};
};
using TestTaskPtr = std::shared_ptr<TestTask>;

TestTaskPtr push_task(const NewJob& job = new_job());

// Takes one job, and waits for one until wait_ms have passed. Finds the job's type.
TestTaskPtr fetch_task(std::vector<std::string> queues, int64_t wait_ms,
                       const std::string& worker = "w1");

// Finishes the active job of this type.
TestTaskPtr ack_task(const std::string& type);

NewJob typed(const std::string& type, NewJob base = {});

// A store that forwards to another one until it is told to fail.
class FailingStore : public Store {
 public:
  explicit FailingStore(Store& inner) : inner_(inner) {}

  void fail_reads(ErrorCode code) { reads_ = code; }
  void fail_commits(ErrorCode code) { commits_ = code; }
  int reopened() const { return reopened_; }

  Status commit(const Batch& batch) override;
  Result<std::optional<std::string>> get(uint8_t space, std::string_view key) override;
  Status scan(uint8_t space, std::string_view from, std::string_view to, bool reverse, size_t limit,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override;
  Status read_journal(uint64_t from, size_t limit,
                      FunctionRef<bool(uint64_t, std::string_view)> visit) override;
  uint64_t journal_first() const override { return inner_.journal_first(); }
  uint64_t journal_last() const override { return inner_.journal_last(); }
  Status backup(const std::string& path, FunctionRef<void(uint64_t, uint64_t)> step) override;
  StoreStats stats() const override { return inner_.stats(); }
  Status reopen() override { return ++reopened_, ok_status(); }

 private:
  using Fault = std::atomic<std::optional<ErrorCode>>;
  static Status as_told(const Fault& fault);

  Store& inner_;
  Fault reads_{std::nullopt};
  Fault commits_{std::nullopt};
  std::atomic<int> reopened_{0};
};

// A core over a memory disk, committed when the test says so.
class CoreWorld {
 public:
  explicit CoreWorld(const CoreConfig& config = {}) : config_(config) { open(); }

  template <class TaskKind>
  std::shared_ptr<TaskKind> submit(std::shared_ptr<TaskKind> task) {
    core->decide(task);
    return task;
  }
  ClosedBatch commit(bool idle = false);
  void advance(int64_t ms);
  // Commits and writes all rows, as after an idle moment.
  void flush();
  // Memory is lost, and with it what was not committed.
  void crash();
  const Queue& queue(const std::string& name = "q") const;

  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  TestClock clock;
  TestRandom random;
  std::unique_ptr<Store> store;
  std::unique_ptr<Core> core;

 private:
  void open();

  CoreConfig config_;
};

}  // namespace pawl
