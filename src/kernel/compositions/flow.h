// Flow: processes all consequences of one event for runs in one frame. A queue instead of
// recursion, since a chain may skip thousands of steps at once.
//
// Private to this folder; the other families of runs, which get a Flow in RunFamily::child_ended(),
// take only its frame.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "plan/ojs/plan_node.h"

namespace pawl {

template <class Event>
Event event_for(const Run& run) {
  Event event;
  static_cast<RunEventHead&>(event) = {run.id,        run.kind,      run.name,
                                       run.tenant,    run.client_id, run.total,
                                       run.completed, run.failed,    run.cancelled};
  return event;
}

// A child, or a callback, that has ended.
struct ChildEnd {
  RunId run;
  uint32_t index = 0;
  ChildState outcome = ChildState::Completed;
  Uuid child;
  std::string type;
  int64_t duration_ms = 0;
  std::string reason;
  std::string client_id = {};  // of a nested run
};

class Flow {
 public:
  explicit Flow(Frame& frame) : frame_(frame), state_(frame.state()) {}

  void push(ChildEnd end) { ends_.push_back(std::move(end)); }
  void drain();
  // Handles the end of a child of a composition.
  void child_ended(const ChildEnd& end);
  Frame& frame() { return frame_; }

  RunId create(const PlanNode& plan, const JobParent& parent, const std::string& tenant);
  // A map becomes a group of one job per item, held back beyond its concurrency. False, with the
  // reason, if its list cannot be evaluated.
  bool expand_map(PlanNode& plan, const JobParent& parent, std::string& problem);
  void start_child(const Run& run, uint32_t index, const PlanNode& node);
  void finish(const RunId& id, RunState state, const std::string& reason);
  void fire(const Run& run, CallbackRole role);

  // Running jobs may finish; waiting ones are cancelled.
  void stop(const RunId& id, const std::string& reason);
  void take_turn(const RunId& id);
  void retry(const RunId& id);

 private:
  void start_waiting(const RunId& id);
  bool yields(const Run& in, const PlanNode& node);
  bool has_yielded(const RunId& id) const;
  void announce_nested(const Run& run, const PlanNode& plan);
  void begin(const RunId& id, const PlanNode& plan);
  void advance(const RunId& id, uint32_t index, ChildState outcome);
  void advance_chain(const Run& run, uint32_t index, ChildState outcome);
  void advance_dag(const RunId& id, uint32_t index, ChildState outcome);
  void advance_map(const RunId& id);
  RunChildDone child_done(const Run& run, uint32_t index, ChildState outcome) const;
  bool has_begun_since(const Run& run, uint32_t index) const;
  // The job or nested run at this place; null also if its id, chosen by a client, now belongs to
  // another.
  const Job* job_in(const Run& run, uint32_t index) const;
  const Run* run_in(const Run& run, uint32_t index) const;
  void end_if_complete(const RunId& id);
  std::optional<NewJob> announce(const Run& run, CallbackRole role);
  void place(const NewJob& callback);
  void fire_outcome(const RunId& id, uint32_t wanted);
  void end_if_called_back(const RunId& id);
  bool skipped_by_guard(const Run& run, uint32_t index, const PlanNode& node);
  void start_held(const RunId& id, uint32_t index);
  void stop_child(const Uuid& child, const std::string& reason);
  void restart_child(const RunId& id, uint32_t index);
  void resume_children(const RunId& id, uint32_t wanted_callbacks);
  const Run& run(const RunId& id) const { return *state_.find_run(id); }

  Frame& frame_;
  const State& state_;
  std::deque<ChildEnd> ends_;
  uint32_t started_ = 0;  // jobs
};

}  // namespace pawl
