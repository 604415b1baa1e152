#include "engine/core.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "base/working_on.h"
#include "kernel/fire_timers.h"
#include "kernel/frame.h"
#include "kernel/jobs/queue.h"
#include "kernel/quarantine.h"
#include "kernel/run_commands.h"
#include "kernel/run_family.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"

namespace pawl {
namespace {

constexpr size_t kTimersPerFrame = 512;
constexpr size_t kTurnsPerTick = 512;
constexpr uint32_t kTurnsMissedMax = 2;
constexpr uint64_t kRecallsMissedMax = 8;
constexpr uint64_t kUnitsPerEvent = 32;  // cost of deciding and applying one event, besides its
                                         // bytes

QuarantineReason reason_of(const Suspect& suspect) {
  QuarantineReason reason;
  reason.deaths = suspect.deaths;
  reason.signal = suspect.signal;
  reason.bare = suspect.deaths > CrashBook::kDeathsMax;
  reason.message = "the server died " + std::to_string(suspect.deaths) + " times in a row at " +
                   suspect.doing + " of it";
  if (suspect.signal != 0) reason.message += " (signal " + std::to_string(suspect.signal) + ")";
  return reason;
}

// Reports the quarantined runs and jobs once their quarantine is durable.
class Settled : public Task {
 public:
  Settled(std::vector<Uuid> ids, std::function<void(const Uuid&)> told)
      : ids_(std::move(ids)), told_(std::move(told)) {}

  std::optional<Parking> decide(Frame&, bool) override { return std::nullopt; }
  void durable(Wakes&) override {
    for (const Uuid& id : ids_) told_(id);
  }
  void refuse(const Error&) override {}

