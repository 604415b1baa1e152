// World: a partition small enough for a test to read. Every call is one frame and one journal
// record, and returns its events as text. Test code.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel/settings/cron_jobs.h"
#include "kernel/event_story.h"
#include "kernel/jobs/fetch_jobs.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/fire_timers.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/jobs/job_notes.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/settings/settings.h"

namespace pawl {

class MapCold : public Cold {
 public:
  std::optional<std::string> get(Space space, std::string_view key) override {
    check();
    ++gets[space];
    auto at = rows[space].find(key);
    return at == rows[space].end() ? std::nullopt : std::optional(at->second);
  }
  void scan(Space space, std::string_view from, std::string_view to, bool reverse, size_t limit,
            FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    check();
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [key, value] : rows[space])
      if (key >= from && (to.empty() || key < to)) found.emplace_back(key, value);
    if (reverse) found.assign(found.rbegin(), std::vector(found).rend());
    for (size_t i = 0; i < found.size() && i < limit; ++i)
      if (!visit(found[i].first, found[i].second)) return;
  }

  void write(const std::vector<Row>& written) {
    for (const Row& row : written) {
      if (row.text || row.value) {
        rows[row.space][row.key] = row.text ? *row.text : *row.value;
      } else {
        rows[row.space].erase(row.key);
      }
    }
  }

  std::map<Space, std::map<std::string, std::string, std::less<>>> rows;
  std::map<Space, size_t> gets;  // how often a row was read
  bool broken = false;           // every read fails

 private:
  void check() const {
    if (broken) throw Unreadable{Error{ErrorCode::StoreFailed, "the disk failed"}};
  }
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
inline NewJob new_job(NewJob base = {}, const TestSpec& wanted = {}) {
  JobSpec spec;
  spec.type = base.type.empty() ? "t" : base.type;
  spec.args = "[]";
  spec.retry = codec::encoded(wanted.retry);
  spec.timeout_ms = wanted.timeout_ms;
  spec.visibility_ms = wanted.visibility_ms;
  base.type = spec.type;
  base.spec = codec::encoded(spec);
  base.max_attempts = wanted.retry.max_attempts;
  if (base.queue.empty()) base.queue = "q";
  return base;
}

constexpr int64_t kWorldStartMs = 1'700'000'000'000;  // Tuesday, 2023-11-14 22:13:20 UTC
constexpr int64_t kTestLeaseMs = 30'000;

class World {
 public:
  explicit World(const StateConfig& config = {})
      : config_(config), state_(std::make_unique<MutableState>(cold, config)) {}

  // --- inputs; each returns its events as text
  template <class Decide>
  std::string frame(Decide&& decide) {
    std::string refusal;
    {
      Frame opened(*state_, record_, now_ms, mix64(++inputs_));
      refusal = decide(opened);
    }
    std::string line = seal();
    if (refusal.empty()) return line;
    return line == "nothing" ? refusal : line + " | " + refusal;
  }

  std::string push(const std::vector<NewJob>& jobs) {
    return frame([&](Frame& frame) -> std::string {
      auto pushed = push_jobs(frame, jobs);
      if (!pushed.ok()) return refused(pushed.error());
      std::string line;
      for (const Pushed& one : *pushed)
        if (!one.created) line += (line.empty() ? "" : " ") + names.of(one.id) + " is there";
      return line;
    });
  }
  std::string push(const NewJob& job = new_job()) { return push(std::vector{job}); }
  std::string fetch(FetchJobs command) {
    if (command.queues.empty()) command.queues = {"q"};
    if (command.worker.empty()) command.worker = "w1";
    command.visibility_default_ms = kTestLeaseMs;
    return frame([&](Frame& frame) -> std::string {
      Fetched fetched = fetch_jobs(frame, command);
      return fetched.retry_at_ms == 0 ? ""
                                      : "again +" + std::to_string(fetched.retry_at_ms - now_ms);
    });
  }
  std::string fetch(uint32_t count = 1) { return fetch(FetchJobs{.queues = {}, .count = count}); }
  std::string ack(const std::string& job, const std::string& worker = "", uint32_t attempt = 0,
                  const std::string& result = "") {
    return frame([&](Frame& f) {
      return refused(ack_job(f, {names.id(job), worker, attempt}, result));
    });
  }
  std::string nack(const std::string& job, JobError error = {.code = "E", .type = "E"}) {
    return nack(NackJob{{names.id(job), "", 0}, std::move(error), false});
  }
  std::string nack(const NackJob& command) {
    return frame([&](Frame& f) { return refused(nack_job(f, command)); });
  }
  std::string give_back(const std::string& job) {
    return nack(NackJob{{names.id(job), "", 0}, {}, true});
  }
  std::string extend(const std::string& job, const std::string& worker, int64_t asked_ms = 0) {
    return frame([&](Frame& f) -> std::string {
      bool renewed = extend_lease(f, {names.id(job), worker, 0}, asked_ms, kTestLeaseMs);
      return renewed ? "" : "not renewed";
    });
  }
  std::string cancel(const std::string& job) {
    return frame([&](Frame& f) { return refused(cancel_job(f, names.id(job), "asked")); });
  }
  std::string activate(const std::string& job) {
    return frame([&](Frame& f) { return refused(activate_job(f, names.id(job))); });
  }
  std::string revive(const std::string& job) {
    return frame([&](Frame& f) { return refused(revive_job(f, names.id(job))); });
  }
  std::string drop_dead(const std::string& job) {
    return frame([&](Frame& f) { return refused(delete_dead(f, names.id(job))); });
  }
  std::string configure(const std::string& queue, FunctionRef<void(QueueSettings&)> edit) {
    return frame([&](Frame& f) { return refused(configure_queue(f, queue, edit)); });
  }
  // Advances the time, and fires due timers.
  std::string advance(int64_t ms) {
    now_ms += ms;
    return frame([&](Frame& f) -> std::string {
      while (fire_timers(f, 7)) {
      }
      return "";
    });
  }

