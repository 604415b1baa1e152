// State: what one partition knows. Changed by apply() alone, read by decisions and replies.
//
// Hot entities are in memory, the rest is read from Cold when asked for. Memory holds at most
// StateConfig's bounds plus what is not flushed yet; the engine flushes oldest changes first
// (collect_rows → commit → rows_durable). Which entities happen to be in memory changes no answer.
//
// apply() during recovery meets rows that are newer than the event: each entity takes an event only
// if its own version is older, so folding the journal's tail over rows of any mix of ages gives one
// state (I2).
//
// Thread: the engine thread of the partition, only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "journal/record.h"
#include "kernel/cold.h"
#include "kernel/settings/doc.h"
#include "kernel/id_table.h"
#include "kernel/jobs/job.h"
#include "kernel/scripts/plan_cache.h"
#include "kernel/jobs/queue.h"
#include "kernel/run.h"
#include "kernel/scripts/stored_definition.h"

namespace pawl {

class Computations;
struct RunRows;

// What the operator sets for runs of definitions.
struct ScriptDefaults {
  uint64_t max_concurrent = 0;          // runs at work on the whole server; 0 = no bound
  bool reject_at_limit = false;         // refuse what would have to wait for the server
  bool parallel_steps = true;           // false: a run has one step at work at a time
  int64_t step_timeout_ms = 0;          // of an action's or job's attempt that names none; 0 = none
  uint32_t retry_attempts = 0;          // of `retry` without a policy, the first included; 0 = the
  int64_t retry_delay_ms = -1;          //   language's own, likewise the delay and
  uint32_t retry_multiplier_milli = 0;  //   what it is multiplied with, in thousandths
  size_t output_bytes_max = 20u << 20;  // of an output as JSON, an action's or put together here
  size_t run_bytes_max = 256u << 20;  // outputs, variables, signals, inputs, … of one run together
  size_t open_lists_max = 10'000;     // of one run at once; loops wait for places beyond
  uint64_t frame_allowance = 250'000;          // units of a Meter, for one frame
  const Computations* computations = nullptr;  // done in the frame; null: no action is
};

struct StateConfig {
  size_t resident_jobs_max = 100'000;
  size_t resident_job_bytes_max = 256u << 20;  // their arguments and results
  size_t resident_runs_max = 20'000;
  size_t resident_run_bytes_max = 256u << 20;  // what they hold
  size_t part_bytes_min = 16u << 10;           // texts of runs from here on have rows of their own
  size_t resident_text_bytes_max = 64u << 20;  // of these, of all runs together
  size_t plan_bytes_max = 128u << 20;          // of compiled definitions
  size_t new_scopes_max = 2'000;     // of a run, then their rows are written before others'
  size_t ready_window_max = 32'768;  // per queue
  size_t timer_window_max = 65'536;
  size_t queues_max = 100'000;
  size_t limits_max = 100'000;
  size_t docs_max = 100'000;                  // of the kinds that stay in memory
  size_t resident_doc_bytes_max = 64u << 20;  // of large ones whose rows are durable
  ScriptDefaults scripts;
};

struct Stamp {
  uint64_t sequence = 0;
  int64_t time_ms = 0;
};

enum class TimerKind : uint8_t { Job = 1, Run = 2 };

struct TimerKey {
  int64_t due_ms = 0;
  TimerKind kind = TimerKind::Job;
  Uuid id;

  auto operator<=>(const TimerKey&) const = default;
};

struct StateCounts {
  size_t jobs_resident = 0;
  size_t runs_resident = 0;
  size_t dirty = 0;
  size_t queues = 0;
};

inline ReadyKey ready_key(const Job& job) { return {-job.priority, job.order, job.id}; }

class State {
 public:
  State(Cold& cold, const StateConfig& config);
  ~State();

  // Reads the rows that always stay in memory (queues, limits, crons, small documents). Call once,
  // before the tail is folded.
  Status load();