 private:
  std::vector<Uuid> ids_;
  std::function<void(const Uuid&)> told_;
};

}  // namespace

std::string parking_of(const RunId& run) { return "\x1e" + run.bytes(); }

Core::Core(Store& store, const CoreConfig& config, Clock& clock, Random& random)
    : store_(store),
      config_(config),
      clock_(clock),
      random_(random),
      cold_(store),
      state_(cold_, config.state),
      parked_(config.parked_max),
      retention_(config.retention, store),
      record_(store.journal_last() + 1) {}

Result<std::unique_ptr<Core>> Core::open(Store& store, const CoreConfig& config, Clock& clock,
                                         Random& random) {
  std::unique_ptr<Core> core(new Core(store, config, clock, random));
  PAWL_TRY_DO(core->recover());
  return core;
}

Status Core::recover() {
  auto on_record = [&](uint64_t number, size_t bytes, int64_t time_ms) {
    tail_.emplace_back(number, bytes);
    tail_bytes_ += bytes;
    now_ms_ = std::max(now_ms_, time_ms);
  };
  PAWL_TRY(TailRow tail, pawl::recover(store_, state_, config_.skipped, recovery_, on_record));
  now_ms_ = std::max(now_ms_, tail.now_ms);
  tail_marker_ = tail.sequence;
  return reading([&] {
    state_.take_ready_queues();
    state_.plan_recall();
    state_.recall(config_.recall_bytes_max);
    state_.evict();
  });
}

size_t Core::quarantine(const std::vector<Suspect>& suspects,
                        std::function<void(const Uuid&)> settled) {
  if (suspects.empty()) return 0;
  WorkingOn working(WorkKind::Decision, {});
  advance_clock();
  size_t ended = 0;
  std::vector<Uuid> ids;
  try_reading([&] {
    for (const Suspect& suspect : suspects) {
      Frame frame(state_, record_, now_ms_, random_.next());
      ids.push_back(suspect.id);
      QuarantineReason reason = reason_of(suspect);
      if (suspect.fold_sequence != 0) {
        put_skipped(frame, suspect.id,
                    {suspect.fold_sequence, journal::sequence(record_.number(), 0) - 1});
        // Once their rows are written, the skipped events need not be folded again.
        flush_all_ = true;
      }
      for (const ScriptCreated& created : recovery_.skipped_runs)
        if (created.run == suspect.id) {
          quarantine_created(frame, created, reason);
          ++ended;
        }
      if (pawl::quarantine(frame, suspect.id, reason)) ++ended;
    }
  });
  waiting_.push_back(std::make_shared<Settled>(std::move(ids), std::move(settled)));
  return ended;
}

// All reads of the state happen in here. After a failed read a decision is incomplete, and the
// state is not read again.
void Core::try_reading(auto&& work) {
  if (unreadable_) return;
  Status read = reading(work);
  if (!read.ok()) unreadable_ = read.error();
}

void Core::advance_clock() { now_ms_ = std::max(now_ms_, clock_.now_ms()); }

// Fires all due timers within one allowance of evaluations: a run that has used it up yields.
void Core::fire_due(uint64_t& allowance) {
  bool more = true;
  while (more) {
    int64_t due = state_.next_timer_ms();
    if (due == 0 || due > now_ms_) return;
    Frame frame(state_, record_, now_ms_, random_.next(), allowance);
    more = fire_timers(frame, kTimersPerFrame, true) && !batch_large();
    allowance = frame.meter().left();
    used_ += frame.meter().used();
  }
}

// Skips turns in batches that are already large, but only a limited number of times.
bool Core::turns_must_wait() {
  if (!batch_full()) return false;
  if (turns_missed_in_ == closed_) return true;
  if (turns_missed_ >= kTurnsMissedMax) return false;
  turns_missed_in_ = closed_;
  ++turns_missed_;
  return true;
}

// Each run gets its own frame, so that the outcome of one does not affect another.
void Core::take_turns() {
  const uint64_t whole = config_.state.scripts.frame_allowance;
  uint64_t allowance = whole;
  if (state_.next_yielded(now_ms_) == nullptr) return;
  if (turns_must_wait()) return;
  turns_missed_ = 0;
  turns_missed_in_ = closed_;  // if the batch is full after this, the turn was not missed
  // Resume a run only if enough of the allowance is left.
  for (size_t i = 0; i < kTurnsPerTick && allowance >= whole / 4; ++i) {
    const RunId* next = state_.next_yielded(now_ms_);
    if (next == nullptr || (i > 0 && batch_full())) return;
    RunId id = *next;
    WorkingOn working(id);
    Frame frame(state_, record_, now_ms_, random_.next(), allowance);
    run_due(frame, id);
    const uint64_t cost = frame.meter().used() + kUnitsPerEvent * frame.emitted();
    allowance -= std::min(allowance, cost);
    used_ += cost;
  }
}

void Core::run(TaskPtr task, bool last_call, uint64_t place) {
  if (task->abandoned()) return;
  std::optional<Parking> parking;
  try {
    Frame frame(state_, record_, now_ms_, random_.next());
    parking = task->decide(frame, last_call || parked_.full());
    used_ += frame.meter().used();
  } catch (const Unreadable&) {
    waiting_.push_back(std::move(task));
    throw;
  } catch (const std::exception& thrown) {
    // An incomplete decision cannot be undone, unless it only reads.
    if (!task->only_reads()) throw;
    task->refuse(Error{ErrorCode::Internal,
                       std::string("the request failed inside the server: ") + thrown.what()});
    return;
  }
  if (parking) {
    parked_.park(std::move(task), std::move(*parking), place);
  } else {
    waiting_.push_back(std::move(task));
  }
}

void Core::end_waits() {
  advance_clock();
  try_reading([&] {
    for (TaskPtr& task : parked_.take_all()) run(std::move(task), true);
  });
}

// Jobs became available: parked fetches of those queues are tried again, longest waiting first,
// until one gets no job.
void Core::wake_parked() {
  for (const RunId& run : state_.take_moved_runs()) {
    uint64_t place = 0;
    while (TaskPtr task = parked_.take(parking_of(run), place))
      this->run(std::move(task), false, place);
  }
  for (Queue* queue : state_.take_ready_queues()) {
    while (state_.first_ready(*queue) != nullptr) {
      uint64_t place = 0;
      TaskPtr task = parked_.take(queue->name, place);
      if (task == nullptr) break;
      size_t parked_before = parked_.size();
      run(std::move(task), false, place);
      if (parked_.size() > parked_before) break;
    }
    if (config_.on_ready && state_.first_ready(*queue) != nullptr) config_.on_ready(queue->name);
  }
}

void Core::decide(TaskPtr task) {
  WorkingOn working(WorkKind::Decision, {});
  advance_clock();
  try_reading([&] {
    uint64_t allowance = config_.state.scripts.frame_allowance;
    fire_due(allowance);
    run(std::move(task), false);
    fire_due(allowance);  // new input may be due already, and an expired job must not be leased
    wake_parked();
  });
  if (task != nullptr) waiting_.push_back(std::move(task));
}

bool Core::decide_read_only(Task& task) {
  advance_clock();
  try_reading([&] {
    Frame frame(state_, record_, now_ms_, random_.next());
    (void)task.decide(frame, true);
  });
  if (!unreadable_) state_.evict();
  return record_.empty() && !unreadable_;
}

size_t ClosedBatch::bytes() const {
  size_t bytes = batch.journal.size();
  for (const auto& write : batch.writes)
    if (const std::string* value = write.bytes()) bytes += value->size();
  return bytes;
}

bool Core::tick(RunTurns turns) {
  WorkingOn working(WorkKind::Decision, {});
  advance_clock();
  bool more = false;
  try_reading([&] {
    uint64_t allowance = config_.state.scripts.frame_allowance;
    fire_due(allowance);
    if (turns == RunTurns::Take) take_turns();
    fire_due(allowance);  // as in decide(): timers set in this turn may be due already
    bool last_call = false;
    uint64_t place = 0;
    while (TaskPtr task = parked_.take_due(now_ms_, last_call, place))
      run(std::move(task), last_call, place);
    if (retention_.next_ms() <= now_ms_) {
      Frame frame(state_, record_, now_ms_, random_.next());
      more = retention_.step(frame);
    }
    wake_parked();
    if (recall_is_due(turns)) recall_runs();
    int64_t due = next_due_ms(turns);
    more |= recall_is_due(turns) || (due != 0 && due <= now_ms_);
  });
  return more && !unreadable_;
}

// A turn that waits for the open batch is not due before that batch is closed.
int64_t Core::next_due_ms(RunTurns turns) const {
  const bool waits = batch_full() && turns_missed_in_ == closed_;
  return turns == RunTurns::Take && !waits ? state_.next_due_ms() : state_.next_timer_ms();
}

int64_t Core::next_tick_ms(RunTurns turns) {
  int64_t next = retention_.next_ms();
  try_reading([&] {
    int64_t due = next_due_ms(turns);
    for (int64_t at : {due, parked_.next_due_ms()})
      if (at != 0) next = std::min(next, at);
  });
  return unreadable_ || recall_is_due(turns) ? 0 : next;
}

// At most once per batch, and not in a batch that is already large, a limited number of times.
bool Core::recall_is_due(RunTurns turns) const {
  if (!state_.has_to_recall() || turns == RunTurns::Leave) return false;
  if (!wants_commit()) return true;
  if (recalled_in_ == closed_) return false;
  return !batch_full() || closed_ - recalled_in_ > kRecallsMissedMax;
}

void Core::recall_runs() {
  state_.recall(config_.recall_bytes_max);
  state_.evict();
  recalled_in_ = closed_;
}

size_t Core::rows_wanted(bool idle) const {
  if (flush_all_) return state_.dirty_count();
  if (idle) return config_.rows_per_batch_max;
  size_t dirty = state_.dirty_count();
  if (tail_bytes_ > config_.tail_bytes_max) return config_.rows_per_batch_max;
  if (dirty <= config_.dirty_max) return state_.has_crowded_runs() ? 1 : 0;
  // At least as many as were added since the last batch, or the backlog would grow under load.
  size_t came = dirty - std::min(dirty, dirty_before_);
  return std::min(dirty - config_.dirty_max, std::max(came, config_.rows_per_batch_max));
}

void Core::take_notes() {
  if (!state_.has_effects()) return;
  for (const EffectNote& note : state_.take_effects()) {
    if (!config_.effects) continue;
    const Run* run = note.cancel ? nullptr : state_.find_run(note.run);
    bool heavy = run != nullptr && family_of(*run).held_bytes(*run) > config_.heavy_run_bytes;
    (heavy ? asked_heavy_ : asked_).push_back(note);
  }
}

// Skips a batch that is already large, once.
std::deque<EffectNote>* Core::notes_to_prepare(bool tasks_wait) {
  if (!has_asked()) return nullptr;
  if (batch_spent() && !std::exchange(effects_missed_, true)) return nullptr;
  effects_missed_ = false;
  if (!takes_heavy()) return &asked_;
  bool stand_back = !asked_.empty() || tasks_wait;
  if (stand_back && ++heavy_stood_back_ < kHeavyStandsBackMax)
    return asked_.empty() ? nullptr : &asked_;
  heavy_stood_back_ = 0;
  return &asked_heavy_;
}

void Core::prepare_effects(ClosedBatch& closed) {
  take_notes();
  std::deque<EffectNote>* notes = notes_to_prepare(!closed.outgoing.answers.empty());
  if (notes == nullptr) return;
  WorkingOn working(WorkKind::Preparation, {});
  Meter meter(config_.state.scripts.frame_allowance);
  closed.outgoing.effects = config_.effects->prepare(state_, *notes, now_ms_, meter);
  auto heavy = asked_.end();
  while (heavy != asked_.begin() && std::prev(heavy)->heavy) --heavy;
  asked_heavy_.insert(asked_heavy_.end(), heavy, asked_.end());
  asked_.erase(heavy, asked_.end());
}

// Large rows are left to a batch without waiting tasks, a limited number of times.
bool Core::large_rows_stand_back(const ClosedBatch& closed, bool idle) const {
  if (idle || flush_all_) return false;
  if (store_.congested()) return true;
  return !closed.outgoing.answers.empty() && rows_stood_back_ < kRowsStandBackMax;
}

void Core::add_rows(ClosedBatch& closed, size_t rows, uint64_t next_sequence, bool large) {
  std::vector<Row> collected;
  bool all = state_.collect_rows(rows, collected, config_.row_bytes_per_batch_max,
                                 large ? SIZE_MAX : config_.row_bytes_awaited_max);
  rows_stood_back_ = all ? 0 : rows_stood_back_ + 1;
  for (Row& row : collected) closed.batch.writes.push_back(write_of(std::move(row)));
  uint64_t tail = state_.tail_start(next_sequence);
  closed.batch.writes.push_back(tail_write({tail, now_ms_}));
  closed.has_rows = true;
  tail_marker_ = tail;
  while (!tail_.empty() && tail_.front().first < journal::record_of(tail)) {
    tail_bytes_ -= tail_.front().second;
    tail_.pop_front();
  }
}

ClosedBatch Core::close_batch(bool idle) {
  ClosedBatch closed;
  closed.outgoing.answers = std::exchange(waiting_, {});
  try_reading([&] { fill(closed, idle); });
  if (!unreadable_) return closed;
  ClosedBatch refused;
  refused.outgoing.answers = std::move(closed.outgoing.answers);
  return refused;
}

void Core::fill(ClosedBatch& closed, bool idle) {
  prepare_effects(closed);
  if (state_.take_new_messages()) closed.outgoing.messages = config_.outbox_bell;
  uint64_t next_sequence = record_.next_sequence();
  if (!record_.empty()) {
    closed.batch.number = record_.number();
    closed.batch.journal = record_.finish();
    tail_.emplace_back(closed.batch.number, closed.batch.journal.size());
    tail_bytes_ += closed.batch.journal.size();
    record_.reset(closed.batch.number + 1);
  }
  used_ = 0;
  ++closed_;
  // Beside a frame of many megabytes there is no room for rows.
  bool room = closed.batch.journal.size() <= config_.batch_bytes_max || flush_all_;
  size_t rows = room ? rows_wanted(idle) : 0;
  dirty_before_ = state_.dirty_count() - std::min(state_.dirty_count(), rows);
  if (rows > 0 && state_.dirty_count() > 0)
    add_rows(closed, rows, next_sequence, !large_rows_stand_back(closed, idle));
  flush_all_ = false;
  closed.batch.trim_journal_before = retention_.trim_before(journal::record_of(tail_marker_));
}

void Core::committed(const ClosedBatch& closed) {
  if (closed.has_rows) state_.rows_durable();
  state_.evict();
  state_.release_texts();
}

void Core::release(ClosedBatch& closed, const FollowRecord& follow) {
  Outgoing out = std::move(closed.outgoing);
  {
    Wakes wakes;
    for (TaskPtr& task : out.answers) task->durable(wakes);
    out.answers.clear();
  }
  if (out.messages != nullptr) out.messages->ring();
  if (out.effects) out.effects->release();
  out.effects.reset();
  if (closed.batch.number != 0 && follow)
    follow(closed.batch.number, std::move(closed.batch.journal));
}

void Core::refuse(ClosedBatch& closed, const Error& error) {
  for (TaskPtr& task : closed.outgoing.answers) task->refuse(error);
  closed.outgoing.answers.clear();
}

}  // namespace pawl
