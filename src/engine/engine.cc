#include "engine/engine.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/working_on.h"
#include "engine/core.h"
#include "kernel/scripts/run.h"

namespace pawl {
namespace {

constexpr int64_t kLongestWaitMs = 1000;  // so that a clock set forward is noticed
constexpr int64_t kIdleBeforeFlushMs = 50;
constexpr int64_t kCongestionMs = 2;  // pause before the next check
constexpr uint32_t kBatchesStoodBackMax = 8;
constexpr size_t kInPlaceTasksMax =
    8;  // a batch this small, with nothing behind it, is committed on the engine thread

int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Result<std::unique_ptr<EngineLoop>> EngineLoop::start(Store& store, const EngineConfig& given,
                                                      Clock& clock, Random& random) {
  EngineConfig config = given;
  WatchedThread watched;
  if (config.crash_book != nullptr)
    for (const Suspect& suspect : config.crash_book->suspects())
      if (suspect.fold_sequence != 0)
        config.core.skipped.add(suspect.id, {suspect.fold_sequence,
                                             journal::sequence(store.journal_last() + 1, 0) - 1});
  PAWL_TRY(std::unique_ptr<Core> core, Core::open(store, config.core, clock, random));
  std::unique_ptr<EngineLoop> engine(new EngineLoop(config, std::move(core), store, clock, random));
  engine->quarantine();
  engine->committer_ = std::thread([raw = engine.get()] { raw->run_committer(); });
  engine->thread_ = std::thread([raw = engine.get()] { raw->run(); });
  return engine;
}

EngineLoop::EngineLoop(const EngineConfig& config, std::unique_ptr<Core> core, Store& store,
                       Clock& clock, Random& random)
    : config_(config),
      follow_(
          [this](uint64_t number, std::string&& record) { publish(number, std::move(record)); }),
      core_(std::move(core)),
      store_(store),
      clock_(clock),
      random_(random),
      recovery_(std::make_unique<Recovery>(core_->recovery())),
      published_(core_->journal_head()) {
  stats_.journal_head = published_;
  turn_began_ms_ = steady_ms();
}

EngineLoop::~EngineLoop() { stop(); }

void EngineLoop::quarantine() {
  if (config_.crash_book == nullptr) return;
  CrashBook& book = *config_.crash_book;
  size_t ended = core_->quarantine(book.suspects(), [&book](const Uuid& id) { book.settled(id); });
  if (ended == 0) return;
  log::error("quarantined work that crashed the server; 'pawl runs release ID' retries a run",
             {{"count", std::to_string(ended)}});
  std::lock_guard lock(mutex_);
  stats_.quarantined += ended;
}

Status EngineLoop::submit(TaskPtr task) {
  {
    std::lock_guard lock(mutex_);
    if (failure_ && !task->only_reads()) return *failure_;
    if (stopping_) return Error{ErrorCode::Unavailable, "the server is stopping"};
    if (inputs_.size() >= config_.inputs_max)
      return Error{ErrorCode::Overloaded, "too many requests are waiting; try again shortly"};
    inputs_.push_back(std::move(task));
    if (!engine_waits_) return ok_status();
  }
  engine_wakes_.notify_one();
  return ok_status();
}

void EngineLoop::submit(std::vector<TaskPtr>& tasks) {
  if (tasks.empty()) return;
  std::optional<Error> refusal;
  bool wake = false;
  auto refused = tasks.begin();
  {
    std::lock_guard lock(mutex_);
    if (stopping_) {
      refusal = Error{ErrorCode::Unavailable, "the server is stopping"};
    } else {
      refused = failure_
                    ? std::stable_partition(tasks.begin(), tasks.end(),
                                            [](const TaskPtr& task) { return task->only_reads(); })
                    : tasks.end();
      auto room =
          static_cast<ptrdiff_t>(config_.inputs_max - std::min(inputs_.size(), config_.inputs_max));
      bool full = refused - tasks.begin() > room;
      if (full) refused = tasks.begin() + room;
      inputs_.insert(inputs_.end(), tasks.begin(), refused);
      if (failure_) {
        refusal = failure_;
      } else if (full) {
        refusal = Error{ErrorCode::Overloaded, "too many requests are waiting; try again shortly"};
      }
      wake = engine_waits_;
    }
  }
  if (wake) engine_wakes_.notify_one();
  for (auto task = refused; task != tasks.end(); ++task) (*task)->refuse(*refusal);
  tasks.clear();
}

void EngineLoop::stop() {
  {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) return;
    stopping_ = true;
  }
  engine_wakes_.notify_one();
  thread_.join();
  {
    std::lock_guard lock(mutex_);
    committer_ends_ = true;
  }
  committer_wakes_.notify_one();
  committer_.join();
}

std::optional<Error> EngineLoop::failed() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

EngineStats EngineLoop::stats() const {
  std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.inputs_waiting = inputs_.size();
  return stats;
}

EnginePulse EngineLoop::pulse() const {
  const int64_t turn = turn_began_ms_.load(std::memory_order_relaxed);
  const int64_t commit = commit_began_ms_.load(std::memory_order_relaxed);
  const int64_t now = steady_ms();
  return {.turn_age_ms = std::max<int64_t>(now - turn, 0),
          .commit_age_ms = commit == 0 ? 0 : std::max<int64_t>(now - commit, 0)};
}

uint64_t EngineLoop::listen(RecordListener listener) {
  std::lock_guard lock(listeners_mutex_);
  listeners_.emplace_back(++listener_ids_, std::move(listener));
  listener_count_ = listeners_.size();
  return listener_ids_;
}

void EngineLoop::unlisten(uint64_t id) {
  std::lock_guard lock(listeners_mutex_);
  std::erase_if(listeners_, [&](const auto& entry) { return entry.first == id; });
  listener_count_ = listeners_.size();
}

// --- the engine thread

void EngineLoop::run() {
  WatchedThread watched;
  while (wait_for_work()) {
    turn_began_ms_.store(steady_ms(), std::memory_order_relaxed);
    if (down_) refuse_while_down();
    if (!down_) work();
    if (!down_ && failed()) go_down();
  }
  if (down_) return;
  if (!failed()) core_->end_waits();
  answer_parked();
  while (!failed() && (core_->wants_commit() || core_->has_dirty() || committing_)) {
    finish_commit();
    if (committing_) continue;
    commit_if_wanted(true);
  }
  finish_commit();
  if (auto error = failed()) {
    ClosedBatch rest = core_->close_batch(false);
    Core::refuse(rest, *error);
  }
}

RunTurns EngineLoop::turns_now() const {
  return in_flight_heavy_ || store_.congested() || core_->owes_rows() ? RunTurns::Leave
                                                                      : RunTurns::Take;
}

// Heavy tasks wait for a large commit to end, for rows to be written (which bounds the restart),
// for the disk to catch up, or for the open batch to leave: its tasks should not wait for megabytes
// too.
bool EngineLoop::heavy_must_wait() const {
  if (in_flight_heavy_ || (committing_ && core_->tail_long()) || store_.congested()) return true;
  return core_->holds_tasks() && heavy_stood_back_ < kBatchesStoodBackMax;
}

void EngineLoop::work() {
  decide_inputs();
  if (core_->next_tick_ms(turns_now()) <= clock_.now_ms()) core_->tick(turns_now());
  if (core_->unreadable()) note_failure(*core_->unreadable());
  commit_if_wanted(false);
  note_stats();
}

// Sleeps until there are inputs, a commit has ended, or something is due; false when stopping.
bool EngineLoop::wait_for_work() {
  bool work_left = next_ < deciding_.size() || (!heavy_.empty() && (down_ || !heavy_must_wait())) ||
                   (!reads_.empty() && (down_ || may_read()));
  bool flush_wanted = !down_ && !committing_ && core_->has_dirty();
  std::unique_lock lock(mutex_);
  if (failure_) flush_wanted = false;
  if (!down_ && committing_ && core_->batch_full()) {  // nothing can be done before the commit has
                                                       // ended
    engine_waits_ = true;
    engine_wakes_.wait(lock, [&] { return commit_done_; });
    engine_waits_ = false;
  }
  auto ready = [&] { return !inputs_.empty() || commit_done_ || stopping_; };
  if (!work_left && !ready()) {
    int64_t wait_ms = down_ ? retry_in_ms() : core_->next_tick_ms(turns_now()) - clock_.now_ms();
    wait_ms = std::clamp<int64_t>(wait_ms, 0, kLongestWaitMs);
    if (!down_ && !committing_ && (core_->has_asked() || core_->owes_rows())) wait_ms = 0;
    if (!down_ && store_.congested()) wait_ms = std::min(wait_ms, kCongestionMs);
    if (flush_wanted) wait_ms = std::min(wait_ms, kIdleBeforeFlushMs);
    engine_waits_ = true;
    bool woken = engine_wakes_.wait_for(lock, std::chrono::milliseconds(wait_ms), ready);
    engine_waits_ = false;
    if (!woken && flush_wanted && wait_ms == kIdleBeforeFlushMs) {
      lock.unlock();
      commit_if_wanted(true);
      lock.lock();
    }
  }
  if (commit_done_) {
    lock.unlock();
    finish_commit();
    lock.lock();
  }
  if (next_ >= deciding_.size() && !inputs_.empty()) {
    deciding_.clear();
    deciding_.swap(inputs_);
    next_ = 0;
    work_left = true;
  }
  return work_left || !heavy_.empty() || !reads_.empty() || !stopping_;
}

bool EngineLoop::may_read() const { return reads_ns_ <= config_.reads_ns_max; }

void EngineLoop::decide_read(TaskPtr task) {
  const auto begun = std::chrono::steady_clock::now();
  core_->decide(std::move(task));
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begun;
  reads_ns_ += std::max<int64_t>(took.count(), 1);
}

// Heavy tasks are deferred while lighter ones arrive, but not for ever. The reads of one batch
// share a time budget; further reads follow all writes.
void EngineLoop::decide_inputs() {
  bool light = false;
  const size_t heavy_from = store_.congested() ? Task::kLargeBytes : Task::kHeavyBytes;
  while (next_ < deciding_.size() && !core_->batch_full()) {
    TaskPtr task = std::move(deciding_[next_++]);
    if (task->weight() >= heavy_from) {
      heavy_.push_back(std::move(task));
    } else if (task->only_reads()) {
      if (reads_.empty() && may_read()) {
        decide_read(std::move(task));
      } else {
        reads_.push_back(std::move(task));
      }
    } else {
      core_->decide(std::move(task));
      light = true;
    }
  }
  const bool commit_first = light && !committing_;  // the reads run during the commit
  while (!reads_.empty() && may_read() && !commit_first && !core_->batch_full()) {
    decide_read(std::move(reads_.front()));
    reads_.pop_front();
  }
  if (heavy_.empty() || heavy_must_wait()) return;
  if (core_->tail_long()) return commit_if_wanted(true);
  heavy_stood_back_ = 0;
  while (!heavy_.empty() && !core_->batch_full()) {
    core_->decide(std::move(heavy_.front()));
    heavy_.pop_front();
  }
}

void EngineLoop::commit_if_wanted(bool idle) {
  if (committing_ || failed()) return;
  if (!core_->wants_commit() && !(idle && core_->has_dirty())) return;
  ClosedBatch closed = core_->close_batch(idle);
  reads_ns_ = 0;
  if (!heavy_.empty()) ++heavy_stood_back_;
  if (core_->unreadable()) {
    note_failure(*core_->unreadable());
    return Core::refuse(closed, outage_of(*core_->unreadable()));
  }
  if (closed.empty()) {
    Core::release(closed);
    return;
  }
  const bool heavy = closed.bytes() >= Task::kHeavyBytes;
  bool alone = next_ == deciding_.size() && heavy_.empty() && reads_.empty() && !heavy &&
               closed.outgoing.answers.size() <= kInPlaceTasksMax;
  if (alone) {
    std::lock_guard lock(mutex_);
    alone = inputs_.empty();
  }
  if (alone) {
    commit_now(closed);
    if (!failed()) core_->committed(closed);
    return;
  }
  in_flight_ = std::move(closed);
  committing_ = true;
  in_flight_heavy_ = heavy;
  {
    std::lock_guard lock(mutex_);
    to_commit_ = true;
  }
  committer_wakes_.notify_one();
}

// Waits for a running commit, and takes its result.
void EngineLoop::finish_commit() {
  if (!committing_) return;
  {
    std::unique_lock lock(mutex_);
    engine_waits_ = true;
    engine_wakes_.wait(lock, [&] { return commit_done_; });
    engine_waits_ = false;
    commit_done_ = false;
  }
  committing_ = in_flight_heavy_ = false;
  if (!failed()) core_->committed(in_flight_);
}

void EngineLoop::answer_parked() {
  std::optional<Error> error = failed();
  for (TaskPtr& task : core_->take_parked()) {
    task->refuse(error ? *error : Error{ErrorCode::Unavailable, "the server is stopping"});
  }
}

void EngineLoop::note_failure(const Error& error) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = outage_of(error);
}

