#include "kernel/compositions/flow.h"

#include "base/working_on.h"
#include "kernel/compositions/planned_runs.h"
#include "kernel/compositions/run_values.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/messages/placing.h"
#include "kernel/run_family.h"
#include "kernel/scripts/step_names.h"

namespace pawl {
namespace {

bool is_over(ChildState state) {
  return state != ChildState::Waiting && state != ChildState::Started;
}

constexpr uint32_t kStartedInEachTurn = 8;

uint32_t bit(CallbackRole role) { return 1u << static_cast<uint32_t>(role); }

std::string type_name(const PlanNode& node) {
  if (node.kind == NodeKind::Run) return std::string(kind_name(node.run_kind));
  NewJob job;
  return codec::decode(node.job, job) ? job.type : "";
}

// Whether it can fail before its job is created: then its plan is kept for a retry.
bool may_not_start(const PlanNode& node) {
  if (!node.when.empty() || node.kind == NodeKind::Run) return true;
  NewJob job;
  PAWL_CHECK(codec::decode(node.job, job));
  return !job.id.is_nil() || !job.unique.key.empty();
}

}  // namespace

void Flow::drain() {
  while (!ends_.empty()) {
    ChildEnd end = std::move(ends_.front());
    ends_.pop_front();
    WorkingOn working(end.run);
    if (const Run* in = state_.find_run(end.run)) family_of(*in).child_ended(*this, end);
  }
}

// --- creating

bool Flow::expand_map(PlanNode& plan, const JobParent& parent, std::string& problem) {
  auto jobs = unfold_map(state_, plan, parent, frame_.meter());
  if (!jobs.ok()) {
    problem = jobs.error().message;
    return false;
  }
  plan.children = std::move(jobs).value();
  plan.job_count = static_cast<uint32_t>(plan.children.size());
  return true;
}

RunId Flow::create(const PlanNode& plan, const JobParent& parent, const std::string& tenant) {
  RunCreated event;
  event.run = !plan.id.is_nil()     ? plan.id
              : parent.run.is_nil() ? RunId(frame_.fresh_id())
                                    : RunId(child_id(run(parent.run), index_of(parent.place)));
  if (!plan.id.is_nil()) event.salt = frame_.draw();
  event.children_at = children_mark(state_, event.run);
  event.kind = plan.run_kind;
  event.name = plan.name;
  event.parent = parent;
  event.total = static_cast<uint32_t>(plan.children.size());
  event.job_count = plan.job_count;
  event.timeout_ms = plan.timeout_ms;
  event.on_timeout = plan.on_timeout;
  event.concurrency = plan.concurrency;
  event.tenant = tenant;
  event.meta = plan.meta;
  event.client_id = plan.client_id;
  event.named_steps = plan.named_steps;
  if (!parent.run.is_nil()) event.parent_client_id = run(parent.run).client_id;
  bool all_at_once = plan.run_kind == RunKind::Group || plan.run_kind == RunKind::Batch;
  for (uint32_t i = 0; i < event.total; ++i) {
    PlanNode node;
    PAWL_CHECK(codec::decode(plan.children[i], node));
    if (!all_at_once || plan.named_steps || may_not_start(node))
      event.held.push_back({i, plan.children[i]});
  }
  for (size_t role = 0; role < plan.callbacks.size(); ++role) {
    if (plan.callbacks[role].empty()) continue;
    PlanNode node;
    node.job = plan.callbacks[role];
    if (role < plan.callback_ids.size()) node.step_id = plan.callback_ids[role];
    event.held.push_back({held_callback(static_cast<CallbackRole>(role)), codec::encoded(node)});
  }
  frame_.emit(event);
  if (!all_at_once) announce_nested(run(event.run), plan);
  begin(event.run, plan);
  return event.run;
}

// Nested runs that start later: each can be read by its id from now on.
void Flow::announce_nested(const Run& in, const PlanNode& plan) {
  each_nested(in, plan, [&](const RunId& id, const JobParent& place) {
    if (state_.find_run(id) != nullptr) return;
    std::string key = planned_run_key(id);
    if (state_.find_doc(DocKind::PlannedRun, key) == nullptr)
      frame_.emit(DocPut{DocKind::PlannedRun, key, codec::encoded(place), 0});
  });
}

void Flow::begin(const RunId& id, const PlanNode& plan) {
  const Run& started = run(id);
  auto start = [&](uint32_t index) {
    PlanNode node;
    PAWL_CHECK(codec::decode(plan.children[index], node));
    start_child(run(id), index, node);
  };
  switch (started.kind) {
    case RunKind::Chain:
      start(0);
      break;
    case RunKind::Group:
    case RunKind::Batch:
      for (uint32_t i = 0; i < started.total; ++i) start(i);
      break;
    case RunKind::Dag:
      for (uint32_t i = 0; i < started.total; ++i) {
        PlanNode node;
        PAWL_CHECK(codec::decode(plan.children[i], node));
        if (node.depends_on.empty()) start_child(run(id), i, node);
      }
      break;
    case RunKind::Map:
      advance_map(id);
      break;
    case RunKind::Script:  // see kernel/scripts
    case RunKind::Module:  // moved by its world
    case RunKind::None:
      break;
  }
  if (started.total == 0) end_if_complete(id);
}

// --- children

bool Flow::skipped_by_guard(const Run& in, uint32_t index, const PlanNode& node) {
  if (node.when.empty()) return false;
  auto wanted = guard_holds(state_, in, index, node, frame_.meter());
  if (wanted.ok() && *wanted) return false;
  ChildEnd end{
      in.id, index, wanted.ok() ? ChildState::Skipped : ChildState::Failed, {}, type_name(node)};
  end.reason = wanted.ok() ? "its condition is false: " + node.when
                           : "its condition cannot be evaluated: " + wanted.error().message;
  push(std::move(end));
  return true;
}

// The frame has no room for an evaluation, or for one more of many children: the run continues at
// its next turn. A group starts all its children at once.
bool Flow::yields(const Run& in, const PlanNode& node) {
  bool evaluates =
      !node.when.empty() || (node.kind == NodeKind::Run && node.run_kind == RunKind::Map);
  bool of_a_crowd =
      (in.kind == RunKind::Map || in.kind == RunKind::Dag) && started_ >= kStartedInEachTurn;
  bool in_turns = evaluates || of_a_crowd;
  if (!in_turns || !frame_.meter().spent()) return false;
  if (in.yielded_ms == 0) frame_.emit(RunYielded{in.id});
  return true;
}

// After a yield the other children are not checked.
bool Flow::has_yielded(const RunId& id) const {
  return frame_.meter().spent() && run(id).yielded_ms != 0;
}

// Checks again everything that could begin.
void Flow::take_turn(const RunId& id) {
  frame_.emit(RunYielded{id});
  for (uint32_t i = 0; i < run(id).total && run(id).state == RunState::Running; ++i) {
    // A child that a retry restarts counts as started in advance.
    PlanNode node;
    if (run(id).generation > 0 && run(id).child(i) == ChildState::Started &&
        job_in(run(id), i) == nullptr && run_in(run(id), i) == nullptr &&
        state_.held_plan(run(id), i, node))
      start_child(run(id), i, node);
  }
  if (run(id).state == RunState::Running) resume_children(id, 0);
}

void Flow::start_child(const Run& in, uint32_t index, const PlanNode& node) {
  if (yields(in, node)) return;
  if (skipped_by_guard(in, index, node)) return;
  JobParent parent{in.id, place_of_index(index)};
  if (node.kind == NodeKind::Run) {
    PlanNode plan = node;
    std::string problem;
    if (plan.run_kind == RunKind::Map && !expand_map(plan, parent, problem)) {
      push({in.id, index, ChildState::Failed, {}, "map", 0, problem});
      return;
    }
    if (!plan.id.is_nil() && state_.find_run(plan.id) != nullptr) {
      push({in.id,
            index,
            ChildState::Failed,
            {},
            type_name(node),
            0,
            "a workflow with the id " + (plan.client_id.empty() ? plan.id.text() : plan.client_id) +
                " exists already"});
      return;
    }
    create(plan, parent, in.tenant);
    return;
  }
  NewJob job;
  PAWL_CHECK(codec::decode(node.job, job));
  job.parent = parent;
  if (job.id.is_nil()) job.id = JobId(id_at_home(state_, job, child_id(in, index)));
  ++started_;
  auto placed = place_member(frame_, job);
  if (!placed.ok())
    push({in.id, index, ChildState::Failed, {}, job.type, 0, placed.error().message});
}

void Flow::start_held(const RunId& id, uint32_t index) {
  PlanNode node;
  PAWL_CHECK(state_.held_plan(run(id), index, node));
  start_child(run(id), index, node);
}

const Job* Flow::job_in(const Run& in, uint32_t index) const {
  const Job* job = state_.find_job(JobId(child_of(state_, in, index)));
  return job != nullptr && job->parent.run == in.id && index_of(job->parent.place) == index
             ? job
             : nullptr;
}

const Run* Flow::run_in(const Run& in, uint32_t index) const {
  const Run* nested = state_.find_run(RunId(child_of(state_, in, index)));
  return nested != nullptr && nested->parent.run == in.id && index_of(nested->parent.place) == index
             ? nested
             : nullptr;
}

// --- ends

RunChildDone Flow::child_done(const Run& in, uint32_t index, ChildState outcome) const {
  auto event = event_for<RunChildDone>(in);
  event.index = index;
  event.outcome = outcome;
  if (!is_callback(index)) count_child(event, outcome);
  return event;
}

// A child that was reported as unable to start may have started since.
bool Flow::has_begun_since(const Run& in, uint32_t index) const {
  if (is_callback(index) || in.child(index) != ChildState::Started) return false;
  const Job* job = job_in(in, index);
  return job != nullptr ? !is_terminal(job->state) : run_in(in, index) != nullptr;
}

void Flow::child_ended(const ChildEnd& end) {
  const Run* in = &run(end.run);
  if (!is_callback(end.index) && is_over(in->child(end.index))) return;  // I4: a child ends once
  if (is_callback(end.index) && (callback_generation(end.index) != in->generation ||
                                 (in->callbacks_done & bit(callback_role(end.index))) != 0))
    return;
  // Ignore a job of a deleted run with the same id.
  if (!end.child.is_nil() && end.child != child_of(state_, *in, end.index)) return;
  if (end.child.is_nil() && has_begun_since(*in, end.index)) return;
  bool gave_up = end.outcome == ChildState::Cancelled && in->state == RunState::Running;
  auto event = child_done(*in, end.index, gave_up ? ChildState::Failed : end.outcome);
  event.child = end.child;
  event.type = end.type;
  event.child_client_id = end.client_id;
  event.duration_ms = end.duration_ms;
  event.reason = end.reason;
  frame_.emit(event);
  if (in->state != RunState::Running) return;
  if (is_callback(end.index)) return end_if_called_back(end.run);
  advance(end.run, end.index, event.outcome);
}

void Flow::advance(const RunId& id, uint32_t index, ChildState outcome) {
  const Run& in = run(id);
  switch (in.kind) {
    case RunKind::Chain:
      return advance_chain(in, index, outcome);
    case RunKind::Dag:
      advance_dag(id, index, outcome);
      break;
    case RunKind::Map:
      advance_map(id);
      break;
    case RunKind::Group:
    case RunKind::Batch:
    case RunKind::Script:  // see kernel/scripts
    case RunKind::Module:  // moved by its world
    case RunKind::None:
      break;
  }
  end_if_complete(id);
}

void Flow::advance_chain(const Run& in, uint32_t index, ChildState outcome) {
  if (outcome == ChildState::Failed)
    return finish(in.id, RunState::Failed, "step " + std::to_string(index) + " failed");
  if (index + 1 == in.total) return finish(in.id, RunState::Completed, "");
  start_held(in.id, index + 1);
}

// Starts children up to the concurrency: those never started and, after a retry, those to be
// restarted.
void Flow::advance_map(const RunId& id) {
  size_t next = run(id).generation == 0 ? run(id).next_child : 0;
  while (true) {
    const Run& in = run(id);
    if (in.at_work >= (in.concurrency == 0 ? in.total : in.concurrency)) return;
    next = in.children.find(static_cast<char>(ChildState::Waiting), next);
    if (next == std::string::npos) return;
    auto index = static_cast<uint32_t>(next);
    if (in.generation > 0 && job_in(in, index) != nullptr) {
      frame_.emit(child_done(in, index, ChildState::Started));
      restart_child(id, index);
    } else {
      start_held(id, index);
    }
    if (run(id).child(index) == ChildState::Waiting)
      return;  // it ended without starting; its end calls this again
  }
}

// Starts children that have become ready; cancels those that never will.
void Flow::advance_dag(const RunId& id, uint32_t index, ChildState outcome) {
  const DagLinks& edges = dag_links(state_, run(id));
  if (outcome == ChildState::Completed || outcome == ChildState::Skipped) {
    for (uint32_t next : edges.dependents[index]) {
      if (edges.open[next] == 0 && run(id).child(next) == ChildState::Waiting) start_held(id, next);
      if (has_yielded(id)) return;
    }
    return;
  }
  std::vector<uint32_t> stuck = {index};
  while (!stuck.empty()) {
    uint32_t at = stuck.back();
    stuck.pop_back();
    for (uint32_t next : edges.dependents[at]) {
      if (run(id).child(next) != ChildState::Waiting) continue;
      PlanNode node;
      PAWL_CHECK(state_.held_plan(run(id), next, node));
      auto event = child_done(run(id), next, ChildState::Cancelled);
      event.type = type_name(node);
      event.reason = "a step it depends on did not complete";
      frame_.emit(event);
      stuck.push_back(next);
    }
  }
}

void Flow::end_if_complete(const RunId& id) {
  const Run& in = run(id);
  if (in.state != RunState::Running || in.done() < in.total) return;
  if (in.kind == RunKind::Batch) return fire_outcome(id, ~0u);
  bool good = in.failed == 0 && in.cancelled == 0;
  finish(id, good ? RunState::Completed : RunState::Failed,
         good ? ""
              : std::to_string(in.failed + in.cancelled) + " of " + std::to_string(in.total) +
                    " failed");
}

void Flow::finish(const RunId& id, RunState state, const std::string& reason) {
  const Run& in = run(id);
  auto event = event_for<RunFinished>(in);
  event.state = state;
  event.reason = reason;
  event.failed_callbacks = in.callbacks_failed;
  frame_.emit(event);
  if (in.parent.run.is_nil()) return;
  ChildState outcome = state == RunState::Completed   ? ChildState::Completed
                       : state == RunState::Cancelled ? ChildState::Cancelled
                                                      : ChildState::Failed;
  push({in.parent.run, index_of(in.parent.place), outcome, in.id, std::string(kind_name(in.kind)),
        frame_.now_ms() - in.created_ms, "", in.client_id});
}

// --- callbacks

// Its job, if the run has such a callback.
std::optional<NewJob> Flow::announce(const Run& in, CallbackRole role) {
  PlanNode node;
  if (!state_.held_plan(in, held_callback(role), node)) return std::nullopt;
  NewJob job;
  PAWL_CHECK(codec::decode(node.job, job));
  uint32_t index = callback_index(role, in.generation);
  job.parent = {in.id, place_of_index(index)};
  if (job.id.is_nil() || in.generation > 0)
    job.id = JobId(id_at_home(state_, job, child_id(in, index)));
  auto event = event_for<RunCallbackFired>(in);
  event.role = role;
  event.job = job.id;
  frame_.emit(event);
  return job;
}

void Flow::place(const NewJob& callback) {
  auto placed = place_member(frame_, callback);
  if (!placed.ok())
    push({callback.parent.run,
          index_of(callback.parent.place),
          ChildState::Failed,
          {},
          callback.type,
          0,
          placed.error().message});
}

void Flow::fire(const Run& in, CallbackRole role) {
  if (auto callback = announce(in, role)) place(*callback);
}

// All callbacks are announced before the first job is placed: placing one may replace another job
// at once, and the run must not end before all callbacks are called.
void Flow::fire_outcome(const RunId& id, uint32_t wanted) {
  bool good = run(id).failed == 0 && run(id).cancelled == 0;
  std::vector<NewJob> callbacks;
  for (CallbackRole role :
       {CallbackRole::OnComplete, good ? CallbackRole::OnSuccess : CallbackRole::OnFailure})
    if ((wanted & bit(role)) != 0)
      if (auto callback = announce(run(id), role)) callbacks.push_back(std::move(*callback));
  for (const NewJob& callback : callbacks) {
    if (run(id).state == RunState::Running) {
      place(callback);
    } else {  // cancelled meanwhile, with its callbacks
      push({id,
            index_of(callback.parent.place),
            ChildState::Cancelled,
            {},
            callback.type,
            0,
            "cancelled"});
    }
  }
  end_if_called_back(id);
}

void Flow::end_if_called_back(const RunId& id) {
  const Run& in = run(id);
  if (in.state != RunState::Running || in.kind != RunKind::Batch || in.done() < in.total) return;
  if ((in.callbacks_done & in.callbacks_fired) != in.callbacks_fired) return;
  if (in.callbacks_failed == 0) return finish(id, RunState::Completed, "");
  std::string which;
  for (size_t role = 0; role < kCallbackRoles; ++role)
    if ((in.callbacks_failed >> role & 1) != 0)
      which +=
          (which.empty() ? "" : ", ") + std::string(role_name(static_cast<CallbackRole>(role)));
  finish(id, RunState::Failed, "callback failed: " + which);
}

}  // namespace pawl
