#include "kernel/run_flow.h"

#include <algorithm>

#include "kernel/finish_job.h"
#include "kernel/push_jobs.h"
#include "kernel/run_values.h"

namespace pawl {
namespace {

RunStep step_of(const Run& run) { return {run.id, run.kind, run.name, run.tenant}; }

template <class Event>
Event event_for(const Run& run) {
  Event event;
  static_cast<RunStep&>(event) = step_of(run);
  return event;
}

bool is_over(ChildState state) {
  return state != ChildState::Waiting && state != ChildState::Started;
}

uint32_t bit(CallbackRole role) { return 1u << static_cast<uint32_t>(role); }

std::string type_name(const PlanNode& node) {
  if (node.kind == NodeKind::Run) return std::string(kind_name(node.run_kind));
  NewJob job;
  return codec::decode(node.job, job) ? job.type : "";
}

// Works off what one cause brings about. A queue and not recursion, since a chain may skip
// thousands of steps at once.
class Flow {
 public:
  explicit Flow(Frame& frame) : frame_(frame), state_(frame.state()) {}

  struct End {
    RunId run;
    uint32_t index = 0;
    ChildState outcome = ChildState::Completed;
    Uuid child;
    std::string type;
    int64_t duration_ms = 0;
    std::string reason;
  };

  void drain() {
    while (!ends_.empty()) {
      End end = std::move(ends_.front());
      ends_.pop_front();
      take(end);
    }
  }
  void push(End end) { ends_.push_back(std::move(end)); }

  RunId create(const PlanNode& plan, const JobParent& parent, const std::string& tenant);
  bool expand_map(PlanNode& plan, const JobParent& parent, std::string& problem);
  void start_child(const Run& run, uint32_t index, const PlanNode& node);
  void restart_child(const Run& run, uint32_t index);
  void finish(const RunId& id, RunState state, const std::string& reason);
  void stop_children(const RunId& id, const std::string& reason);
  void fire(const Run& run, CallbackRole role);
  void fire_outcome(const RunId& id, uint32_t wanted);
  void retry(const RunId& id);

 private:
  void take(const End& end);
  void begin(const RunId& id, const PlanNode& plan);
  void advance(const RunId& id, uint32_t index, ChildState outcome);
  void advance_chain(const Run& run, uint32_t index, ChildState outcome);
  void advance_dag(const RunId& id, uint32_t index, ChildState outcome);
  void advance_map(const RunId& id);
  void end_if_complete(const RunId& id);
  void end_if_called_back(const RunId& id);
  bool skipped_by_guard(const Run& run, uint32_t index, const PlanNode& node);
  const Run& run(const RunId& id) const { return *state_.find_run(id); }