  // --- reading
  const Job* find_job(const JobId& id) const;
  const Run* find_run(const RunId& id) const;
  // The plan of a child that has not started, or of a callback (held_callback()); false if there is
  // none.
  bool held_plan(const Run& run, uint32_t index, PlanNode& out) const;
  // Of a definition's run. Null if that list was never entered, or that step is none of its.
  const Scope* find_scope(const Run& run, std::string_view path) const;
  const StepRecord* find_step(const Run& run, std::string_view step) const;
  // Scopes whose path begins with prefix, in the order of their paths, closed ones too.
  void each_scope(const Run& run, std::string_view prefix,
                  FunctionRef<bool(const Scope&)> visit) const;
  // What it follows; null if its definition's text is gone.
  const plan::Script* plan_of(const Run& run) const;
  // Canonical text, compiled and kept for a while; null if it cannot be.
  const plan::Script* compiled_plan(const std::string& canonical) const;
  const Queue* find_queue(std::string_view scoped) const;
  const Limit* find_limit(std::string_view key) const;
  const Cron* find_cron(std::string_view name) const;
  const Doc* find_doc(DocKind kind, std::string_view key) const;
  // A version of a definition (definition_key()) without its text; nothing if there is none. What
  // it says is read off the text once and kept; bytes_read grows by what had to be read.
  std::optional<DefinitionHead> definition_head(std::string_view key, size_t& bytes_read) const;
  // The first one whose key is not before `from` and begins with `prefix`; null if there is none.
  const Doc* first_doc(DocKind kind, std::string_view from, std::string_view prefix) const;
  const ScriptDefaults& script_defaults() const { return config_.scripts; }
  bool has_room_for_queue() const { return queues_.size() < config_.queues_max; }
  bool has_room_for_limit() const { return limits_.size() < config_.limits_max; }

  const ReadyKey* first_ready(const Queue& queue) const;
  const ReadyKey* next_ready(const Queue& queue, const ReadyKey& after) const;
  const TimerKey* first_timer() const;
  const Cron* first_cron() const;  // the one that fires first
  // A cron of which a firing waits, and something happened to what it waits for; null if there is
  // none. Whoever looks and finds it still at work says so: that changes no answer and is no event.
  const Cron* cron_to_look_at() const;
  void cron_still_waits(const Cron& cron) const { cron_looks_.erase(cron.spec.name); }
  // A gate at which something happened (scripts/admission.h), likewise.
  const std::string* gate_to_look_at() const {
    return gate_looks_.empty() ? nullptr : &*gate_looks_.begin();
  }
  void gate_looked_at(const std::string& gate) const { gate_looks_.erase(std::string(gate)); }
  int64_t next_due_ms() const;  // 0 = nothing will ever be due
  // The same without runs that have yielded.
  int64_t next_timer_ms() const;
  // The run that has waited longest for its next turn since it yielded; null if none has by then.
  const RunId* next_yielded(int64_t now_ms) const;
  // Jobs with this unique key, in id order.
  void each_unique(std::string_view unique_key, FunctionRef<bool(const Job&)> visit) const;

  // Each walks in key order, merging memory and disk; stops when visit returns false.
  void each_queue(FunctionRef<bool(const Queue&)> visit) const;
  void each_limit(FunctionRef<bool(const Limit&)> visit) const;
  void each_cron(FunctionRef<bool(const Cron&)> visit) const;
  void each_doc(DocKind kind, std::string_view from, size_t scan_max,
                FunctionRef<bool(const Doc&)> visit) const;
  // The same without reading the documents.
  void each_doc_key(DocKind kind, std::string_view from, size_t scan_max,
                    FunctionRef<bool(std::string_view key)> visit) const;
  // Every job (finished ones too) with id >= from, or <= from if newest_first; looks at scan_max
  // rows at most and returns where to go on (nil: at the end). Unless scan_max is SIZE_MAX, jobs of
  // kScanBytesMax are enough too: large ones must not make a scan long.
  static constexpr size_t kScanBytesMax = 32u << 20;
  JobId each_job(const JobId& from, bool newest_first, size_t scan_max,
                 FunctionRef<bool(const Job&)> visit) const;
  RunId each_run(const RunId& from, bool newest_first, size_t scan_max,
                 FunctionRef<bool(const Run&)> visit) const;
  JobId each_dead(const JobId& from, size_t scan_max, FunctionRef<bool(const Job&)> visit) const;

