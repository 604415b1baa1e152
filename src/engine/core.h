// Core: the engine without threads: tasks in, batches out. The real engine and the simulator drive
// the same one.
//
// decide() adds to the open batch; seal() closes it; the driver commits it and then calls
// committed() and release()s the tasks (in either order), or gives up for good: after a failed
// commit the memory is ahead of the disk, so the core must be thrown away and opened again (I1,
// D5). At most one batch may be sealed and not yet committed. Deciding goes on meanwhile.
//
// No input waits long for others' evaluations: each frame has its allowance (kernel/meter.h), what
// timers cause shares one between two inputs, and runs that have yielded get their turns in tick(),
// one allowance's worth of them at a time, whoever has waited longest first. What runs ask of the
// outside is made ready with the batch that asks for it, as far as one allowance goes, the rest
// with later ones. What is asked by runs that hold much stands back behind batches with tasks in
// them, kHeavyStandsBackMax times at most; so do rows of megabytes, kRowsStandBackMax times,
// and while the store is congested. Runs that were at work when the server ended are read a few at a
// time, once for each batch that has room (recall_is_due()).
//
// Thread: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/crash_book.h"
#include "engine/outgoing.h"
#include "engine/parking_lot.h"
#include "engine/recovery.h"
#include "engine/retention.h"
#include "engine/store_cold.h"
#include "journal/record.h"
#include "kernel/mutable_state.h"
#include "store/store.h"

namespace pawl {

struct CoreConfig {
  StateConfig state;
  RetentionConfig retention;
  size_t dirty_max = 65'536;          // entities that may wait for their row
  size_t tail_bytes_max = 64u << 20;  // journal that a restart may have to fold
  size_t rows_per_batch_max = 2'048;
  size_t batch_bytes_max =
      4u << 20;  // an open batch past this wants committing before more is decided
  size_t row_bytes_per_batch_max = 4u << 20;  // past this no further entity's rows are added
  size_t row_bytes_awaited_max = 1u << 20;    // of one entity, in a batch that somebody waits for
  size_t parked_max = 20'000;
  size_t recall_bytes_max = 1u << 20;  // of runs that were at work, for each batch after a start
  uint64_t heavy_run_bytes = 1u << 20;  // a run that holds more may take long to fill parameters in
  EffectSink* effects = nullptr;        // null: nothing that runs ask of the outside is ever done
  SkippedEvents skipped;                // of the tail, beside those that the store names
};

// What is committed together, and what leaves then.
struct SealedBatch {
  Batch batch;
  Outgoing outgoing;
  bool has_rows = false;
  bool empty() const {
    return batch.number == 0 && batch.writes.empty() && batch.trim_journal_before == 0;
  }
  size_t bytes() const;  // that the store will write
};

class Core {
 public:
  // Recovery: rows, then the journal's tail. Corrupt if either cannot be read.
  static Result<std::unique_ptr<Core>> open(Store& store, const CoreConfig& config, Clock& clock,
                                            Random& random);

  // Ends whoever the server died of (kernel/quarantine.h), before anything is decided. `settled` is
  // told of each once that is durable. Returns how many were ended.
  size_t quarantine(const std::vector<Suspect>& suspects, std::function<void(const Uuid&)> settled);
  void decide(TaskPtr task);
  // What is due by now: timers, parked tasks whose time is up, retention, and, unless they are to
  // wait, turns of runs that have yielded. True if more is due at once.
  enum class Turns : uint8_t { Take, Leave };
  bool tick(Turns turns = Turns::Take);
  // When tick() has something to do next; at once if it cannot be told.
  int64_t next_tick_ms(Turns turns = Turns::Take);