  // --- reading
  const State& state() const { return *state_; }
  MutableState& mutable_state() { return *state_; }
  const Job& job(const std::string& name) const {
    const Job* found = state_->find_job(names.id(name));
    PAWL_CHECK(found != nullptr);
    return *found;
  }
  std::string_view state_of(const std::string& name) const {
    const Job* found = state_->find_job(names.id(name));
    return found == nullptr ? "gone" : state_name(found->state);
  }
  const std::vector<std::string>& journal() const { return journal_; }
  // Queues with newly available jobs since the last call.
  std::string take_ready() {
    std::string line;
    for (const Queue* queue : state_->take_ready_queues())
      line += (line.empty() ? "" : " ") + queue->name;
    return line;
  }

  // --- rows: as in the engine, but at times chosen by the test
  void collect(size_t max) {
    std::vector<Row> rows;
    state_->collect_rows(max, rows);
    written_.emplace_back(std::move(rows), state_->tail_start(record_.next_sequence()));
  }
  void commit_rows() {
    if (written_.empty()) return;
    cold.write(written_.front().first);
    tail_ = written_.front().second;
    written_.pop_front();
    state_->rows_durable();
  }
  void evict() { state_->evict(); }
  // The state after a restart: the durable rows, and the journal from their tail on.
  std::unique_ptr<MutableState> recovered(Cold& rows) const {
    auto state = std::make_unique<MutableState>(rows, config_);
    PAWL_CHECK(state->load().ok());
    PAWL_CHECK(fold(*state, journal::record_of(tail_)).ok());
    return state;
  }
  // Loses the memory, and collected rows that are not committed.
  void restart() {
    state_ = nullptr;
    written_.clear();
    state_ = recovered(cold);
    state_->take_ready_queues();
  }
  Status fold(MutableState& state, uint64_t from) const {
    for (uint64_t number = std::max<uint64_t>(from, 1); number <= journal_.size(); ++number) {
      PAWL_TRY(auto events, journal::read_record(number, journal_[number - 1]));
      for (const auto& event : events) PAWL_TRY_DO(state.fold(event));
    }
    return ok_status();
  }
  template <class T>
  std::string refused(const Result<T>& result) {
    return result.ok() ? "" : refused(result.error());
  }

  MapCold cold;
  JobNames names;
  int64_t now_ms = kWorldStartMs;

 private:
  std::string refused(const Error& error) {
    return "rejected " + std::string(wire_code(error.code)) + ": " + names.rename(error.message);
  }
  std::string seal() {
    if (record_.empty()) return "nothing";
    uint64_t number = record_.number();
    journal_.push_back(record_.finish());
    record_.reset(number + 1);
    return EventStory(names).tell(number, journal_.back());
  }

  StateConfig config_;
  std::unique_ptr<MutableState> state_;
  journal::RecordWriter record_{1};
  std::vector<std::string> journal_;  // record n at n - 1
  std::deque<std::pair<std::vector<Row>, uint64_t>> written_;
  uint64_t tail_ = 0;
  uint64_t inputs_ = 0;
};

}  // namespace pawl