  // --- changing: one overload per event, in apply_*.cc
  void apply(const JobCreated& event, Stamp stamp);
  void apply(const JobPromoted& event, Stamp stamp);
  void apply(const JobLeased& event, Stamp stamp);
  void apply(const LeaseExtended& event, Stamp stamp);
  void apply(const JobCompleted& event, Stamp stamp);
  void apply(const JobFailed& event, Stamp stamp);
  void apply(const JobRequeued& event, Stamp stamp);
  void apply(const JobCancelled& event, Stamp stamp);
  void apply(const JobExpired& event, Stamp stamp);
  void apply(const JobRevived& event, Stamp stamp);
  void apply(const JobsForgotten& event, Stamp stamp);
  void apply(const CheckpointSaved& event, Stamp stamp);
  void apply(const CheckpointDeleted& event, Stamp stamp);
  void apply(const ProgressReported& event, Stamp stamp);
  void apply(const QueueConfigured& event, Stamp stamp);
  void apply(const LimitConfigured& event, Stamp stamp);
  void apply(const DocPut& event, Stamp stamp);
  void apply(const DocDeleted& event, Stamp stamp);
  void apply(const CronPut& event, Stamp stamp);
  void apply(const CronDeleted& event, Stamp stamp);
  void apply(const CronFired& event, Stamp stamp);
  void apply(const CronSkipped& event, Stamp stamp);
  void apply(const RunCreated& event, Stamp stamp);
  void apply(const RunStarted& event, Stamp stamp);
  void apply(const RunChildDone& event, Stamp stamp);
  void apply(const RunCallbackFired& event, Stamp stamp);
  void apply(const RunFinished& event, Stamp stamp);
  void apply(const RunRetried& event, Stamp stamp);
  void apply(const RunForgotten& event, Stamp stamp);
  void apply(const ScriptCreated& event, Stamp stamp);
  void apply(ScriptMoved event, Stamp stamp);  // its output may be large, and is kept
  void apply(const ScriptPhased& event, Stamp stamp);
  void apply(const ScriptPaused& event, Stamp stamp);
  void apply(const ScopeOpened& event, Stamp stamp);
  void apply(const ScopeClosed& event, Stamp stamp);
  void apply(const StepStarted& event, Stamp stamp);
  void apply(const StepSuspended& event, Stamp stamp);
  void apply(const ChildMoved& event, Stamp stamp);
  void apply(const StepRetrying& event, Stamp stamp);
  void apply(StepEnded event, Stamp stamp);  // its output may be large, and is kept
  void apply(const StepNoted& event, Stamp stamp);
  void apply(const VariableSet& event, Stamp stamp);
  void apply(const SignalReceived& event, Stamp stamp);
  void apply(const SignalTaken& event, Stamp stamp);
  void apply(const StepsReset& event, Stamp stamp);
  void apply(const ScriptExtended& event, Stamp stamp);
  void apply(const ScriptYielded& event, Stamp stamp);
  void apply(const PartsMade& event, Stamp stamp);
  void apply(const StepsReady& event, Stamp stamp);
  void apply(const StepUndone& event, Stamp stamp);
  void apply(const RunYielded& event, Stamp stamp);
  // Decodes and applies one journaled event.
  Status fold(const journal::EventBytes& event);