  Frame& frame_;
  const State& state_;
  std::deque<End> ends_;
};

// --- creating

// A map becomes a group of one job per item, held back beyond its concurrency.
bool Flow::expand_map(PlanNode& plan, const JobParent& parent, std::string& problem) {
  auto jobs = unfold_map(state_, plan, parent);
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
                                    : RunId(child_id(parent.run, parent.node));
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
  bool all_at_once = plan.run_kind == RunKind::Group || plan.run_kind == RunKind::Batch;
  for (uint32_t i = 0; i < event.total && !all_at_once; ++i)
    event.held.push_back({i, plan.children[i]});
  for (size_t role = 0; role < plan.callbacks.size(); ++role) {
    if (plan.callbacks[role].empty()) continue;
    PlanNode node;
    node.job = plan.callbacks[role];
    event.held.push_back({held_callback(static_cast<CallbackRole>(role)), codec::encoded(node)});
  }
  frame_.emit(event);
  begin(event.run, plan);
  return event.run;
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
    case RunKind::None:
      break;
  }
  if (started.total == 0) end_if_complete(id);
}

// --- children

bool Flow::skipped_by_guard(const Run& in, uint32_t index, const PlanNode& node) {
  if (node.when.empty()) return false;
  auto wanted = guard_holds(state_, in, index, node);
  if (wanted.ok() && *wanted) return false;
  End end{
      in.id, index, wanted.ok() ? ChildState::Skipped : ChildState::Failed, {}, type_name(node)};
  end.reason = wanted.ok() ? "its condition is false: " + node.when
                           : "its condition cannot be evaluated: " + wanted.error().message;
  push(std::move(end));
  return true;
}

void Flow::start_child(const Run& in, uint32_t index, const PlanNode& node) {
  if (skipped_by_guard(in, index, node)) return;
  JobParent parent{in.id, index};
  if (node.kind == NodeKind::Run) {
    PlanNode plan = node;
    std::string problem;
    if (plan.run_kind == RunKind::Map && !expand_map(plan, parent, problem)) {
      push({in.id, index, ChildState::Failed, {}, "map", 0, problem});
      return;
    }
    create(plan, parent, in.tenant);
    return;
  }
  NewJob job;
  PAWL_CHECK(codec::decode(node.job, job));
  job.parent = parent;
  if (job.id.is_nil()) job.id = JobId(child_id(in.id, index));
  auto placed = place_job(frame_, job);
  if (!placed.ok())
    push({in.id, index, ChildState::Failed, {}, job.type, 0, placed.error().message});
}

// --- ends

void Flow::take(const End& end) {
  const Run* in = state_.find_run(end.run);
  if (in == nullptr) return;
  if (!is_callback(end.index) && is_over(in->child(end.index))) return;  // I4: a child ends once
  if (is_callback(end.index) && (callback_generation(end.index) != in->generation ||
                                 (in->callbacks_done & bit(callback_role(end.index))) != 0))
    return;
  auto event = event_for<RunChildDone>(*in);
  event.index = end.index;
  event.outcome = end.outcome == ChildState::Cancelled && in->state == RunState::Running
                      ? ChildState::Failed
                      : end.outcome;
  event.child = end.child;
  event.type = end.type;
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
    case RunKind::None:
      break;
  }
  end_if_complete(id);
}

void Flow::advance_chain(const Run& in, uint32_t index, ChildState outcome) {
  if (outcome == ChildState::Failed)
    return finish(in.id, RunState::Failed, "step " + std::to_string(index) + " failed");
  if (index + 1 == in.total) return finish(in.id, RunState::Completed, "");
  PlanNode node;
  PAWL_CHECK(state_.held_plan(in, index + 1, node));
  start_child(in, index + 1, node);
}

void Flow::advance_map(const RunId& id) {
  while (true) {
    const Run& in = run(id);
    uint32_t limit = in.concurrency == 0 ? in.total : in.concurrency;
    if (in.next_child >= in.total || in.next_child - in.done() >= limit) return;
    PlanNode node;
    PAWL_CHECK(state_.held_plan(in, in.next_child, node));
    uint32_t before = in.next_child;
    start_child(in, before, node);
    if (run(id).next_child == before) return;  // it ended without starting; its end brings us back
  }
}

