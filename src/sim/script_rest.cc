// At the end of a frame every run of a definition that it touched is at rest: every ready step has
// begun, and every wait will be ended by something.
#include <algorithm>
#include <tuple>

#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/step_names.h"
#include "sim/model.h"
#include "sim/script_model.h"

namespace pawl::sim {

// A failed step of the list has this one as its fallback.
bool ScriptModel::called_upon(const ModelScript& run, const ModelScope& scope, uint32_t position) {
  for (uint32_t i = 0; i < scope.steps.size(); ++i)
    if (scope.steps[i].state == StepState::Failed && scope.steps[i].handled &&
        run.plan->at(scope.list, i).fallback == position)
      return true;
  return false;
}

// The table of triggers in the reference of the language.
ScriptModel::Ready ScriptModel::readiness(const ModelScript& run, const ModelScope& scope,
                                          const plan::Step& step, bool list_failed) const {
  size_t open = 0, failed = 0, skipped = 0, completed = 0;
  for (uint32_t before : step.depends_on) {
    const ModelStep& end = effective_step(*run.plan, scope, before);
    if (!end.over())
      ++open;
    else if (end.state == StepState::Completed)
      ++completed;
    else
      ++(end.state == StepState::Failed ? failed : skipped);
  }
  switch (step.trigger) {
    case plan::Trigger::AllDone:
      return open == 0 ? Ready::Run : Ready::Wait;
    case plan::Trigger::OneSuccess:
      if (completed > 0 || step.depends_on.empty()) return Ready::Run;
      return open == 0 ? Ready::Skip : Ready::Wait;
    case plan::Trigger::AllSuccess:
      if (failed + skipped > 0) return Ready::Skip;
      break;
    case plan::Trigger::NoneFailed:
      if (failed > 0) return Ready::Skip;
      break;
  }
  if (list_failed) return Ready::Skip;
  return open == 0 ? Ready::Run : Ready::Wait;
}

// --- what is left for a later frame

void ScriptModel::happened(const ScriptYielded& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  verdict_.reach(Probe::ScriptYielded);
  run->yielded_ms = run->yielded_ms == 0 ? at.time_ms + 1 : 0;
}

void ScriptModel::happened(const PartsMade& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  if (run->over()) broken("I5 script", event.run, "makes something though it is over");
}

void ScriptModel::happened(const StepsReady& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  auto scope = run->scopes.find(event.scope);
  if (scope == run->scopes.end() || scope->second.closed)
    return broken("I5 script", event.run, "a list that is not open has ready steps");
  for (uint32_t position : event.positions) {
    if (position >= scope->second.steps.size())
      return broken("I5 script", event.run, "a step that is not there is ready");
    ModelStep& step = scope->second.steps[position];
    const plan::Step& plan = run->plan->at(scope->second.list, position);
    bool failed = scope->second.failed && scope->second.failed_in != frame_;
    bool may = plan.dormant ? called_upon(*run, scope->second, position)
                            : readiness(*run, scope->second, plan, failed) == Ready::Run;
    if (!event.withdrawn && step.ready == 0 && (!may || step.state != StepState::Pending))
      broken("I4 step", event.run, plan.id + " is called ready, and is not");
    step.ready = event.withdrawn ? 0 : event.guarded ? 2 : 1;
  }
}

// --- the end of a frame

void ScriptModel::frame_over(const At& at) {
  sequence_ = at.sequence;
  for (const SignalReceived& signal : delivered_)
    broken("I4 signal", signal.run, "a signal was taken and reached nobody: " + signal.type);
  for (const CutOff& cut : cut_off_) check_cut_off(cut);
  for (const RunId& id : touched_) {
    auto run = runs_.find(id);
    if (run != runs_.end() && !run->second.forgotten) check_at_rest(run->second);
  }
  ++frame_;
  touched_.clear();
  retried_.clear();
  cut_off_.clear();
  received_.clear();
  delivered_.clear();
}

// A running step was stopped: the reason must have occurred.
void ScriptModel::check_cut_off(const CutOff& cut) {
  const ModelScript* run = existing(cut.run);
  if (run == nullptr) return;
  if (cut.reason == "run_failed" || cut.reason == "cancelled") {
    if (run->phase == ScriptPhase::Steps)
      broken("I5 step", cut.run, cut.step + " was stopped, and the run goes on");
    return;
  }
  // Some enclosing step has ended, or restarts.
  std::string path = cut.step;
  for (auto scope = run->scopes.find(std::string(split_step(path).first));
       scope != run->scopes.end() && !scope->second.owner.empty();
       scope = run->scopes.find(std::string(split_step(path).first))) {
    path = scope->second.owner;
    const ModelStep* owner = run->find(path);
    if (owner == nullptr || owner->state == StepState::Running) continue;
    if (cut.reason != "race_lost") return;
    verdict_.reach(Probe::RaceLoserStopped);
    if (!owner->choice.empty() && cut.step.rfind(path + ".branch_" + owner->choice + ".", 0) != 0)
      return;
  }
  if (run->find(cut.step) == nullptr) return;  // its list has restarted since
  broken(cut.reason == "race_lost" ? "I4 race" : "I5 step", cut.run,
         cut.step + " was stopped without a cause: " + cut.reason);
}

// A child run: its end, and its suspension, have reached the step that waits for it.
void ScriptModel::check_parent(const ModelScript& run) {
  const JobParent& parent = run.birth.parent;
  if (parent.run.is_nil() || !is_open(parent.run, effect_of(parent.place))) return;
  if (run.over())
    return broken("I4 child", run.birth.run, "has ended, and the step around it still waits");
  const ModelScript& around = *existing(parent.run);
  const ModelStep* step = around.find(around.effects.at(effect_of(parent.place)));
  bool told = step != nullptr && step->state == StepState::Suspended;
  if (told != (run.status == ScriptStatus::Suspended))
    broken("I7 rest", run.birth.run, "stands otherwise than the step around it says");
}

void ScriptModel::check_at_rest(ModelScript& run) {
  check_parent(run);
  if (run.over() || run.status == ScriptStatus::Pending) return;
  const RunId& id = run.birth.run;
  bool open = false;
  for (const auto& [path, scope] : run.scopes) open = open || !scope.closed;
  if (!open && run.yielded_ms != 0) return;  // its outputs are being assembled
  if (!open) return broken("I7 rest", id, "is at work, and no list of it is open");
  bool busy = false;
  for (const auto& [path, scope] : run.scopes)
    for (const ModelStep& step : scope.steps) busy = busy || step.busy() || step.effect != 0;
  bool moves = !run.paused && run.yielded_ms == 0 && (parallel_steps_ || !busy);
  for (const auto& [path, scope] : run.scopes)
    if (!scope.closed) check_list(run, scope, moves);
  check_status(run);
}

void ScriptModel::check_list(const ModelScript& run, const ModelScope& scope, bool moves) {
  const RunId& id = run.birth.run;
  bool all_over = true;
  for (uint32_t i = 0; i < scope.steps.size(); ++i) {
    const ModelStep& step = scope.steps[i];
    const plan::Step& plan = run.plan->at(scope.list, i);
    if (step.over()) continue;
    if (step.state == StepState::Pending) {
      bool asleep = plan.dormant && !called_upon(run, scope, i);
      all_over = all_over && asleep;
      Ready ready = plan.dormant ? Ready::Run : readiness(run, scope, plan);
      if (asleep || !moves || ready == Ready::Wait) continue;
      broken("I7 rest", id, join_path(scope.path, plan.id) + " could begin, and waits");
      continue;
    }
    all_over = false;
    check_waiting(run, scope, i);
  }
  if (all_over && run.yielded_ms == 0)
    broken("I7 rest", id, "the list '" + scope.path + "' is done, and open");
}

void ScriptModel::check_waiting(const ModelScript& run, const ModelScope& scope,
                                uint32_t position) {
  const ModelStep& step = scope.steps[position];
  std::string path = join_path(scope.path, run.plan->at(scope.list, position).id);
  const RunId& id = run.birth.run;
  if (step.state == StepState::Retrying) {
    if (step.due != DueKind::Retry || step.due_ms == 0)
      broken("I7 rest", id, path + " waits for an attempt that never comes");
    return;
  }
  if (step.state == StepState::Suspended && step.effect == 0) {
    auto question = decisions_.find(step.decision);
    bool asked = question != decisions_.end() && question->second.status == "pending";
    if (step.signal.empty() && !asked)
      broken("I7 rest", id, path + " waits for a decision that nobody is asked for");
    for (const SignalReceived& kept : run.signals)
      if (!step.signal.empty() && kept.step.empty() && kept.type == step.signal)
        broken("I4 signal", id, path + " waits, though its signal is there");
    return;
  }
  if (step.effect != 0) {
    auto child = children_.find({id, step.effect});
    if (child == children_.end()) return;
    const ModelJob* job = jobs_.existing(JobId(child->second));
    const ModelRun* nested = jobs_.runs().existing(RunId(child->second));
    if ((job != nullptr && job->finished()) || (nested != nullptr && nested->over()))
      broken("I4 child", id, path + " still waits for a child that has ended");
    return;
  }
  if (step.due == DueKind::Wait) return;
  for (const auto& [inner_path, inner] : run.scopes)
    if (inner.owner == path && !inner.closed) return;
  if (!run.paused && run.yielded_ms == 0)
    broken("I7 rest", id, path + " is at work, and nothing will end it");
}

// Suspended: only a person, a signal or the end of a pause can advance it.
void ScriptModel::check_status(const ModelScript& run) {
  if (run.yielded_ms != 0) return;  // a later frame, due at once, continues and sets the status
  size_t busy = 0, held = 0, sent = 0;
  for (const auto& [path, scope] : run.scopes)
    for (const ModelStep& step : scope.steps) {
      busy += step.busy() ? 1 : 0;
      sent += step.busy() && step.effect != 0 ? 1 : 0;
      held += step.state == StepState::Suspended ? 1 : 0;
    }
  bool moves = run.paused ? sent > 0 : busy > 0;
  bool suspended = !moves && (held > 0 || run.paused);
  if (suspended != (run.status == ScriptStatus::Suspended))
    broken("I7 rest", run.birth.run,
           suspended ? "waits for people, and says that it is at work"
                     : "is at work, and says that it waits for people");
}

// Versions of a definition may have different limits: a run with room still waits behind one
// without.
bool ScriptModel::is_first_in_line(const ModelScript& run) const {
  auto place = [](const ModelScript& of) {
    bool nested = !of.birth.parent.run.is_nil();
    return std::tuple(!nested, nested ? 0 : -int64_t{of.birth.priority}, of.born);
  };
  return std::none_of(runs_.begin(), runs_.end(), [&](const auto& entry) {
    const ModelScript& other = entry.second;
    return !other.forgotten && other.status == ScriptStatus::Pending && other.like(run) &&
           place(other) < place(run);
  });
}

void ScriptModel::check_gates(uint64_t server_max) {
  bool server_full = server_max != 0 && at_work() >= server_max;
  for (const auto& [id, run] : runs_) {
    if (run.forgotten || run.status != ScriptStatus::Pending) continue;
    verdict_.reach(Probe::ScriptWaitedAtGate);
    if (run.birth.definition.empty()) verdict_.reach(Probe::UnnamedWaitedAtGate);
    if (server_full && run.birth.parent.run.is_nil()) continue;
    uint64_t limit = run.plan->max_concurrent;
    uint64_t taken = at_work_like(run);
    if (server_full)
      continue;  // others may hold places of its definition while they wait for the
                 // server's limit
    if ((limit == 0 || taken < limit) && is_first_in_line(run))
      return broken("I7 rest", id, "waits for its turn, though there is room");
  }
}

}  // namespace pawl::sim