  // --- rows (rows.cc)
  // Moves up to max of the longest-dirty entities into rows that must be committed next, in the
  // order of the calls; past bytes_max no further one. False if it stopped at one that has more
  // bytes of texts than entity_bytes_max of its own.
  bool collect_rows(size_t max, std::vector<Row>& out, size_t bytes_max = SIZE_MAX,
                    size_t entity_bytes_max = SIZE_MAX);
  // The oldest collected set is durable.
  void rows_durable();
  size_t dirty_count() const { return dirty_.size(); }
  bool has_crowded_runs() const { return !crowded_runs_.empty(); }
  // The first event that the rows (with all sets collected so far) do not hold; the journal is
  // needed from there on.
  uint64_t tail_start(uint64_t next_sequence) const;
  void evict();  // brings memory back to its bounds
  // The same for large texts of runs, those that wait for their own row included. Call when every
  // row that was collected is durable.
  void release_texts();
  StateCounts counts() const;

  // Queues in which a job became available since the last call: for waking parked fetches.
  std::vector<Queue*> take_ready_queues();
  // Runs of definitions that ended or were suspended since the last call: somebody may wait for it.
  std::vector<RunId> take_moved_runs() { return std::exchange(moved_runs_, {}); }
  // What runs of definitions asked of the outside since the last call: to be done once it is
  // durable.
  std::vector<EffectNote> take_effects() { return std::exchange(new_effects_, {}); }
  bool has_effects() const { return !new_effects_.empty(); }
  // After recovery: everything that was asked and not answered counts as asked now, and runs that
  // have yielded wait for their turns. Runs that are on disk only are read a few at a time, by
  // recall(), so that a start does not take longer the more of them there are; whoever needs one
  // earlier recalls it by reading it.
  void plan_recall();
  bool has_to_recall() const { return !to_recall_.empty(); }
  void recall(size_t bytes_max);  // reads about so much, one at least if there is one
  // The run no longer wants it. Changes no answer, so it is no event.
  void note_cancelled_effect(const Run& run, uint32_t effect) const;

  // A fetch found a job of this queue held back by its concurrency key: when the key has room
  // again, the queue counts as ready. Changes no answer, so it is no event.
  void note_held_back(const Queue& queue, const Limit& limit) const;

  // A digest of the whole logical state, equal for equal histories whatever is in memory. Walks
  // everything.
  std::string digest() const;

 private:
  static constexpr size_t kPlanHoldersMax = 100'000;

  Status fold_one(const journal::EventBytes& event);
  Job* resident_job(const JobId& id) const;  // loads; includes forgotten ones
  Job* job_for(const JobStep& step, Stamp stamp);
  Run* resident_run(const RunId& id) const;
  Run* run_for(const RunId& id, Stamp stamp);
  Run* script_for(const RunId& id, Stamp stamp);
  StepRecord* step_for(const StepEvent& event, Stamp stamp, Run*& run);
  Scope* resident_scope(const Run& run, std::string_view path) const;
  Scope read_scope(const Run& run, std::string_view path, std::string_view row) const;
  void line_up(Run& run) const;
  RunRows run_rows() const;
  void recall_effects(const Run& run) const;
  void release_plans();
  static void set_due(Run& run, const std::string& step, StepRecord& record, int64_t due_ms,
                      DueKind kind);
  static void drop_effect(ScriptRun& script, StepRecord& record);
  void update_due(Run& run);
  void child_started(const JobParent& parent, const Uuid& child, Stamp stamp);
  void set_deadline(Run& run, int64_t deadline_ms);
  Queue& need_queue(std::string_view scoped) const;
  void load_places(Job& job) const;
  Queue* queue_for(std::string_view scoped, Stamp stamp);
  Limit* limit_for(std::string_view key, Stamp stamp);
  Queue* count_move(const JobStep& step, JobState to, Stamp stamp);
  void changed(Resident& entity, Stamp stamp);
  void note_awaited(const Resident& entity);
  void settle(Resident& entity);
  void settle_job(Job& job);
  void settle_run(Run& run);
  void collect_job(Job& job, std::vector<Row>& out);
  void collect_run(Run& run, std::vector<Row>& out);
  Resident* next_for_row();
  bool is_buried(const RunId& id) const;
  size_t text_bytes(Resident& entity) const;
  bool write_ahead(Resident& entity, std::vector<Row>& out, size_t bytes_max);
  void collect_entity(Resident& entity, std::vector<Row>& out);
  void unplace(Job& job);
  void place(Job& job);
  void wake(Queue& queue);
  Doc* resident_doc(DocKind kind, std::string_view key) const;
  void note_large(const Doc& doc) const;
  void evict_large_docs();
  void load_rows();
  void load_docs(DocKind kind);
  void count_run(const ScriptMoved& event, Stamp stamp);
  void count_at_gate(const std::string& gate, bool one_more, Stamp stamp);
  void gate_changed(const Doc& gate);
  Cron* cron_for(std::string_view name, Stamp stamp);
  void schedule_cron(Cron& cron, int64_t next_ms, int64_t planned_ms);
  void await_last(Cron& cron, int64_t waiting_ms);
  template <class Emit>
  bool read_ready(const Queue& queue, const std::optional<ReadyKey>& after, size_t limit,
                  Emit&& emit) const;
  template <class Emit>
  bool read_due(const std::optional<TimerKey>& after, size_t limit, Emit&& emit) const;
  bool due_entry_is_live(const TimerKey& key) const;
  std::vector<Job*> jobs_without_row() const;

