#include "kernel/compositions/run_flow.h"

#include <algorithm>

#include "kernel/compositions/flow.h"
#include "kernel/compositions/run_values.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/messages/claims.h"
#include "kernel/messages/placing.h"

namespace pawl {

namespace {

ChildEnd end_of(const Job& job) {
  ChildEnd end;
  end.run = job.parent.run;
  end.index = index_of(job.parent.place);
  end.outcome = job.state == JobState::Completed   ? ChildState::Completed
                : job.state == JobState::Cancelled ? ChildState::Cancelled
                                                   : ChildState::Failed;
  end.child = job.id;
  end.type = type_of_spec(job.spec);
  end.duration_ms = job.started_ms == 0 ? 0 : job.finished_ms - job.started_ms;
  return end;
}

// False for a job of a deleted run with the same id.
bool fills_its_place(const State& state, const Run& run, const Job& job) {
  return child_of(state, run, index_of(job.parent.place)) == job.id;
}

}  // namespace

// --- stopping

void Flow::stop_child(const Uuid& child, const std::string& reason) {
  if (const Run* nested = state_.find_run(RunId(child))) {
    if (is_terminal(nested->state)) return;
    RunId id = nested->id;
    finish(id, RunState::Cancelled, reason);
    stop(id, reason);
    fire(run(id), CallbackRole::OnCancel);
    return;
  }
  const Job* job = state_.find_job(JobId(child));
  if (job == nullptr || is_terminal(job->state)) return;
  if (job->is_elsewhere()) return cancel_elsewhere(frame_, *job, reason, true);
  if (job->state != JobState::Active) cancel_job(frame_, *job, reason);
}

void Flow::stop(const RunId& id, const std::string& reason) {
  uint32_t total = run(id).total;
  for (uint32_t i = 0; i < total; ++i) {
    if (run(id).child(i) != ChildState::Started) continue;
    if (job_in(run(id), i) == nullptr && run_in(run(id), i) == nullptr) {
      // A retry requested it, but it waited for a turn that the run no longer takes.
      push({id, i, ChildState::Cancelled, {}, "", 0, reason});
    } else {
      stop_child(child_of(state_, run(id), i), reason);
    }
  }
  uint32_t open = run(id).callbacks_fired & ~run(id).callbacks_done;
  for (uint32_t role = 0; role < kCallbackRoles; ++role) {
    uint32_t index = callback_index(static_cast<CallbackRole>(role), run(id).generation);
    if ((open >> role & 1) != 0) stop_child(child_of(state_, run(id), index), reason);
  }
}

// --- retry

void Flow::restart_child(const RunId& id, uint32_t index) {
  if (const Run* nested = run_in(run(id), index)) return retry(RunId(nested->id));
  if (const Job* job = job_in(run(id), index)) {
    // Revived by hand, it may have completed since.
    if (job->state == JobState::Completed) return push(end_of(*job));
    if (is_terminal(job->state)) revive(frame_, *job);
    return;
  }
  PlanNode node;
  if (state_.held_plan(run(id), index, node)) return start_child(run(id), index, node);
  push({id, index, ChildState::Failed, {}, "", 0, "its job was deleted"});
}

// In a map at most `concurrency` children; advance_map restarts the others.
void Flow::retry(const RunId& id) {
  const Run& in = run(id);
  uint32_t wanted_callbacks = ~(in.callbacks_done & ~in.callbacks_failed);
  uint32_t room =
      in.concurrency == 0 ? in.total : in.concurrency - std::min(in.concurrency, in.at_work);
  bool in_turn = in.kind != RunKind::Group && in.kind != RunKind::Batch;
  auto event = event_for<RunRetried>(in);
  event.failed = event.cancelled = 0;
  for (uint32_t i = 0; i < in.total && event.restart.size() < room; ++i) {
    ChildState child = in.child(i);
    if (child != ChildState::Failed && child != ChildState::Cancelled) continue;
    bool has_begun = job_in(in, i) != nullptr || run_in(in, i) != nullptr;
    if (has_begun || child == ChildState::Failed || !in_turn) event.restart.push_back(i);
  }
  frame_.emit(event);
  for (uint32_t index : event.restart) restart_child(id, index);
  resume_children(id, wanted_callbacks);
}

// Jobs of a run that timed out may have completed since: their successors are due now.
void Flow::resume_children(const RunId& id, uint32_t wanted_callbacks) {
  const Run& in = run(id);
  bool at_work = in.children.find(static_cast<char>(ChildState::Started)) != std::string::npos;
  size_t waiting = in.children.find(static_cast<char>(ChildState::Waiting));
  switch (in.kind) {
    case RunKind::Chain:
      if (at_work) return;
      if (waiting == std::string::npos) return finish(id, RunState::Completed, "");
      return start_held(id, static_cast<uint32_t>(waiting));
    case RunKind::Batch:
      start_waiting(id);
      if (in.done() == in.total) fire_outcome(id, wanted_callbacks);
      return;
    case RunKind::Dag:
      for (uint32_t i = 0; i < in.total && !has_yielded(id); ++i)
        if (in.child(i) == ChildState::Waiting && dag_links(state_, in).open[i] == 0)
          start_held(id, i);
      break;
    case RunKind::Map:
      advance_map(id);
      break;
    case RunKind::Group:
      start_waiting(id);
      break;
    case RunKind::Script:  // moved by its own code
    case RunKind::Module:  // moved by its world
    case RunKind::None:
      break;
  }
  end_if_complete(id);
}

// Starts children that could not begin because the run had yielded.
void Flow::start_waiting(const RunId& id) {
  for (uint32_t i = 0; i < run(id).total && run(id).state == RunState::Running; ++i) {
    PlanNode node;
    if (run(id).child(i) == ChildState::Waiting && state_.held_plan(run(id), i, node))
      start_child(run(id), i, node);
  }
}

// --- commands

namespace {

constexpr size_t kCreatedBytesMax = 128u << 20;  // in the journal

// Each nested run is written with its parent and again when it is created itself. Children of maps
// are not included: maps yield (Flow::yields).
size_t written_by(const PlanNode& plan) {
  size_t bytes = plan.meta.size();
  for (const std::string& child : plan.children) {
    bytes += child.size();
    PlanNode node;
    if (bytes > kCreatedBytesMax || !codec::decode(child, node)) return bytes;
    bytes += node.kind == NodeKind::Run ? written_by(node) : node.job.size();
  }
  for (const std::string& callback : plan.callbacks) bytes += 2 * callback.size();
  return bytes;
}

Status check_size(const PlanNode& plan) {
  if (written_by(plan) <= kCreatedBytesMax) return ok_status();
  return Error{ErrorCode::TooLarge, "the workflow, with what is nested in it, takes more than " +
                                        std::to_string(kCreatedBytesMax) + " bytes"};
}

}  // namespace

Result<RunId> create_run(Frame& frame, const PlanNode& given, const std::string& tenant) {
  if (!given.id.is_nil() && (frame.state().find_run(given.id) != nullptr ||
                             is_taken_elsewhere(frame.state(), given.id)))
    return Error{ErrorCode::Duplicate,
                 "a workflow with the id " +
                     (given.client_id.empty() ? given.id.text() : given.client_id) +
                     " exists already"};
  PAWL_TRY_DO(check_size(given));
  Flow flow(frame);
  PlanNode plan = given;
  std::string problem;
  if (plan.run_kind == RunKind::Map && !flow.expand_map(plan, {}, problem))
    return Error{ErrorCode::InvalidContent, problem};
  PAWL_TRY_DO(admit_run(frame.state(), plan, frame.meter()));
  RunId id = flow.create(plan, {}, tenant);
  flow.drain();
  return id;
}

Status create_child_run(Frame& frame, const PlanNode& given, const JobParent& parent,
                        const std::string& tenant) {
  PAWL_TRY_DO(check_size(given));
  PAWL_TRY_DO(admit_run(frame.state(), given, frame.meter()));
  Flow flow(frame);
  PlanNode plan = given;
  plan.id = {};
  plan.client_id.clear();
  std::string problem;
  if (plan.run_kind == RunKind::Map && !flow.expand_map(plan, {}, problem))
    return Error{ErrorCode::InvalidContent, problem};
  flow.create(plan, parent, tenant);
  flow.drain();
  return ok_status();
}

void job_ended(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job(id);
  if (job != nullptr) tell_unique_home(frame, *job);
  if (job != nullptr && job->placed_by != 0) return tell_ended(frame, *job);
  if (job == nullptr || job->parent.run.is_nil()) return;
  Flow flow(frame);
  flow.push(end_of(*job));
  flow.drain();
}

void job_began(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job(id);
  RunId run_id = job->parent.run;
  while (!run_id.is_nil()) {
    const Run* run = frame.state().find_run(run_id);
    if (run == nullptr || run->started_ms != 0) return;
    if (run_id == job->parent.run && !fills_its_place(frame.state(), *run, *job)) return;
    frame.emit(event_for<RunStarted>(*run));
    run_id = run->parent.run;
  }
}

bool may_try_again(const State& state, const Job& job) {
  if (job.placed_by != 0) return is_wanted(state, job);
  if (job.parent.run.is_nil()) return true;
  uint32_t index = index_of(job.parent.place);
  if (is_callback(index) && callback_role(index) == CallbackRole::OnCancel) return true;
  const Run* run = state.find_run(job.parent.run);
  return run != nullptr && run->state == RunState::Running && fills_its_place(state, *run, job) &&
         (!is_callback(index) || callback_generation(index) == run->generation);
}

}  // namespace pawl
