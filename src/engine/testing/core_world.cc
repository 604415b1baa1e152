#include "engine/testing/core_world.h"

#include "kernel/scripts/run.h"

namespace pawl {

std::optional<Parking> TestTask::decide(Frame& frame, bool last_call) {
  std::string found;
  auto parking = decide_(frame, last_call, found);
  std::lock_guard lock(mutex_);
  found_ = std::move(found);
  return parking;
}

void TestTask::refuse(const Error& error) {
  settle("refused " + std::string(wire_code(error.code)));
}

std::string TestTask::outcome() const {
  std::lock_guard lock(mutex_);
  return outcome_.empty() ? "waits" : outcome_;
}

std::string TestTask::wait() const {
  settled_.wait(false);
  return outcome();
}

void TestTask::settle(std::string outcome) {
  {
    std::lock_guard lock(mutex_);
    PAWL_CHECK(outcome_.empty());  // answered once
    outcome_ = std::move(outcome);
  }
  settled_ = true;
  settled_.notify_all();
}

TestTaskPtr push_task(const NewJob& job) {
  return std::make_shared<TestTask>(
      [job](Frame& frame, bool, std::string& found) -> std::optional<Parking> {
        auto pushed = push_jobs(frame, {job});
        found = pushed.ok() ? "pushed" : std::string(wire_code(pushed.error().code));
        return std::nullopt;
      });
}

TestTaskPtr fetch_task(std::vector<std::string> queues, int64_t wait_ms,
                       const std::string& worker) {
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

TestTaskPtr ack_task(const std::string& type) {
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

NewJob typed(const std::string& type, NewJob base) {
  base.type = type;
  return new_job(base);
}

Status FailingStore::commit(const Batch& batch) {
  PAWL_TRY_DO(as_told(commits_));
  return inner_.commit(batch);
}

Result<std::optional<std::string>> FailingStore::get(uint8_t space, std::string_view key) {
  PAWL_TRY_DO(as_told(reads_));
  return inner_.get(space, key);
}

Status FailingStore::scan(uint8_t space, std::string_view from, std::string_view to, bool reverse,
                          size_t limit,
                          FunctionRef<bool(std::string_view, std::string_view)> visit) {
  PAWL_TRY_DO(as_told(reads_));
  return inner_.scan(space, from, to, reverse, limit, visit);
}

Status FailingStore::read_journal(uint64_t from, size_t limit,
                                  FunctionRef<bool(uint64_t, std::string_view)> visit) {
  return inner_.read_journal(from, limit, visit);
}

Status FailingStore::backup(const std::string& path, FunctionRef<void(uint64_t, uint64_t)> step) {
  return inner_.backup(path, step);
}

Status FailingStore::as_told(const Fault& fault) {
  if (auto code = fault.load()) return Error{*code, "the disk does not answer"};
  return ok_status();
}

ClosedBatch CoreWorld::commit(bool idle) {
  ClosedBatch closed = core->close_batch(idle);
  PAWL_CHECK(store->commit(closed.batch).ok());
  core->committed(closed);
  Core::release(closed);
  return closed;
}

void CoreWorld::advance(int64_t ms) {
  clock.now += ms;
  while (core->tick()) {
  }
}

void CoreWorld::flush() {
  do {
    commit(true);
  } while (core->has_dirty());
}

void CoreWorld::crash() {
  core = nullptr;
  store = nullptr;
  open();
}

const Queue& CoreWorld::queue(const std::string& name) const {
  const Queue* found = core->state().find_queue(name);
  PAWL_CHECK(found != nullptr);
  return *found;
}

void CoreWorld::open() {
  store = std::move(open_memory(disk)).value();
  core = std::move(Core::open(*store, config_, clock, random)).value();
}

}  // namespace pawl
