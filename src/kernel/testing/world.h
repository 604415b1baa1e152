// World: a partition small enough for a test to read. Every call is one frame and one journal
// record, and returns its events as text.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "kernel/cold.h"
#include "kernel/frame.h"
#include "kernel/jobs/fetch_jobs.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/mutable_state.h"
#include "kernel/state_config.h"
#include "kernel/testing/event_story.h"

namespace pawl {

class MapCold : public Cold {
 public:
  std::optional<std::string> get(Space space, std::string_view key) override;
  void scan(Space space, std::string_view from, std::string_view to, bool reverse, size_t limit,
            FunctionRef<bool(std::string_view, std::string_view)> visit) override;

  void write(const std::vector<Row>& written);

  std::map<Space, std::map<std::string, std::string, std::less<>>> rows;
  std::map<Space, size_t> gets;  // how often a row was read
  bool broken = false;           // every read fails

 private:
  void check() const;
};

struct TestSpec {
  RetryPolicy retry = {.max_attempts = 3,
                       .initial_ms = 1000,
                       .coefficient_milli = 2000,
                       .max_ms = 300'000,
                       .no_jitter = true};
  int64_t timeout_ms = 0;
  int64_t visibility_ms = 0;
};

// Of type "t", in queue "q" unless the base names another.
NewJob new_job(NewJob base = {}, const TestSpec& wanted = {});

constexpr int64_t kWorldStartMs = 1'700'000'000'000;  // Tuesday, 2023-11-14 22:13:20 UTC
constexpr int64_t kTestLeaseMs = 30'000;

class World {
 public:
  explicit World(const StateConfig& config = {});

  // --- inputs; each returns its events as text
  std::string frame(FunctionRef<std::string(Frame&)> decide);

  std::string push(const std::vector<NewJob>& jobs);
  std::string push(const NewJob& job = new_job()) { return push(std::vector{job}); }
  std::string fetch(FetchJobs command);
  std::string fetch(uint32_t count = 1) { return fetch(FetchJobs{.queues = {}, .count = count}); }
  std::string ack(const std::string& job, const std::string& worker = "", uint32_t attempt = 0,
                  const std::string& result = "");
  std::string nack(const std::string& job, JobError error = {.code = "E", .type = "E"});
  std::string nack(const NackJob& command);
  std::string give_back(const std::string& job);
  std::string extend(const std::string& job, const std::string& worker, int64_t asked_ms = 0);
  std::string cancel(const std::string& job);
  std::string activate(const std::string& job);
  std::string revive(const std::string& job);
  std::string drop_dead(const std::string& job);
  std::string configure(const std::string& queue, FunctionRef<void(QueueSettings&)> edit);
  // Advances the time, and fires due timers.
  std::string advance(int64_t ms);

  // --- reading
  const State& state() const { return *state_; }
  MutableState& mutable_state() { return *state_; }
  const Job& job(const std::string& name) const;
  std::string_view state_of(const std::string& name) const;
  const std::vector<std::string>& journal() const { return journal_; }
  // Queues with newly available jobs since the last call.
  std::string take_ready();

  // --- rows: as in the engine, but at times chosen by the test
  void collect(size_t max);
  void commit_rows();
  void evict() { state_->evict(); }
  // The state after a restart: the durable rows, and the journal from their tail on.
  std::unique_ptr<MutableState> recovered(Cold& rows) const;
  // Loses the memory, and collected rows that are not committed.
  void restart();
  Status fold(MutableState& state, uint64_t from) const;
  template <class T>
  std::string refused(const Result<T>& result) {
    return result.ok() ? "" : refused(result.error());
  }

  MapCold cold;
  JobNames names;
  int64_t now_ms = kWorldStartMs;

 private:
  std::string refused(const Error& error);
  std::string close_record();

  StateConfig config_;
  std::unique_ptr<MutableState> state_;
  journal::RecordWriter record_{1};
  std::vector<std::string> journal_;  // record n at n - 1
  std::deque<std::pair<std::vector<Row>, uint64_t>> written_;
  uint64_t tail_ = 0;
  uint64_t inputs_ = 0;
};

}  // namespace pawl