void EngineLoop::note_stats() {
  StateCounts counts = core_->state().counts();
  std::lock_guard lock(mutex_);
  stats_.parked = core_->parked();
  stats_.jobs_resident = counts.jobs_resident;
  stats_.dirty = counts.dirty;
  stats_.journal_head = core_->journal_head();
}

// --- committing, on either thread

void EngineLoop::commit_now(ClosedBatch& closed) {
  commit_began_ms_.store(steady_ms(), std::memory_order_relaxed);
  const auto begun = std::chrono::steady_clock::now();
  Status status = store_.commit(closed.batch);
  const auto took = std::chrono::steady_clock::now() - begun;
  commit_began_ms_.store(0, std::memory_order_relaxed);
  size_t tasks = closed.outgoing.answers.size();
  if (!status.ok()) {
    note_failure(status.error());
    Core::refuse(closed, outage_of(status.error()));
    return;
  }
  Core::release(closed, follow_);
  std::lock_guard lock(mutex_);
  ++stats_.batches;
  stats_.commit_us +=
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  stats_.tasks += tasks;
}

void EngineLoop::publish(uint64_t number, std::string&& record) {
  published_ = number;
  if (listener_count_ == 0) return;
  const auto shared = std::make_shared<const std::string>(std::move(record));
  std::lock_guard lock(listeners_mutex_);
  for (auto& [id, listener] : listeners_) listener(number, shared);
}

void EngineLoop::run_committer() {
  WatchedThread watched;
  std::unique_lock lock(mutex_);
  while (true) {
    committer_wakes_.wait(lock, [&] { return to_commit_ || committer_ends_; });
    if (!to_commit_) return;
    to_commit_ = false;
    lock.unlock();
    commit_now(in_flight_);
    lock.lock();
    commit_done_ = true;
    engine_wakes_.notify_one();
  }
}

}  // namespace pawl
