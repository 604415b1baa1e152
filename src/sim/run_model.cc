// The meaning of each run event, and where it is legal.
#include "sim/run_model.h"

#include <algorithm>
#include <utility>

#include "kernel/run.h"
#include "kernel/scripts/effect_request.h"
#include "sim/model.h"
#include "sim/words.h"

namespace pawl::sim {
namespace {

bool is_good(ChildState state) {
  return state == ChildState::Completed || state == ChildState::Skipped;
}

bool is_open(ChildState state) {
  return state == ChildState::Waiting || state == ChildState::Started;
}

}  // namespace

uint32_t ModelRun::count(ChildState wanted) const {
  return static_cast<uint32_t>(std::count(children.begin(), children.end(), wanted));
}

int64_t RunModel::first_due_ms() const {
  int64_t first = 0;
  for (const auto& [id, run] : runs_)
    for (int64_t due_ms : {run.deadline_ms, run.yielded_ms})
      if (!run.over() && !run.forgotten && due_ms != 0 && (first == 0 || due_ms < first))
        first = due_ms;
  return first;
}

bool RunModel::is_in_place(const ModelRun& run, uint32_t index, const Uuid& child) const {
  if (!is_callback(index)) return index < run.filled_by.size() && run.filled_by[index] == child;
  return callback_generation(index) == run.generation &&
         run.callback_jobs[static_cast<size_t>(callback_role(index))] == child;
}

bool RunModel::may_try_again(const JobParent& parent, const JobId& job) const {
  if (parent.run.is_nil()) return true;
  if (const ModelScript* script = jobs_.scripts().existing(parent.run)) return !script->over();
  bool callback = is_callback(index_of(parent.place));
  if (callback && callback_role(index_of(parent.place)) == CallbackRole::OnCancel) return true;
  const ModelRun* run = existing(parent.run);
  return run != nullptr && !run->over() && is_in_place(*run, index_of(parent.place), job);
}

bool RunModel::is_restarted(const JobParent& parent, const JobId& job) const {
  const ModelRun* run = existing(parent.run);
  bool asked =
      retried_.count(parent.run) != 0 || taken_up_.count({parent.run, index_of(parent.place)}) != 0;
  return run != nullptr && asked && !is_callback(index_of(parent.place)) &&
         is_in_place(*run, index_of(parent.place), job) &&
         run->children[index_of(parent.place)] == ChildState::Started;
}

// Its id may belong to another job since it was deleted.
bool RunModel::is_alive(const ModelRun& run, const Uuid& child) const {
  if (child.is_nil()) return false;
  if (const ModelRun* nested = existing(RunId(child))) return !nested->over();
  const ModelJob* job = jobs_.existing(JobId(child));
  return job != nullptr && !job->finished() && job->birth.parent.run == run.birth.run;
}

// --- beginnings

// What a child requires: in a chain the earlier steps, in a dag its dependencies, in a map a free
// place under `concurrency`.
bool RunModel::may_start(const ModelRun& run, uint32_t index) const {
  auto plan = run.plans.find(index);
  switch (run.birth.kind) {
    case RunKind::Chain:
      return std::all_of(run.children.begin(), run.children.begin() + index, is_good);
    case RunKind::Dag:
      return plan != run.plans.end() &&
             std::all_of(plan->second.depends_on.begin(), plan->second.depends_on.end(),
                         [&](uint32_t before) { return is_good(run.children[before]); });
    case RunKind::Map: {
      // Children that a retry restarts already count.
      uint32_t others =
          run.count(ChildState::Started) - (run.children[index] == ChildState::Started ? 1 : 0);
      return run.birth.concurrency == 0 || others < run.birth.concurrency;
    }
    case RunKind::Group:
    case RunKind::Batch:
      return true;
    case RunKind::Script:  // see script_model.h
    case RunKind::Module:  // moved by its world
    case RunKind::None:
      return false;
  }
  return false;
}

void RunModel::take_place(const JobParent& parent, const Uuid& child, const At& at) {
  if (jobs_.scripts().existing(parent.run) != nullptr)
    return jobs_.scripts().child_created(parent, child, at);
  ModelRun* run = step(parent.run, at);
  if (run == nullptr) return;
  tell(parent.run,
       "starts child " + std::to_string(index_of(parent.place)) + " " + short_name(JobId(child)));
  if (index_of(parent.place) >= run->children.size())
    return broken("I5 run", parent.run, "a child in a place that it does not have");
  ChildState& state = run->children[index_of(parent.place)];
  // By a retry, perhaps after a yield, if the previous child was deleted; the new one may have the
  // same id.
  const Uuid& before = run->filled_by[index_of(parent.place)];
  bool retried =
      retried_.count(parent.run) != 0 || (run->generation > 0 && took_turn_.count(parent.run) != 0);
  bool again =
      state == ChildState::Started && retried && (before == child || !is_alive(*run, before));
  if (state != ChildState::Waiting && !again)
    return broken("I4 advance", parent.run, "a child was started twice");
  if (run->over()) broken("I5 run", parent.run, "a child was started after the end");
  if (!may_start(*run, index_of(parent.place)))
    broken("I4 advance", parent.run, "a child started too early");
  auto plan = run->plans.find(index_of(parent.place));
  if (plan != run->plans.end() && plan->second.when == "false")
    broken("I4 advance", parent.run, "a child was started against its condition");
  if (run->birth.kind == RunKind::Map && index_of(parent.place) >= run->birth.concurrency &&
      run->birth.concurrency != 0)
    verdict_.reach(Probe::MapRefill);
  state = ChildState::Started;
  run->filled_by[index_of(parent.place)] = child;
}

void RunModel::job_created(const JobCreated& event, const At& at) {
  if (event.parent.run.is_nil()) return;
  if (!is_callback(index_of(event.parent.place))) return take_place(event.parent, event.job, at);
  sequence_ = at.sequence;
  if (called_.erase(event.job) == 0)
    broken("I4 callback", event.parent.run, "the job of a callback that was not called");
}

void RunModel::job_leased(const JobParent& parent, const JobId& job) {
  const ModelRun* run = existing(parent.run);
  if (run != nullptr && is_in_place(*run, index_of(parent.place), job)) leased_.insert(parent.run);
}

void RunModel::job_moved(const JobParent& parent) {
  if (jobs_.scripts().existing(parent.run) != nullptr) return jobs_.scripts().job_moved(parent.run);
  if (existing(parent.run) != nullptr) touched_.insert(parent.run);
}

void RunModel::happened(const RunCreated& event, const At& at) {
  sequence_ = at.sequence;
  if (existing(event.run) != nullptr) return broken("I5 run", event.run, "created twice");
  if (!event.parent.run.is_nil()) take_place(event.parent, event.run, at);
  tell(event.run, "is created, a " + word(event.kind) + " of " + std::to_string(event.total));
  if (find(event.run) != nullptr) verdict_.reach(Probe::RunIdReused);
  ModelRun& run = runs_[event.run] = {};
  touched_.insert(event.run);
  run.birth = event;
  run.born = run.version = at.sequence;
  run.lives = life_;
  run.children.assign(event.total, ChildState::Waiting);
  run.filled_by.resize(event.total);
  run.deadline_ms = event.timeout_ms == 0 ? 0 : at.time_ms + event.timeout_ms;
  for (const HeldChild& held : event.held) {
    PlanNode plan;
    if (!codec::decode(held.plan, plan)) broken("I1 record", event.run, "a plan cannot be read");
    if (is_callback(held.index)) {
      run.has_callback[static_cast<size_t>(callback_role(held.index))] = true;
    } else if (held.index < event.total) {
      run.plans[held.index] = plan;
    } else {
      broken("I5 run", event.run, "a plan for a child that it does not have");
    }
  }
}

void RunModel::happened(const RunStarted& event, const At& at) {
  ModelRun* run = step(event.run, at);
  if (run == nullptr) return;
  if (run->started) broken("I5 run", event.run, "began twice");
  run->started = true;
}

// --- ends of children

void RunModel::check_outcome(const ModelRun& run, const RunChildDone& event) {
  ChildState expected = ChildState::Waiting;
  if (const ModelRun* nested = existing(RunId(event.child))) {
    expected = nested->state == RunState::Completed   ? ChildState::Completed
               : nested->state == RunState::Failed    ? ChildState::Failed
               : nested->state == RunState::Cancelled ? ChildState::Cancelled
                                                      : ChildState::Waiting;
    verdict_.reach(Probe::NestedFanIn);
  } else if (const ModelJob* job = jobs_.existing(JobId(event.child))) {
    bool its_own =
        job->birth.parent.run == event.run && index_of(job->birth.parent.place) == event.index;
    if (!its_own) return broken("I4 fan-in", event.run, "another's job was counted");
    expected = job->state == JobState::Completed   ? ChildState::Completed
               : job->state == JobState::Cancelled ? ChildState::Cancelled
               : job->state == JobState::Discarded ? ChildState::Failed
                                                   : ChildState::Waiting;
  }
  if (expected == ChildState::Waiting)
    return broken("I4 fan-in", event.run, "a child was counted that has not ended");
  // A child that is cancelled while the run continues counts as failed.
  if (expected == ChildState::Cancelled && !run.over()) expected = ChildState::Failed;
  if (event.outcome != expected)
    broken("count", event.run, "a child was counted as something else");
}

void RunModel::check_never_started(const ModelRun& run, const RunChildDone& event) {
  auto plan = run.plans.find(event.index);
  if (is_alive(run, run.filled_by[event.index]))
    return broken("I4 fan-in", event.run, "a child was counted that is at work");
  switch (event.outcome) {
    case ChildState::Skipped:
      verdict_.reach(run.birth.kind == RunKind::Dag ? Probe::DagSkip : Probe::GuardSkip);
      if (plan == run.plans.end() || plan->second.when.empty() || plan->second.when == "true")
        broken("I4 advance", event.run, "a child was skipped against its condition");
      return;
    case ChildState::Failed:
      verdict_.reach(Probe::ChildNeverStarted);
      if (event.reason.empty()) broken("I7 reason", event.run, "a child failed without a reason");
      return;
    case ChildState::Cancelled: {
      // A retry requested it, it waited for a turn, and the run ended before.
      if (run.over() && run.generation > 0 && run.children[event.index] == ChildState::Started)
        return;
      bool stuck =
          run.birth.kind == RunKind::Dag && plan != run.plans.end() &&
          std::any_of(plan->second.depends_on.begin(), plan->second.depends_on.end(),
                      [&](uint32_t before) {
                        return !is_good(run.children[before]) && !is_open(run.children[before]);
                      });
      verdict_.reach(Probe::DagCancel);
      if (!stuck) broken("I4 advance", event.run, "a child was given up that could have run");
      return;
    }
    case ChildState::Waiting:
    case ChildState::Started:
    case ChildState::Completed:
      return broken("I4 fan-in", event.run, "a child that was never there has ended well");
  }
}

void RunModel::callback_done(ModelRun& run, const RunChildDone& event) {
  CallbackRole role = callback_role(event.index);
  if (callback_generation(event.index) != run.generation)
    return broken("I4 callback", event.run, "a callback of an earlier life was counted");
  if ((run.fired & bit(role)) == 0)
    return broken("I4 callback", event.run, "a callback ended that was not called");
  if ((run.done & bit(role)) != 0)
    return broken("I4 callback", event.run, "a callback ended twice");
  if (!event.child.is_nil()) {
    if (event.child != run.callback_jobs[static_cast<size_t>(role)])
      broken("I4 callback", event.run, "another job was counted as its callback");
    check_outcome(run, event);
  } else {
    called_.erase(run.callback_jobs[static_cast<size_t>(role)]);
  }
  if (life_ != run.fired_life) verdict_.reach(Probe::CallbackAfterCrash);
  run.done |= bit(role);
  if (event.outcome != ChildState::Completed) run.failed |= bit(role);
}

// In a retried map: a failed child starts again when another one has ended.
void RunModel::take_up_again(ModelRun& run, uint32_t index) {
  verdict_.reach(Probe::MapSecondTurn);
  bool waits = run.children[index] == ChildState::Waiting && !run.filled_by[index].is_nil();
  if (run.over() || run.generation == 0 || run.birth.kind != RunKind::Map || !waits)
    return broken("I5 run", run.birth.run, "a child was taken up again that did not wait for it");
  if (!may_start(run, index)) broken("I4 advance", run.birth.run, "a child started too early");
  run.children[index] = ChildState::Started;
  taken_up_.insert({run.birth.run, index});
}

void RunModel::check_counts(const ModelRun& run, const RunEventHead& event) {
  if (event.total != run.children.size() || event.completed != run.good() ||
      event.failed != run.count(ChildState::Failed) ||
      event.cancelled != run.count(ChildState::Cancelled))
    broken("count", event.run, "an event is wrong about how far the run has come");
}

void RunModel::happened(const RunChildDone& event, const At& at) {
  ModelRun* run = step(event.run, at);
  if (run == nullptr) return;
  tell(event.run, "counts child " + std::to_string(event.index) + " as " + word(event.outcome));
  if (is_callback(event.index)) return callback_done(*run, event);
  if (event.index >= run->children.size())
    return broken("I5 run", event.run, "a child in a place that it does not have");
  if (event.outcome == ChildState::Started) return take_up_again(*run, event.index);
  ChildState& state = run->children[event.index];
  if (!is_open(state)) return broken("I4 fan-in", event.run, "a child was counted twice");
  if (event.child.is_nil()) {
    check_never_started(*run, event);
  } else {
    if (event.child != run->filled_by[event.index])
      broken("I4 fan-in", event.run, "another was counted as its child");
    check_outcome(*run, event);
  }
  if (run->over()) verdict_.reach(Probe::CountedAfterTheEnd);
  state = event.outcome;
  check_counts(*run, event);
}

// --- callbacks and the end

uint32_t RunModel::demanded_callbacks(const ModelRun& run) const {
  if (run.birth.kind != RunKind::Batch || !run.all_done()) return 0;
  uint32_t roles = bit(CallbackRole::OnComplete) |
                   bit(run.bad() == 0 ? CallbackRole::OnSuccess : CallbackRole::OnFailure);
  for (size_t role = 0; role < kCallbackRoles; ++role)
    if (!run.has_callback[role]) roles &= ~(1u << role);
  return roles & ~run.spared;
}

void RunModel::happened(const RunCallbackFired& event, const At& at) {
  ModelRun* run = step(event.run, at);
  if (run == nullptr) return;
  tell(event.run, "calls back " + word(event.role));
  if ((run->fired & bit(event.role)) != 0)
    return broken("I4 callback", event.run, "a callback was called twice");
  bool demanded = event.role == CallbackRole::OnCancel
                      ? run->state == RunState::Cancelled
                      : !run->over() && (demanded_callbacks(*run) & bit(event.role)) != 0;
  if (!demanded) broken("I4 callback", event.run, "a callback was called that nothing asked for");
  run->fired |= bit(event.role);
  run->fired_life = life_;
  run->callback_jobs[static_cast<size_t>(event.role)] = event.job;
  called_.insert(event.job);
}

bool RunModel::ended_by_itself(const ModelRun& run, RunState state) const {
  if (run.birth.kind == RunKind::Batch) {
    bool called_back =
        run.all_done() && run.fired == demanded_callbacks(run) && run.done == run.fired;
    return called_back && (state == RunState::Failed) == (run.failed != 0);
  }
  if (state == RunState::Failed && run.birth.kind == RunKind::Chain) return run.bad() > 0;
  return run.all_done() && (state == RunState::Failed) == (run.bad() > 0);
}

void RunModel::happened(const RunFinished& event, const At& at) {
  ModelRun* run = step(event.run, at);
  if (run == nullptr) return;
  tell(event.run, "ends as " + word(event.state));
  check_counts(*run, event);
  if (run->over()) return broken("I5 run", event.run, "ended twice");
  bool late = run->deadline_ms != 0 && run->deadline_ms <= at.time_ms;
  if (event.state == RunState::Running || event.state == RunState::None)
    return broken("I5 run", event.run, "ended in no final state");
  if (event.state == RunState::Completed && !ended_by_itself(*run, event.state))
    broken("I4 fan-in", event.run, "completed before all it consists of");
  if (event.state == RunState::Failed && !ended_by_itself(*run, event.state)) {
    verdict_.reach(Probe::RunTimedOut);
    if (!late || run->birth.on_timeout != RunTimeout::Fail)
      broken("I4 fan-in", event.run, "failed without a cause");
  }
  if (event.state == RunState::Cancelled) {
    verdict_.reach(Probe::RunCancelled);
    const ModelRun* around = existing(run->birth.parent.run);
    bool with_parent = around != nullptr && around->over();
    const ModelScript* script = jobs_.scripts().existing(run->birth.parent.run);
    if (script != nullptr)
      with_parent = script->effects.count(index_of(run->birth.parent.place)) == 0;
    bool timed_out = late && run->birth.on_timeout == RunTimeout::Cancel;
    if (event.reason != kAskedFor && !with_parent && !timed_out)
      broken("I5 run", event.run, "cancelled without a cause");
  }
  if (event.failed_callbacks != run->failed)
    broken("count", event.run, "wrong about the callbacks that failed");
  run->state = event.state;
  run->yielded_ms = 0;
}

void RunModel::happened(const RunRetried& event, const At& at) {
  ModelRun* run = step(event.run, at);
  if (run == nullptr) return;
  tell(event.run, "is retried");
  bool nested = !run->birth.parent.run.is_nil();
  bool with_parent = nested && retried_.count(run->birth.parent.run) != 0;
  if (nested ? !with_parent : run->state != RunState::Failed)
    broken("I5 run", event.run, "retried though nobody may");
  if (!run->over()) broken("I5 run", event.run, "retried while running");
  verdict_.reach(nested ? Probe::NestedRunRetried : Probe::RunRetried);
  retried_.insert(event.run);
  std::set<uint32_t> restart(event.restart.begin(), event.restart.end());
  bool nothing_else = run->bad() == 0 && run->all_done();
  run->spared = nothing_else ? run->done & ~run->failed : 0;
  uint32_t room = UINT32_MAX;
  if (run->birth.concurrency != 0)
    room =
        run->birth.concurrency - std::min(run->birth.concurrency, run->count(ChildState::Started));
  if (restart.size() > room) broken("I4 advance", event.run, "a retry starts more than may work");
  bool full = restart.size() == room;
  for (uint32_t i = 0; i < run->children.size(); ++i) {
    ChildState& state = run->children[i];
    bool again = restart.erase(i) != 0;
    if (is_good(state) || is_open(state)) {
      if (again) broken("I5 run", event.run, "what had not failed is done again");
      continue;
    }
    if (state == ChildState::Failed && !again && !full)
      broken("I5 run", event.run, "what had failed is not done again");
    state = again ? ChildState::Started : ChildState::Waiting;
  }
  if (!restart.empty()) broken("I5 run", event.run, "retries a child that it does not have");
  run->state = RunState::Running;
  ++run->generation;
  run->fired = run->done = run->failed = 0;
  run->deadline_ms = run->birth.timeout_ms == 0 ? 0 : at.time_ms + run->birth.timeout_ms;
}

void RunModel::happened(const RunYielded& event, const At& at) {
  ModelRun* run = step(event.run, at);
  if (run == nullptr) return;
  if (run->over()) broken("I5 run", event.run, "yields though it is over");
  if (run->yielded_ms != 0) took_turn_.insert(event.run);
  run->yielded_ms = run->yielded_ms == 0 ? at.time_ms + 1 : 0;
}

void RunModel::happened(const RunForgotten& event, const At& at) {
  ModelRun* run = step(event.run, at);
  if (run == nullptr) return;
  verdict_.reach(Probe::RunForgotten);
  for (const ModelRun* around = run; around != nullptr; around = existing(around->birth.parent.run))
    if (!around->over()) broken("I1 kept", event.run, "forgotten while it or one around it runs");
  run->forgotten = true;
}

}  // namespace pawl::sim
