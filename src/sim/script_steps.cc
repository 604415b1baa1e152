// Events of lists and steps of a run, and where they are legal.
#include <algorithm>

#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/step_names.h"
#include "sim/model.h"
#include "sim/script_model.h"

namespace pawl::sim {
namespace {

uint32_t open_lists(const StepAt& owner) {
  uint32_t count = 0;
  for (const auto& [path, scope] : owner.run->scopes)
    if (scope.owner == owner.path && !scope.closed) ++count;
  return count;
}

bool asks_outside(const plan::Step& step) {
  switch (step.type) {
    case plan::StepType::Action:
      return step.action.rfind("workflow.", 0) != 0 || step.action == "workflow.run";
    case plan::StepType::Job:
    case plan::StepType::Composition:
    case plan::StepType::Subworkflow:
      return true;
    case plan::StepType::Condition:
    case plan::StepType::Loop:
    case plan::StepType::Parallel:
    case plan::StepType::Wait:
    case plan::StepType::Decision:
    case plan::StepType::Test:
    case plan::StepType::Sequence:
      return false;
  }
  return false;
}

bool is_cut_off(const std::string& reason) {
  return reason == "run_failed" || reason == "cancelled" || reason == "step_failed" ||
         reason == "race_lost";
}

int64_t earlier(int64_t a, int64_t b) { return a == 0 || b == 0 ? a + b : std::min(a, b); }

// The delay before a step's next attempt, as in the reference.
int64_t backoff_of(const plan::RetryPolicy& policy, uint32_t failed_attempt) {
  constexpr int64_t kMonthMs = int64_t{30} * 24 * 3600 * 1000;
  int64_t cap_ms = policy.max_delay_ms == 0 ? kMonthMs : policy.max_delay_ms;
  double wait = static_cast<double>(policy.delay_ms);
  if (policy.backoff == plan::Backoff::Linear) wait *= failed_attempt;
  if (policy.backoff == plan::Backoff::Exponential)
    for (uint32_t i = 1; i < failed_attempt; ++i) wait *= policy.multiplier_milli / 1000.0;
  return wait >= static_cast<double>(cap_ms) ? cap_ms : static_cast<int64_t>(wait);
}

}  // namespace

bool ScriptModel::locate(const RunId& id, const std::string& path, const At& at, StepAt& out) {
  ModelScript* run = step(id, at);
  if (run == nullptr) return false;
  auto [around, name] = split_step(path);
  auto scope = run->scopes.find(std::string(around));
  uint32_t position =
      scope == run->scopes.end() ? plan::kNoStep : run->plan->find(scope->second.list, name);
  if (scope == run->scopes.end() || position >= scope->second.steps.size()) {
    broken("I5 step", id, "there is no step '" + path + "'");
    return false;
  }
  out = {run,
         &scope->second,
         &scope->second.steps[position],
         &run->plan->at(scope->second.list, position),
         path,
         at.time_ms};
  return true;
}

// --- lists

void ScriptModel::check_iteration(const StepAt& owner, const ScopeOpened& event) {
  const plan::Step& step = *owner.plan;
  const RunId& id = event.run;
  bool each = step.loop_mode == plan::LoopMode::ForEach;
  if (!event.iteration || event.index != owner.step->next)
    return broken("I4 loop", id,
                  owner.path + " enters iteration " + std::to_string(event.index) + " instead of " +
                      std::to_string(owner.step->next));
  if (owner.run->paused) broken("I4 loop", id, "an iteration begins during a pause");
  if (event.scope != join_path(owner.path, plan::iteration_name(event.index)))
    broken("I4 loop", id, "an iteration has another's name");
  if (step.max_iterations != 0 && event.index >= step.max_iterations)
    broken("I4 loop", id, owner.path + " goes past its bound");
  if (each && event.index >= owner.step->count)
    broken("I4 loop", id, owner.path + " goes past its list");
  uint32_t at_once = each ? step.concurrency : 1;
  if (at_once > 1 && open_lists(owner) >= at_once)
    broken("I4 loop", id, owner.path + " has more iterations at once than it may");
  if (event.index > 0) {
    auto before =
        owner.run->scopes.find(join_path(owner.path, plan::iteration_name(event.index - 1)));
    // A failed list that is still open (an all_done step is running) has not ended.
    if (before == owner.run->scopes.end() || (before->second.closed && before->second.failed))
      broken("I4 loop", id, owner.path + " goes on after an iteration that failed");
    if (at_once == 1 && before != owner.run->scopes.end() && !before->second.closed)
      broken("I4 loop", id, owner.path + " has two iterations at once");
    if (life_ != owner.step->life) verdict_.reach(Probe::LoopAcrossCrash);
  }
  if (each || (step.loop_mode == plan::LoopMode::Until && event.index == 0)) return;
  bool until = step.loop_mode == plan::LoopMode::Until;
  Guess goes_on = guess(*owner.run, owner.scope->path, step.expression,
                        static_cast<int64_t>(event.index) - (until ? 1 : 0));
  if (goes_on.kind == (until ? Guess::True : Guess::False))
    broken("I4 loop", id, owner.path + " goes on against its condition");
}

void ScriptModel::check_owner(const StepAt& owner, const ScopeOpened& event) {
  const RunId& id = event.run;
  const plan::Step& step = *owner.plan;
  if (owner.run->phase == ScriptPhase::Rollback && event.list == step.compensate &&
      event.scope == join_path(owner.path, plan::kCompensateName)) {
    if (owner.run->compensate.empty() || owner.run->compensate.front() != owner.path)
      broken("I4 rollback", id, owner.path + " is undone out of its turn");
    if (std::count(owner.run->compensated.begin(), owner.run->compensated.end(), owner.path) != 0)
      broken("I4 rollback", id, owner.path + " is undone twice");
    return;
  }
  if (owner.step->state != StepState::Running)
    return broken("I5 step", id, "a list opens inside '" + owner.path + "', which is not at work");
  uint32_t list = plan::kNoList;
  std::string name;
  switch (step.type) {
    case plan::StepType::Loop:
      return check_iteration(owner, event);
    case plan::StepType::Condition:
      name = owner.step->choice;
      list = step.otherwise;
      for (const plan::Branch& branch : step.branches)
        if (branch.key == name) list = branch.list;
      break;
    case plan::StepType::Sequence:
      name = plan::kSequenceName;
      list = step.branches.front().list;
      break;
    case plan::StepType::Parallel:
      name = plan::branch_name(event.index);
      if (event.index < step.branches.size()) list = step.branches[event.index].list;
      break;
    case plan::StepType::Action:
    case plan::StepType::Wait:
    case plan::StepType::Decision:
    case plan::StepType::Test:
    case plan::StepType::Job:
    case plan::StepType::Composition:
    case plan::StepType::Subworkflow:
      return broken("I5 step", id, "'" + owner.path + "' has no lists");
  }
  if (event.list != list || event.scope != join_path(owner.path, name))
    broken("I5 step", id, "'" + owner.path + "' opens another list than it should");
}

void ScriptModel::happened(const ScopeOpened& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  auto known = run->scopes.find(event.scope);
  if (known != run->scopes.end())
    return broken("I5 step", event.run, "the list '" + event.scope + "' is entered twice");
  if (run->over()) broken("I5 script", event.run, "a list is entered after the end");
  if (event.owner.empty()) {
    bool hook = event.scope == "on_complete" ? run->outcome == ScriptStatus::Completed
                                             : run->outcome == ScriptStatus::Failed;
    bool fits = event.scope.empty() ? run->phase == ScriptPhase::Steps && !run->over()
                                    : run->phase == ScriptPhase::Hooks && hook;
    if (!fits) broken("I5 script", event.run, "enters '" + event.scope + "' when it should not");
    if (!event.scope.empty()) verdict_.reach(Probe::HookRan);
  } else {
    StepAt owner;
    if (!locate(event.run, event.owner, at, owner)) return;
    check_owner(owner, event);
    owner.step->next = std::max(owner.step->next, event.index + 1);
  }
  ModelScope& scope = run->scopes[event.scope];
  scope.path = event.scope;
  scope.owner = event.owner;
  scope.owner_position = event.owner_position;
  scope.list = event.list;
  scope.iteration = event.iteration;
  scope.index = event.index;
  scope.steps.resize(run->plan->lists[event.list].steps.size());
  if (scope.steps.size() != event.steps) broken("count", event.run, "a list has other steps");
}

void ScriptModel::happened(const ScopeClosed& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  auto found = run->scopes.find(event.scope);
  if (found == run->scopes.end() || found->second.closed)
    return broken("I5 step", event.run, "the list '" + event.scope + "' is closed twice");
  ModelScope& scope = found->second;
  if (event.failed != scope.failed)
    broken("I4 step", event.run, "the list '" + event.scope + "' ends as it should not");
  for (uint32_t i = 0; i < scope.steps.size(); ++i)
    if (!scope.steps[i].over() && !run->plan->at(scope.list, i).dormant)
      broken("I5 step", event.run, "the list '" + event.scope + "' closes over an open step");
  scope.closed = true;
}

// --- beginnings

void ScriptModel::check_start(const StepAt& at, const StepStarted& event) {
  const RunId& id = event.run;
  bool hurried = std::any_of(received_.begin(), received_.end(), [&](const SignalReceived& signal) {
    return signal.run == id && signal.type == "retry";
  });
  if (at.scope->closed) broken("I5 step", id, at.path + " begins in a closed list");
  if (at.run->paused && !hurried) broken("I5 step", id, at.path + " begins during a pause");
  if (event.attempt != at.step->attempt + 1)
    broken("I4 retry", id, at.path + " skips or repeats an attempt");
  if (at.step->state == StepState::Pending) {
    bool called = at.plan->dormant && called_upon(*at.run, *at.scope, at.plan->position);
    // Steps that became ready together begin together, even if one of them fails at once.
    bool failed = at.scope->failed && at.scope->failed_in != frame_;
    bool ready = at.step->ready != 0;
    if (!ready &&
        (at.plan->dormant ? !called
                          : readiness(*at.run, *at.scope, *at.plan, failed) != Ready::Run))
      broken("I4 step", id, at.path + " begins before what it depends on");
    if (called) verdict_.reach(Probe::FallbackRan);
    bool held = at.step->ready == 2;
    if (!held && guess(*at.run, at.scope->path, at.plan->condition, -1).kind == Guess::False)
      broken("I4 step", id, at.path + " begins against its condition");
  } else if (at.step->state == StepState::Retrying) {
    if (at.step->due_ms > at.time_ms && !hurried)
      broken("I4 retry", id, at.path + " is tried again before its time");
    if (event.attempt > retries_of(at) + 1)
      broken("I4 retry", id, at.path + " is tried more often than it may be");
    verdict_.reach(life_ != at.step->life ? Probe::RetryAfterCrash : Probe::StepRetried);
  } else {
    broken("I5 step", id, at.path + " begins while it is at work or over");
  }
  bool must_ask = asks_outside(*at.plan) &&
                  guess(*at.run, at.scope->path, at.plan->condition, -1).kind != Guess::Error;
  if (must_ask && at.run->first_effect != 0 && event.effect != at.run->next_effect)
    broken("I3 effect", id, at.path + " asks the outside under a number that is not the next");
  for (const auto& [first, next] : at.run->numbers_before)
    if (event.effect != 0 && event.effect >= first && event.effect < next)
      broken("I3 effect", id, at.path + " asks under a number that a forgotten run has used");
  if (!asks_outside(*at.plan) && event.effect != 0)
    broken("I3 effect", id, at.path + " asks the outside for nothing");
}

void ScriptModel::happened(const StepStarted& event, const At& when) {
  StepAt at;
  if (!locate(event.run, event.step, when, at)) return;
  tell(event.run, event.step + " begins, attempt " + std::to_string(event.attempt) +
                      (event.effect == 0 ? "" : ", effect " + std::to_string(event.effect)));
  if (at.run->over()) broken("I5 script", event.run, "a step begins after the end");
  check_start(at, event);
  if (event.due == DueKind::Timeout && event.due_ms != when.time_ms + at.plan->timeout_ms)
    broken("I7 script timers", event.run, at.path + " has another timeout than it should");
  if (event.due == DueKind::Wait && event.due_ms < when.time_ms + at.plan->duration_ms)
    broken("I7 script timers", event.run, at.path + " waits less than it should");
  bool times_out = at.plan->timeout_ms != 0 && at.plan->type != plan::StepType::Wait;
  if (times_out && event.due != DueKind::Timeout)
    broken("I7 script timers", event.run, at.path + " begins without its timeout");
  ModelStep& step = *at.step;
  if (step.started_ms == 0) step.started_ms = when.time_ms;
  step.state = StepState::Running;
  step.ready = 0;
  step.attempt = event.attempt;
  step.effect = event.effect;
  step.choice.clear();
  step.items.clear();
  step.count = step.next = 0;
  step.life = life_;
  set_due(step, event.due_ms, event.due);
  if (event.effect == 0) return;
  at.run->effects[event.effect] = event.step;
  at.run->asked[event.step].push_back(event.effect);
  if (at.run->first_effect == 0) at.run->first_effect = event.effect;
  at.run->next_effect = event.effect + 1;
}

void ScriptModel::happened(const StepSuspended& event, const At& when) {
  StepAt at;
  if (!locate(event.run, event.step, when, at)) return;
  tell(event.run,
       event.step + " waits for " + (event.signal.empty() ? "a decision" : event.signal));
  bool again = at.step->state == StepState::Suspended && at.step->due == DueKind::Deadline &&
               at.step->due_ms <= when.time_ms;
  if (at.step->state != StepState::Running && !again)
    broken("I5 step", event.run, at.path + " waits though it is not at work");
  auto question = decisions_.find(event.decision);
  if (!event.decision.empty() &&
      (question == decisions_.end() || question->second.status != "pending"))
    broken("I4 decision", event.run, at.path + " waits for a question that is not open");
  int64_t wait_ms = earlier(at.plan->wait_timeout_ms, at.plan->timeout_ms);
  if (!again && event.due_ms != (wait_ms == 0 ? 0 : when.time_ms + wait_ms))
    broken("I7 script timers", event.run, at.path + " has another deadline than it should");
  at.step->state = StepState::Suspended;
  at.step->decision = event.decision;
  at.step->signal = event.signal;
  set_due(*at.step, event.due_ms, event.due_ms == 0 ? DueKind::None : DueKind::Deadline);
}

void ScriptModel::happened(const ChildMoved& event, const At& when) {
  StepAt at;
  if (!locate(event.run, event.step, when, at)) return;
  tell(event.run, event.step + (event.suspended ? " waits for people inside" : " goes on inside"));
  const ModelScript* child = child_script(at);
  if (child == nullptr || child->birth.run != event.child)
    return broken("I4 child", event.run, at.path + " hears of a run that is not its own");
  if ((child->status == ScriptStatus::Suspended) != event.suspended)
    broken("I7 rest", event.run, at.path + " hears of its run what is not so");
  StepState before = event.suspended ? StepState::Running : StepState::Suspended;
  if (at.step->state != before) broken("I5 step", event.run, at.path + " hears it twice");
  if (event.suspended) verdict_.reach(Probe::ChildRunSuspended);
  at.step->state = event.suspended ? StepState::Suspended : StepState::Running;
}

// --- ends

void ScriptModel::happened(const StepRetrying& event, const At& when) {
  StepAt at;
  if (!locate(event.run, event.step, when, at)) return;
  tell(event.run, event.step + " fails, and will be tried again: " + event.error.code);
  bool at_work = at.step->state == StepState::Running || at.step->state == StepState::Suspended;
  if (!at_work) broken("I5 step", event.run, at.path + " fails though it is not at work");
  if (event.attempt != at.step->attempt || event.attempt > retries_of(at))
    broken("I4 retry", event.run, at.path + " is to be tried more often than it may be");
  Cause cause = cause_of(at, event.error);
  if (cause == Cause::None)
    broken("I3 receipt", event.run,
           at.path + " fails by what nobody answered: " + event.error.code);
  if (cause == Cause::Final) broken("I4 retry", event.run, at.path + " is tried again in vain");
  plan::RetryPolicy policy = at.plan->retry;
  if (policy.max == 0) policy = {5, plan::Backoff::Exponential, 1000, 0};
  if (event.due_ms != when.time_ms + backoff_of(policy, event.attempt))
    broken("I4 retry", event.run, at.path + " will be tried again at another time than it should");
  at.run->effects.erase(at.step->effect);
  at.step->effect = 0;
  at.step->state = StepState::Retrying;
  at.step->error = event.error;
  at.step->life = life_;
  set_due(*at.step, event.due_ms, DueKind::Retry);
}

void ScriptModel::check_skip(const StepAt& at, const std::string& reason) {
  const RunId& id = at.run->birth.run;
  bool pending = at.step->state == StepState::Pending;
  if (reason == "condition") {
    Guess holds = guess(*at.run, at.scope->path, at.plan->condition, -1);
    if (!pending || holds.kind == Guess::True || holds.kind == Guess::Error)
      broken("I4 step", id, at.path + " is skipped against its condition");
    bool failed = at.scope->failed && at.scope->failed_in != frame_;
    if (!at.plan->dormant && at.step->ready == 0 &&
        readiness(*at.run, *at.scope, *at.plan, failed) != Ready::Run)
      broken("I4 step", id, at.path + " is judged before what it depends on");
  } else if (reason == "upstream_failed") {
    if (!pending || readiness(*at.run, *at.scope, *at.plan) != Ready::Skip)
      broken("I4 step", id, at.path + " is given up though it could run");
  } else if (reason == "skipped_by_signal" || reason == "decision_cancelled") {
    bool asked = std::any_of(received_.begin(), received_.end(), [&](const SignalReceived& signal) {
      return signal.run == id && !signal.step.empty();
    });
    if (!asked) broken("I4 signal", id, at.path + " is skipped though nobody said so");
    verdict_.reach(Probe::StepSkippedBySignal);
  } else if (reason == "on_failure") {
    if (at.plan->on_error != plan::OnError::Skip) broken("I4 step", id, at.path + " is skipped");
  } else if (is_cut_off(reason)) {
    cut_off_.push_back({id, at.path, reason});
  } else {
    broken("I5 step", id, at.path + " is skipped for a reason that is not listed: " + reason);
  }
}

void ScriptModel::happened(const StepEnded& event, const At& when) {
  StepAt at;
  if (!locate(event.run, event.step, when, at)) return;
  tell(event.run, event.step + " is " + std::string(step_state_name(event.state)) + " " +
                      event.reason + event.error.code);
  ModelStep& step = *at.step;
  const RunId& id = event.run;
  if (step.over()) return broken("I5 step", id, at.path + " ends twice");
  if (at.scope->closed) broken("I5 step", id, at.path + " ends in a closed list");
  bool fails = event.state == StepState::Failed || event.handled;
  if (fails) {
    Cause cause = cause_of(at, event.error);
    if (step.state == StepState::Pending) broken("I5 step", id, at.path + " fails unbegun");
    if (cause == Cause::None)
      broken("I3 receipt", id, at.path + " fails by what nobody answered: " + event.error.code);
    if (cause == Cause::Again && step.attempt <= retries_of(at))
      broken("I4 retry", id, at.path + " is given up before its last attempt");
    if (event.state == StepState::Completed && at.plan->on_error != plan::OnError::Ignore)
      broken("I4 step", id, at.path + " ignores what it should not");
  } else if (event.state == StepState::Completed) {
    if (step.state == StepState::Pending || step.state == StepState::Retrying)
      broken("I5 step", id, at.path + " completes though it is not at work");
    check_completion(at, event.output);
  }
  if (event.state == StepState::Skipped) check_skip(at, event.reason);
  at.run->effects.erase(step.effect);
  step.effect = 0;
  step.state = event.state;
  step.output = event.output;
  step.error = event.error;
  step.handled = event.handled;
  step.reason = event.reason;
  step.decision.clear();
  step.done_sequence = when.sequence;
  set_due(step, 0, DueKind::None);
  if (event.state == StepState::Failed && !event.handled && !at.scope->failed) {
    at.scope->failed = true;
    at.scope->failed_in = frame_;
    at.scope->error = event.error;
  }
}

// --- what a step remembers

void ScriptModel::check_race(const StepAt& at, const StepNoted& event) {
  const RunId& id = event.run;
  if (!at.step->choice.empty()) return broken("I4 race", id, at.path + " has two winners");
  auto winner = at.run->scopes.find(at.path + ".branch_" + event.choice);
  if (winner == at.run->scopes.end() || !winner->second.closed || winner->second.failed)
    broken("I4 race", id, at.path + " is won by a branch that has not completed");
  verdict_.reach(Probe::RaceWon);
}

void ScriptModel::happened(const StepNoted& event, const At& when) {
  if (event.step.empty()) return void(step(event.run, when));
  StepAt at;
  if (!locate(event.run, event.step, when, at)) return;
  if (!event.choice.empty() && at.plan->type == plan::StepType::Parallel) check_race(at, event);
  if (!event.choice.empty() && at.plan->type == plan::StepType::Condition) {
    Guess value = guess(*at.run, at.scope->path, at.plan->expression, -1);
    std::string key = value.kind == Guess::True    ? "true"
                      : value.kind == Guess::False ? "false"
                                                   : std::to_string(value.number);
    bool known = value.kind != Guess::Unknown && value.kind != Guess::Error;
    if (value.kind == Guess::Error || (known && event.choice != key && event.choice != "default"))
      broken("I4 step", event.run, at.path + " takes another branch than it should");
  }
  if (!event.choice.empty()) at.step->choice = event.choice;
  if (!event.items.empty()) at.step->items = event.items;
  if (event.count != 0) at.step->count = event.count;
}

}  // namespace pawl::sim