  Cold& cold_;
  bool folding_ = false;
  StateConfig config_;
  mutable IdTable<Job> jobs_;
  mutable IdTable<Run> runs_;
  // Forgotten jobs whose id was taken by a new job before their row was removed.
  std::map<const Job*, std::unique_ptr<Job>> buried_;
  std::map<const Run*, std::unique_ptr<Run>> buried_runs_;  // likewise
  mutable std::map<std::string, std::unique_ptr<Queue>, std::less<>> queues_;
  std::map<std::string, std::unique_ptr<Limit>, std::less<>> limits_;
  std::map<std::string, std::unique_ptr<Cron>, std::less<>> crons_;
  mutable std::map<std::string, std::unique_ptr<Doc>, std::less<>> docs_;
  mutable TextsInMemory texts_in_memory_;
  mutable std::vector<std::string> large_docs_;  // keys in docs_ of large values, some twice
  mutable size_t large_doc_bytes_ = 0;           // of those
  mutable std::map<std::string, DefinitionHead, std::less<>> definition_heads_;
  std::multimap<std::string, Job*, std::less<>>
      unique_in_memory_;  // unique key → jobs whose entry is not on disk
  mutable SpillIndex<TimerKey> timers_;
  std::set<std::pair<int64_t, std::string>> cron_timers_;
  std::set<std::pair<Uuid, std::string>> awaited_;  // job or run → cron of which a firing waits
  mutable std::set<std::string> cron_looks_;
  mutable std::set<std::string> gate_looks_;
  mutable std::set<std::pair<int64_t, RunId>> yielded_;  // since when they wait for their turn
  ResidentList dirty_;
  mutable ResidentList clean_jobs_;
  mutable ResidentList clean_runs_;
  std::deque<std::vector<Resident*>> in_flight_;
  std::vector<Queue*> ready_queues_;
  std::vector<RunId> moved_runs_;
  std::deque<RunId> crowded_runs_;  // have many new scopes
  mutable std::vector<EffectNote> new_effects_;
  mutable std::set<RunId> to_recall_;
  mutable uint64_t bytes_read_ = 0;  // of runs and their lists, about
  mutable PlanCache plans_;
  mutable std::vector<RunId> plan_holders_;  // runs that hold on to one of these, some twice
  std::vector<Queue*> oversized_queues_;  // their window wants shrinking
};

}  // namespace pawl
