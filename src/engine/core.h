// Core: the engine without threads: tasks in, batches out. The real engine and the simulator use
// the same core.
//
// decide() adds to the open batch; close_batch() closes it; the driver commits it and then calls
// committed() and release()s the tasks (in either order), or discards the core: after a failed
// commit the memory is ahead of the disk, so the core must be destroyed and opened again (I1, D5).
// At most one batch may be closed and not yet committed. Deciding continues meanwhile.
//
// No input waits long for other runs' evaluations: each frame has an allowance (kernel/meter.h),
// all timers between two inputs share one, and runs that have yielded get their turns in tick(),
// one allowance at a time, the longest waiting first. Effects are prepared with the batch that
// requests them, within one allowance, the rest with later batches. Effects of large runs are
// deferred while batches have tasks, at most kHeavyStandsBackMax times; so are rows of megabytes,
// kRowsStandBackMax times, and while the store is congested. After a restart, runs with open
// effects are read a few at a time, once per batch that has room (recall_is_due()).
//
// Thread: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/config.h"
#include "engine/crash_book.h"
#include "engine/outgoing.h"
#include "engine/parking_lot.h"
#include "engine/recovery.h"
#include "engine/retention.h"
#include "engine/store_cold.h"
#include "journal/record.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/effect_request.h"
#include "store/store.h"

namespace pawl {

// Whether runs that have yielded get their turns.
enum class RunTurns : uint8_t { Take, Leave };

class Core {
 public:
  // Recovery: rows, then the journal's tail. Corrupt if either cannot be read.
  static Result<std::unique_ptr<Core>> open(Store& store, const CoreConfig& config, Clock& clock,
                                            Random& random);

  // Quarantines the suspects (kernel/quarantine.h) before anything is decided. `settled` is called
  // for each once that is durable. Returns how many were quarantined.
  size_t quarantine(const std::vector<Suspect>& suspects, std::function<void(const Uuid&)> settled);
  void decide(TaskPtr task);
  // Does what is due: timers, parked tasks whose time is up, retention, and, with RunTurns::Take,
  // turns of runs that have yielded. True if more is due at once.
  bool tick(RunTurns turns = RunTurns::Take);
  // When tick() has something to do next; now if that is unknown.
  int64_t next_tick_ms(RunTurns turns = RunTurns::Take);

  bool wants_commit() const {
    return !record_.empty() || !waiting_.empty() || state_.has_effects() || has_asked() ||
           owes_rows();
  }
  // Tasks wait for the open batch.
  bool holds_tasks() const { return !waiting_.empty(); }
  // The open batch should be committed before more is added.
  bool batch_full() const { return batch_large() || batch_spent(); }
  // The journal without rows is longer than a restart should fold: heavy tasks should wait until
  // rows are written.
  bool tail_long() const { return tail_bytes_ > config_.tail_bytes_max && has_dirty(); }
  // Large rows of a long tail were deferred to a batch without waiting tasks.
  bool owes_rows() const { return rows_stood_back_ > 0 && tail_long() && !store_.congested(); }
  // The next batch prepares more effects.
  bool has_asked() const { return !asked_.empty() || takes_heavy(); }
  bool has_dirty() const { return state_.dirty_count() > 0; }
  // Closes the open batch. `idle` also flushes rows that could wait.
  ClosedBatch close_batch(bool idle);
  void committed(const ClosedBatch& closed);
  // The batch is durable, or was empty: the only place where its outgoing data leaves.
  static void release(ClosedBatch& closed, const FollowRecord& follow = {});
  static void refuse(ClosedBatch& closed, const Error& error);
  // Decides a task that only reads, without firing timers: for a core that cannot be committed.
  // False if a read failed, or if the task emitted an event: then the core must be destroyed.
  bool decide_read_only(Task& task);
  std::vector<TaskPtr> take_parked() { return parked_.take_all(); }
  // Parked tasks are decided for the last time: what they waited for may still come, but not here.
  void end_waits();

  const State& state() const { return state_; }
  // Why a row could not be read. After that the core decides nothing and closes only the tasks it
  // holds, which must be refused; it must be destroyed.
  const std::optional<Error>& unreadable() const { return unreadable_; }
  const Recovery& recovery() const { return recovery_; }
  size_t parked() const { return parked_.size(); }
  uint64_t journal_head() const { return record_.number() - 1; }

 private:
  static constexpr uint64_t kEventsPerBatchMax = 200'000;
  static constexpr uint32_t kHeavyStandsBackMax = 8;
  static constexpr uint32_t kRowsStandBackMax = 2;

  Core(Store& store, const CoreConfig& config, Clock& clock, Random& random);
  Status recover();
  void try_reading(auto&& work);
  void advance_clock();
  void fire_due(uint64_t& allowance);
  void take_turns();
  bool turns_must_wait();
  int64_t next_due_ms(RunTurns turns) const;
  bool batch_large() const {
    return record_.size() > config_.batch_bytes_max || record_.event_count() > kEventsPerBatchMax;
  }
  bool batch_spent() const { return used_ >= config_.state.scripts.frame_allowance; }
  void run(TaskPtr task, bool last_call, uint64_t place = 0);
  void wake_parked();
  bool recall_is_due(RunTurns turns) const;
  void recall_runs();
  void fill(ClosedBatch& closed, bool idle);
  bool takes_heavy() const { return !asked_heavy_.empty() && config_.effects->takes_heavy(); }
  void take_notes();
  std::deque<EffectNote>* notes_to_prepare(bool tasks_wait);
  void prepare_effects(ClosedBatch& closed);
  bool large_rows_stand_back(const ClosedBatch& closed, bool idle) const;
  void add_rows(ClosedBatch& closed, size_t rows, uint64_t next_sequence, bool large);
  size_t rows_wanted(bool idle) const;

  Store& store_;
  CoreConfig config_;
  Clock& clock_;
  Random& random_;
  StoreCold cold_;
  MutableState state_;
  ParkingLot parked_;
  Retention retention_;
  journal::RecordWriter record_;
  std::vector<TaskPtr> waiting_;        // decided in the open batch
  std::deque<EffectNote> asked_;        // requested effects that are not prepared yet
  std::deque<EffectNote> asked_heavy_;  // those of large runs
  std::deque<std::pair<uint64_t, size_t>>
      tail_;  // records not yet covered by rows, with their sizes
  size_t tail_bytes_ = 0;
  uint64_t tail_marker_ = 0;               // as last written
  size_t dirty_before_ = 0;                // entities without a row when the last batch was closed
  uint64_t used_ = 0;                      // units of the frames of the open batch (kernel/meter.h)
  uint32_t turns_missed_ = 0;              // batches in a row without the turns that were due
  uint64_t turns_missed_in_ = UINT64_MAX;  // the value of closed_ at the last of them
  uint64_t closed_ = 0;                    // batches so far
  uint64_t recalled_in_ = 0;               // the value of closed_ when runs were last recalled
  bool effects_missed_ = false;            // a batch prepared none of the requested effects
  uint32_t heavy_stood_back_ = 0;          // batches in a row that deferred asked_heavy_
  uint32_t rows_stood_back_ = 0;           // …or large rows
  int64_t now_ms_ = 0;
  bool flush_all_ = false;  // with the next batch
  std::optional<Error> unreadable_;
  Recovery recovery_;
};

}  // namespace pawl
