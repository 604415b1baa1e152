// MutableState: the state of a partition while events are applied to it. The engine owns it, Frame
// applies the events of a decision, recovery those of the journal; all other code gets a State.
//
// During recovery apply() may find rows that are newer than the event: an event is applied to an
// entity only if the entity's version is older, so folding the journal's tail over rows of any mix
// of ages gives one state (I2).
//
// Thread: the engine thread of the partition, only.
#pragma once

#include <string>
#include <vector>

#include "journal/record.h"
#include "kernel/state.h"

namespace pawl {

struct EffectNote;
struct Resident;
struct Row;

struct Stamp {
  uint64_t sequence = 0;
  int64_t time_ms = 0;
};

class MutableState : public State {
 public:
  MutableState(Cold& cold, const StateConfig& config) : State(cold, config) {}

  // Reads the rows that always stay in memory (queues, limits, crons, small documents). Call once,
  // before the tail is folded.
  Status load();

  // --- changing: one overload per event, in apply_*.cc
#define PAWL_EVENT(number, name) void apply(const name& event, Stamp stamp);
#include "journal/event_types.def"
#undef PAWL_EVENT
  // Their outputs may be large, and are kept.
  void apply(ScriptMoved&& event, Stamp stamp);
  void apply(StepEnded&& event, Stamp stamp);
  // Decodes and applies one journaled event.
  Status fold(const journal::EventBytes& event);

  // --- rows (rows.cc)
  // Moves up to max of the longest-dirty entities into rows that must be committed next, in the
  // order of the calls; past bytes_max no further one. False if it stopped at an entity with more
  // than entity_bytes_max bytes of texts.
  bool collect_rows(size_t max, std::vector<Row>& out, size_t bytes_max = SIZE_MAX,
                    size_t entity_bytes_max = SIZE_MAX);
  // The oldest collected set is durable.
  void rows_durable();
  void evict();  // reduces memory to its bounds
  // The same for large texts of runs, even if the run's own row is not written yet. Call when every
  // collected row is durable.
  void release_texts();
  // Queues in which a job became available since the last call: for waking parked fetches.
  std::vector<Queue*> take_ready_queues();
  // Runs of definitions that ended or were suspended since the last call: tasks may wait for them.
  // Likewise tokens of claims that are answered, which tasks wait for in the same way.
  std::vector<RunId> take_moved_runs();
  // Whether messages were sent since the last call: their courier is told once they are durable.
  bool take_new_messages();
  // Effects requested since the last call: to be executed once they are durable.
  std::vector<EffectNote> take_effects();
  // After recovery: every open effect counts as requested now, and runs that have yielded wait for
  // their turns. Runs that are on disk only are read a few at a time, by recall(), so that the
  // start time does not depend on their number; reading such a run earlier recalls it.
  void plan_recall();
  void recall(size_t bytes_max);  // reads about this much, at least one run if there is any

  // --- notes of decisions. None of them changes an answer, so none is an event.
  // The run no longer needs this effect.
  void note_cancelled_effect(const Run& run, uint32_t effect);
  // A fetch found a job of this queue held back by its concurrency key: when the key has room
  // again, the queue counts as ready.
  void note_held_back(const Queue& queue, const Limit& limit);
  // The run or job that this cron's firing waits for is still active.
  void note_cron_waits(const Cron& cron);
  void note_gate_seen(const std::string& gate);
  void note_answered(const Uuid& token);

 private:
  Status fold_one(const journal::EventBytes& event);
  Job* job_for(const JobEventHead& step, Stamp stamp);
  Run* run_for(const RunId& id, Stamp stamp);
  Run* script_for(const RunId& id, Stamp stamp);
  StepRecord* step_for(const StepEvent& event, Stamp stamp, Run*& run);
  void release_plans();
  static void set_due(Run& run, const std::string& step, StepRecord& record, int64_t due_ms,
                      DueKind kind);
  void drop_effect(Run& run, StepRecord& record);
  void forget_new_effect(const RunId& run, uint32_t effect);
  void update_due(Run& run);
  void child_started(const JobParent& parent, const Uuid& child, Stamp stamp);
  void set_deadline(Run& run, int64_t deadline_ms);
  Queue* queue_for(std::string_view scoped, Stamp stamp);
  Limit* limit_for(std::string_view key, Stamp stamp);
  Queue* count_move(const JobEventHead& step, JobState to, Stamp stamp);
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
  void evict_large_docs();
  void load_rows();
  void load_docs(DocKind kind);
  void count_run(const ScriptMoved& event, Stamp stamp);
  void count_at_gate(const std::string& gate, bool one_more, Stamp stamp);
  void gate_changed(const Doc& gate);
  Cron* cron_for(std::string_view name, Stamp stamp);
  void schedule_cron(Cron& cron, int64_t next_ms, int64_t planned_ms);
  void await_last(Cron& cron, int64_t waiting_ms);

  bool folding_ = false;
};

}  // namespace pawl