// Starts what has become possible; cancels what never will.
void Flow::advance_dag(const RunId& id, uint32_t index, ChildState outcome) {
  DagEdges edges = dag_edges(state_, run(id));
  for (uint32_t next : edges.dependents[index]) {
    const Run& in = run(id);
    if (in.child(next) != ChildState::Waiting) continue;
    PlanNode node;
    PAWL_CHECK(state_.held_plan(in, next, node));
    bool ready = true;
    for (uint32_t dependency : edges.depends_on[next])
      ready &= in.child(dependency) == ChildState::Completed ||
               in.child(dependency) == ChildState::Skipped;
    if (outcome == ChildState::Failed || outcome == ChildState::Cancelled) {
      auto event = event_for<RunChildDone>(in);
      event.index = next;
      event.outcome = ChildState::Cancelled;
      event.type = type_name(node);
      event.reason = "a step it depends on did not complete";
      frame_.emit(event);
      advance_dag(id, next, ChildState::Cancelled);
    } else if (ready) {
      start_child(in, next, node);
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
  push({in.parent.run, in.parent.node, outcome, in.id, std::string(kind_name(in.kind)),
        frame_.now_ms() - in.created_ms, ""});
}

// --- callbacks

void Flow::fire(const Run& in, CallbackRole role) {
  PlanNode node;
  if (!state_.held_plan(in, held_callback(role), node)) return;
  NewJob job;
  PAWL_CHECK(codec::decode(node.job, job));
  uint32_t index = callback_index(role, in.generation);
  job.parent = {in.id, index};
  if (job.id.is_nil() || in.generation > 0) job.id = JobId(child_id(in.id, index));
  auto event = event_for<RunCallbackFired>(in);
  event.role = role;
  event.job = job.id;
  frame_.emit(event);
  auto placed = place_job(frame_, job);
  if (!placed.ok())
    push({in.id, index, ChildState::Failed, {}, job.type, 0, placed.error().message});
}

void Flow::fire_outcome(const RunId& id, uint32_t wanted) {
  bool good = run(id).failed == 0 && run(id).cancelled == 0;
  for (CallbackRole role :
       {CallbackRole::OnComplete, good ? CallbackRole::OnSuccess : CallbackRole::OnFailure})
    if ((wanted & bit(role)) != 0) fire(run(id), role);
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

// --- stopping and trying again

// Jobs at work may finish; everything that waits is cancelled.
void Flow::stop_children(const RunId& id, const std::string& reason) {
  uint32_t total = run(id).total;
  for (uint32_t i = 0; i < total; ++i) {
    if (run(id).child(i) != ChildState::Started) continue;
    Uuid child = child_of(state_, run(id), i);
    if (const Run* nested = state_.find_run(RunId(child))) {
      RunId nested_id = nested->id;
      if (is_terminal(nested->state)) continue;
      finish(nested_id, RunState::Cancelled, reason);
      stop_children(nested_id, reason);
      fire(run(nested_id), CallbackRole::OnCancel);
    } else if (const Job* job = state_.find_job(JobId(child));
               job != nullptr && !is_terminal(job->state) && job->state != JobState::Active) {
      cancel_job(frame_, *job, reason);
    }
  }
}

void Flow::restart_child(const Run& in, uint32_t index) {
  RunId id = in.id;
  Uuid child = child_of(state_, in, index);
  if (state_.find_run(RunId(child)) != nullptr) return retry(RunId(child));
  if (const Job* job = state_.find_job(JobId(child))) {
    if (is_terminal(job->state)) revive(frame_, *job);
    return;
  }
  PlanNode node;
  if (!state_.held_plan(run(id), index, node)) return;
  start_child(run(id), index, node);
}

void Flow::retry(const RunId& id) {
  const Run& in = run(id);
  uint32_t failed_callbacks = in.callbacks_failed;
  auto event = event_for<RunRetried>(in);
  for (uint32_t i = 0; i < in.total; ++i) {
    ChildState child = in.child(i);
    bool stopped = child == ChildState::Failed || child == ChildState::Cancelled;
    bool has_begun = state_.find_job(JobId(child_of(state_, in, i))) != nullptr ||
                     state_.find_run(RunId(child_of(state_, in, i))) != nullptr;
    if (stopped && (has_begun || child == ChildState::Failed)) event.restart.push_back(i);
  }
  frame_.emit(event);
  for (uint32_t index : event.restart) restart_child(run(id), index);
  if (run(id).kind == RunKind::Batch && run(id).done() == run(id).total)
    fire_outcome(id, failed_callbacks == 0 ? ~0u : failed_callbacks);
}

}  // namespace

// --- commands

Result<RunId> create_run(Frame& frame, const PlanNode& given, const std::string& tenant) {
  if (!given.id.is_nil() && frame.state().find_run(given.id) != nullptr)
    return Error{ErrorCode::Duplicate,
                 "a workflow with the id " + given.id.text() + " exists already"};
  PAWL_TRY_DO(admit_run(frame.state(), given));
  Flow flow(frame);
  PlanNode plan = given;
  std::string problem;
  if (plan.run_kind == RunKind::Map && !flow.expand_map(plan, {}, problem))
    return Error{ErrorCode::InvalidContent, problem};
  RunId id = flow.create(plan, {}, tenant);
  flow.drain();
  return id;
}

Status cancel_run(Frame& frame, const RunId& id, const std::string& reason) {
  const Run* run = frame.state().find_run(id);
  if (run == nullptr) return Error{ErrorCode::NotFound, "Workflow " + id.text() + " not found"};
  if (is_terminal(run->state))
    return Error{ErrorCode::Conflict, "Workflow " + id.text() + " is already in terminal state '" +
                                          std::string(state_name(run->state)) + "'"};
  Flow flow(frame);
  flow.finish(id, RunState::Cancelled, reason);
  flow.stop_children(id, "its workflow was cancelled");
  flow.fire(*frame.state().find_run(id), CallbackRole::OnCancel);
  flow.drain();
  return ok_status();
}

Status retry_run(Frame& frame, const RunId& id) {
  const Run* run = frame.state().find_run(id);
  if (run == nullptr) return Error{ErrorCode::NotFound, "Workflow " + id.text() + " not found"};
  if (run->state == RunState::Running && run->generation > 0) return ok_status();
  if (!run->parent.run.is_nil())
    return Error{ErrorCode::Conflict, "Workflow " + id.text() + " is part of " +
                                          run->parent.run.text() + "; retry that one"};
  if (run->state != RunState::Failed)
    return Error{ErrorCode::Conflict, "Workflow " + id.text() + " is " +
                                          std::string(state_name(run->state)) +
                                          "; only a failed one can be retried"};
  Flow flow(frame);
  flow.retry(id);
  flow.drain();
  return ok_status();
}

void run_due(Frame& frame, const RunId& id) {
  const Run* run = frame.state().find_run(id);
  if (run == nullptr || run->state != RunState::Running) return;
  bool cancels = run->on_timeout == RunTimeout::Cancel;
  Flow flow(frame);
  flow.finish(id, cancels ? RunState::Cancelled : RunState::Failed,
              "it ran longer than its timeout_ms");
  flow.stop_children(id, "its workflow timed out");
  if (cancels) flow.fire(*frame.state().find_run(id), CallbackRole::OnCancel);
  flow.drain();
}

void job_ended(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job(id);
  if (job == nullptr || job->parent.run.is_nil()) return;
  Flow::End end;
  end.run = job->parent.run;
  end.index = job->parent.node;
  end.outcome = job->state == JobState::Completed   ? ChildState::Completed
                : job->state == JobState::Cancelled ? ChildState::Cancelled
                                                    : ChildState::Failed;
  end.child = id;
  end.type = type_of_spec(job->spec);
  end.duration_ms = job->started_ms == 0 ? 0 : job->finished_ms - job->started_ms;
  Flow flow(frame);
  flow.push(std::move(end));
  flow.drain();
}

void job_began(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job(id);
  RunId run_id = job->parent.run;
  while (!run_id.is_nil()) {
    const Run* run = frame.state().find_run(run_id);
    if (run == nullptr || run->started_ms != 0) return;
    frame.emit(event_for<RunStarted>(*run));
    run_id = run->parent.run;
  }
}

bool may_try_again(const State& state, const Job& job) {
  if (job.parent.run.is_nil() || is_callback(job.parent.node)) return true;
  const Run* run = state.find_run(job.parent.run);
  return run == nullptr || run->state == RunState::Running;
}

}  // namespace pawl