  bool wants_commit() const {
    return !record_.empty() || !waiting_.empty() || state_.has_effects() || has_asked() ||
           owes_rows();
  }
  // Somebody waits for the open batch.
  bool holds_tasks() const { return !waiting_.empty(); }
  // What waits for the open batch should not wait for more.
  bool batch_full() const { return batch_large() || batch_spent(); }
  // More of the journal waits for its rows than a restart should have to fold: whoever adds
  // megabytes to it should wait until rows are written.
  bool tail_long() const { return tail_bytes_ > config_.tail_bytes_max && has_dirty(); }
  // Large rows of a tail that is too long were left for a batch that nobody waits for.
  bool owes_rows() const { return rows_stood_back_ > 0 && tail_long() && !store_.congested(); }
  // The next batch takes more of what runs ask of the outside.
  bool has_asked() const { return !asked_.empty() || takes_heavy(); }
  bool has_dirty() const { return state_.dirty_count() > 0; }
  // Closes the open batch. `idle` also flushes rows that could wait.
  SealedBatch seal(bool idle);
  void committed(const SealedBatch& sealed);
  // The batch is durable, or was empty: the one way out for what it holds.
  static void release(SealedBatch& sealed, const FollowRecord& follow = {});
  static void refuse(SealedBatch& sealed, const Error& error);
  // Decides a task that only reads, without letting anything fall due: for a core that cannot be
  // committed. False if it could not be read for it, or if the task emitted after all: then the
  // core must be thrown away.
  bool look(Task& task);
  std::vector<TaskPtr> take_parked() { return parked_.take_all(); }

  const State& state() const { return state_; }
  // Why a row could not be read. Since then the core decides nothing and seals nothing but the
  // tasks it holds, which are to be refused; it must be thrown away.
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
  template <class Work>
  void try_reading(Work&& work);
  void advance_clock();
  void fire_due(uint64_t& allowance);
  void take_turns();
  bool turns_must_wait();
  int64_t next_due_ms(Turns turns) const;
  bool batch_large() const {
    return record_.size() > config_.batch_bytes_max || record_.event_count() > kEventsPerBatchMax;
  }
  bool batch_spent() const { return used_ >= config_.state.scripts.frame_allowance; }
  void run(TaskPtr task, bool last_call, uint64_t place = 0);
  void wake_parked();
  bool recall_is_due(Turns turns) const;
  void recall_runs();
  void fill(SealedBatch& sealed, bool idle);
  bool takes_heavy() const { return !asked_heavy_.empty() && config_.effects->takes_heavy(); }
  void take_notes();
  std::deque<EffectNote>* notes_to_prepare(bool tasks_wait);
  void prepare_effects(SealedBatch& sealed);
  bool large_rows_stand_back(const SealedBatch& sealed, bool idle) const;
  void add_rows(SealedBatch& sealed, size_t rows, uint64_t next_sequence, bool large);
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
  std::deque<EffectNote> asked_;        // of the outside, and not made ready for it yet
  std::deque<EffectNote> asked_heavy_;  // by runs that hold much
  std::deque<std::pair<uint64_t, size_t>>
      tail_;  // records that rows do not cover yet, with their sizes
  size_t tail_bytes_ = 0;
  uint64_t tail_marker_ = 0;   // as last written
  size_t dirty_before_ = 0;    // entities that waited for their row when the last batch was sealed
  uint64_t used_ = 0;          // units of the frames of the open batch (kernel/meter.h)
  uint32_t turns_missed_ = 0;  // batches in a row without the turns that were due
  uint64_t turns_missed_in_ = UINT64_MAX;  // the last of them, as sealed_ was then
  uint64_t sealed_ = 0;                    // batches so far
  uint64_t recalled_in_ = 0;  // the last in which runs that were at work were taken up, likewise
  bool effects_missed_ = false;            // a batch made nothing ready of what was asked for
  uint32_t heavy_stood_back_ = 0;          // batches in a row that left asked_heavy_ alone
  uint32_t rows_stood_back_ = 0;           // …or large rows
  int64_t now_ms_ = 0;
  bool flush_all_ = false;  // with the next batch
  std::optional<Error> unreadable_;
  Recovery recovery_;
};

}  // namespace pawl
