// Support for engine tests: a clock that the test moves, repeatable randomness, tasks that record
// their outcome, and a core driven by hand. Test code.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/core.h"
#include "kernel/kernel_test_world.h"
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

  std::optional<Parking> decide(Frame& frame, bool last_call) override {
    std::string found;
    auto parking = decide_(frame, last_call, found);
    std::lock_guard lock(mutex_);
    found_ = std::move(found);
    return parking;
  }
  void durable(Wakes&) override { settle("ok " + found_); }
  void refuse(const Error& error) override {
    settle("refused " + std::string(wire_code(error.code)));
  }

  std::string outcome() const {
    std::lock_guard lock(mutex_);
    return outcome_.empty() ? "waits" : outcome_;
  }
  // Blocks until it is answered or refused.
  std::string wait() const {
    settled_.wait(false);
    return outcome();
  }

 private:
  void settle(std::string outcome) {
    {
      std::lock_guard lock(mutex_);
      PAWL_CHECK(outcome_.empty());  // answered once
      outcome_ = std::move(outcome);
    }
    settled_ = true;
    settled_.notify_all();
  }

  Decide decide_;
  mutable std::mutex mutex_;
  std::string found_;
  std::string outcome_;
  std::atomic<bool> settled_{false};
};
using TestTaskPtr = std::shared_ptr<TestTask>;

inline TestTaskPtr push_task(const NewJob& job = new_job()) {
  return std::make_shared<TestTask>(
      [job](Frame& frame, bool, std::string& found) -> std::optional<Parking> {
        auto pushed = push_jobs(frame, {job});
        found = pushed.ok() ? "pushed" : std::string(wire_code(pushed.error().code));
        return std::nullopt;
      });
}

// Takes one job, and waits for one until wait_ms have passed. Finds the job's type.
inline TestTaskPtr fetch_task(std::vector<std::string> queues, int64_t wait_ms,
                              const std::string& worker = "w1") {
  auto until_ms = std::make_shared<int64_t>(0);
  return std::make_shared<TestTask>(
      [=](Frame& frame, bool last_call, std::string& found) -> std::optional<Parking> {
        if (*until_ms == 0) *until_ms = frame.now_ms() + wait_ms;
        FetchJobs command{.queues = queues, .count = 1, .worker = worker};
        command.visibility_default_ms = kTestLeaseMs;
        Fetched fetched = fetch_jobs(frame, command);
        if (fetched.jobs.empty() && !last_call)
          return Parking{queues, *until_ms, fetched.retry_at_ms};
        for (const JobId& id : fetched.jobs)
          found += type_of_spec(frame.state().find_job(id)->spec);
        if (fetched.jobs.empty()) found = "empty";
        return std::nullopt;
      });
}

// Finishes the active job of this type.
inline TestTaskPtr ack_task(const std::string& type) {
  return std::make_shared<TestTask>(
      [=](Frame& frame, bool, std::string& found) -> std::optional<Parking> {
        JobId active;
        frame.state().each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
          if (job.state == JobState::Active && type_of_spec(job.spec) == type) active = job.id;
          return true;
        });
        found = ack_job(frame, {active, "", 0}, "").ok() ? "acked" : "nobody";
        return std::nullopt;
      });
}

inline NewJob typed(const std::string& type, NewJob base = {}) {
  base.type = type;
  return new_job(base);
}

// A store that forwards to another one until it is told to fail.
class FailingStore : public Store {
 public:
  explicit FailingStore(Store& inner) : inner_(inner) {}

  void fail_reads(ErrorCode code) { reads_ = code; }
  void fail_commits(ErrorCode code) { commits_ = code; }
  int reopened() const { return reopened_; }

  Status commit(const Batch& batch) override {
    PAWL_TRY_DO(as_told(commits_));
    return inner_.commit(batch);
  }
  Result<std::optional<std::string>> get(uint8_t space, std::string_view key) override {
    PAWL_TRY_DO(as_told(reads_));
    return inner_.get(space, key);
  }
  Status scan(uint8_t space, std::string_view from, std::string_view to, bool reverse, size_t limit,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    PAWL_TRY_DO(as_told(reads_));
    return inner_.scan(space, from, to, reverse, limit, visit);
  }
  Status read_journal(uint64_t from, size_t limit,
                      FunctionRef<bool(uint64_t, std::string_view)> visit) override {
    return inner_.read_journal(from, limit, visit);
  }
  uint64_t journal_first() const override { return inner_.journal_first(); }
  uint64_t journal_last() const override { return inner_.journal_last(); }
  Status backup(const std::string& path, FunctionRef<void(uint64_t, uint64_t)> step) override {
    return inner_.backup(path, step);
  }
  StoreStats stats() const override { return inner_.stats(); }
  Status reopen() override { return ++reopened_, ok_status(); }

 private:
  using Fault = std::atomic<std::optional<ErrorCode>>;
  static Status as_told(const Fault& fault) {
    if (auto code = fault.load()) return Error{*code, "the disk does not answer"};
    return ok_status();
  }

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
  SealedBatch commit(bool idle = false) {
    SealedBatch sealed = core->seal(idle);
    PAWL_CHECK(store->commit(sealed.batch).ok());
    core->committed(sealed);
    Core::release(sealed);
    return sealed;
  }
  void advance(int64_t ms) {
    clock.now += ms;
    while (core->tick()) {
    }
  }
  // Commits and writes all rows, as after an idle moment.
  void flush() {
    do {
      commit(true);
    } while (core->has_dirty());
  }
  // Memory is lost, and with it what was not committed.
  void crash() {
    core = nullptr;
    store = nullptr;
    open();
  }
  const Queue& queue(const std::string& name = "q") const {
    const Queue* found = core->state().find_queue(name);
    PAWL_CHECK(found != nullptr);
    return *found;
  }

  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  TestClock clock;
  TestRandom random;
  std::unique_ptr<Store> store;
  std::unique_ptr<Core> core;

 private:
  void open() {
    store = std::move(open_memory(disk)).value();
    core = std::move(Core::open(*store, config_, clock, random)).value();
  }

  CoreConfig config_;
};

}  // namespace pawl
