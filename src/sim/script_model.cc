// Events of a run of a definition as a whole, and where they are legal.
#include "sim/script_model.h"

#include <algorithm>

#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/scripts/stored_definition.h"
#include "plan/definition.h"
#include "sim/model.h"
#include "sim/script_oracle.h"

namespace pawl::sim {
namespace {

constexpr std::string_view kActsAtOnce[] = {"decision", "data", "cancel", "skip", "retry"};

bool acts_at_once(const std::string& type) {
  return std::find(std::begin(kActsAtOnce), std::end(kActsAtOnce), type) != std::end(kActsAtOnce);
}

}  // namespace

bool same_json(std::string_view a, std::string_view b) {
  auto left = Value::parse(a.empty() ? "null" : a);
  auto right = Value::parse(b.empty() ? "null" : b);
  return left.ok() && right.ok() && *left == *right;
}

int64_t ModelScript::due_ms() const {
  if (forgotten || over() || paused || status == ScriptStatus::Pending) return 0;
  if (yielded_ms != 0) return yielded_ms;  // then it checks what is due
  int64_t first = timeout_at_ms;
  for (const auto& [path, scope] : scopes)
    for (const ModelStep& step : scope.steps) first = sooner(first, step.due_ms);
  return first;
}

const ModelStep* ModelScript::find(std::string_view path) const {
  auto [around, id] = split_step(path);
  auto scope = scopes.find(std::string(around));
  if (scope == scopes.end()) return nullptr;
  uint32_t position = plan->find(scope->second.list, id);
  return position < scope->second.steps.size() ? &scope->second.steps[position] : nullptr;
}

// --- finding

bool ScriptModel::is_open(const RunId& id, uint32_t effect) const {
  const ModelScript* run = existing(id);
  return run != nullptr && run->effects.count(effect) != 0;
}

int64_t ScriptModel::first_due_ms() const {
  int64_t first = 0;
  for (const auto& [id, run] : runs_) first = sooner(first, run.due_ms());
  return first;
}

size_t ScriptModel::at_work() const {
  return static_cast<size_t>(std::count_if(runs_.begin(), runs_.end(), [](const auto& entry) {
    const ModelScript& run = entry.second;
    return run.at_work() && run.birth.parent.run.is_nil();
  }));
}

size_t ScriptModel::at_work_like(const ModelScript& of) const {
  return static_cast<size_t>(std::count_if(runs_.begin(), runs_.end(), [&](const auto& entry) {
    return entry.second.at_work() && entry.second.like(of);
  }));
}

std::shared_ptr<const plan::Script> ScriptModel::compiled(const std::string& canonical) {
  auto at = plans_.find(canonical);
  if (at != plans_.end()) return at->second;
  auto read = plan::compile_canonical(canonical);
  return plans_[canonical] = read.ok() ? *read : nullptr;
}

// --- what is put down

void ScriptModel::document(const DocPut& event, const At& at) {
  sequence_ = at.sequence;
  if (event.kind == DocKind::Definition) {
    StoredDefinition stored;
    if (event.key.find('\x1f') == std::string::npos) {
      newest_[event.key] = event.value;
    } else if (codec::decode(event.value, stored)) {
      definitions_[event.key] = stored.canonical;
    }
  }
  if (event.kind != DocKind::Decision) return;
  StoredDecision now;
  if (!codec::decode(event.value, now)) return broken("I1 record", RunId(), "a decision");
  auto before = decisions_.find(event.key);
  if (before == decisions_.end()) {
    if (now.status != "pending") broken("I4 decision", now.run, "answered before it was asked");
  } else if (before->second.status != "pending") {
    return broken("I4 decision", now.run, "a decision was taken twice");
  } else if (now.status == "timed_out") {
    verdict_.reach(Probe::DecisionTimedOut);
    if (now.expires_ms == 0 || now.expires_ms > at.time_ms)
      broken("I4 decision", now.run, "timed out too early");
  }
  decisions_[event.key] = now;
}

void ScriptModel::child_created(const JobParent& parent, const Uuid& child, const At& at) {
  sequence_ = at.sequence;
  touched_.insert(parent.run);
  if (!is_open(parent.run, effect_of(parent.place)))
    return broken("I4 child", parent.run, "a child was made that nobody asked for");
  if (!children_.emplace(Key{parent.run, effect_of(parent.place)}, child).second)
    broken("I4 child", parent.run, "one place was filled twice");
}

// --- the run

void ScriptModel::happened(const ScriptCreated& event, const At& at) {
  sequence_ = at.sequence;
  if (existing(event.run) != nullptr || jobs_.runs().existing(event.run) != nullptr)
    return broken("I5 script", event.run, "created twice");
  if (!event.parent.run.is_nil()) child_created(event.parent, event.run, at);
  std::vector<std::pair<uint32_t, uint32_t>> numbers_before;
  if (const ModelScript* before = find(event.run)) {
    verdict_.reach(Probe::ScriptIdReused);
    numbers_before = before->numbers_before;
    numbers_before.emplace_back(before->first_effect, before->next_effect);
    auto of_this_run = [&](const auto& entry) { return entry.first.first == event.run; };
    std::erase_if(children_, of_this_run);
    std::erase_if(answers_, of_this_run);
  }
  ModelScript& run = runs_[event.run] = {};
  touched_.insert(event.run);
  run.numbers_before = std::move(numbers_before);
  run.birth = event;
  run.born = run.version = at.sequence;
  run.text = event.source;
  if (event.source.empty())
    run.text = definitions_[definition_key(event.definition, event.version)];
  run.plan = compiled(run.text);
  if (auto drawn = seeds_.find(run.text); drawn != seeds_.end()) run.seed = drawn->second;
  if (run.plan == nullptr) return broken("I5 script", event.run, "its definition is not there");
  tell(event.run, "is created, of '" + event.definition + "' " + event.version);
}

void ScriptModel::happened(const ScriptMoved& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  tell(event.run, "is " + std::string(script_status_name(event.to)) + " " + event.error.code);
  if (event.from != run->status) broken("I5 script", event.run, "the event names another status");
  bool legal = event.from != event.to && event.to != ScriptStatus::Pending;
  if (is_end(event.from)) legal = event.to == ScriptStatus::Active && event.reason == "retry";
  if (event.from == ScriptStatus::Pending)
    legal = event.to == ScriptStatus::Active || event.to == ScriptStatus::Cancelled;
  if (!legal) return broken("I5 script", event.run, "a move that is not listed");
  uint32_t limit = run->plan->max_concurrent;
  if (event.from == ScriptStatus::Pending && limit != 0 && run->birth.parent.run.is_nil() &&
      event.to == ScriptStatus::Active && at_work_like(*run) >= limit)
    broken("I8 runs", event.run, "begins though as many are at work as may be");
  if (is_end(event.to)) check_end(*run, event);
  if (is_end(event.from)) {
    verdict_.reach(Probe::ScriptRetried);
    retried_.insert(event.run);
    run->taken_up = true;
    ++run->retries;
    run->disturbed = true;
    run->error = {};
    run->output.clear();
    run->outcome = ScriptStatus::Active;
  }
  if (event.to == ScriptStatus::Suspended) verdict_.reach(Probe::ScriptSuspended);
  bool begins = event.to == ScriptStatus::Active && (!run->began || is_end(event.from));
  if (begins && run->plan->timeout_ms != 0) run->timeout_at_ms = at.time_ms + run->plan->timeout_ms;
  run->began = run->began || event.to == ScriptStatus::Active;
  run->status = event.to;
}

void ScriptModel::check_end(ModelScript& run, const ScriptMoved& event) {
  const RunId& id = event.run;
  if (run.phase != ScriptPhase::Hooks) broken("I5 script", id, "ends before its steps are over");
  if (!run.effects.empty()) broken("I5 script", id, "ends while something is asked of the outside");
  for (const auto& [path, scope] : run.scopes)
    if (!scope.closed) broken("I5 script", id, "ends while the list '" + path + "' is open");
  if (event.to != run.outcome) broken("I5 script", id, "ends as something else than was decided");
  if (event.error.code != run.error.code || event.error.step != run.error.step)
    broken("I5 script", id, "ends with another error than was decided");
  if (event.to == ScriptStatus::Completed && !same_json(event.output, outputs_of(run)))
    broken("oracle", id, "gives " + event.output + " instead of " + outputs_of(run));
  if (!run.birth.parent.run.is_nil()) verdict_.reach(Probe::ChildRunEnded);
  run.error = event.error;
  run.output = event.output;
  run.phase = ScriptPhase::Over;
  run.timeout_at_ms = 0;
  run.yielded_ms = 0;
  if (!run.seed || run.disturbed || verdict_.failed()) return;
  verdict_.reach(Probe::OracleAsked);
  std::string fault = fault_by_oracle(*run.seed, run, event.to, event.error);
  if (!fault.empty()) broken("oracle", id, fault);
}

// The default outputs of a run: those of the steps without dependents.
std::string ScriptModel::outputs_of(const ModelScript& run) {
  Value::Object object;
  auto root = run.scopes.find("");
  if (root == run.scopes.end()) return "null";
  for (uint32_t i = 0; i < root->second.steps.size(); ++i) {
    const plan::Step& step = run.plan->at(root->second.list, i);
    if (!step.dependents.empty() || step.dormant) continue;
    const ModelStep& end = effective_step(*run.plan, root->second, i);
    if (end.state != StepState::Completed) continue;
    auto value = Value::parse(end.output.empty() ? "null" : end.output);
    object.set(step.id, value.ok() ? *value : Value());
  }
  return Value(std::move(object)).json();
}

// --- phases

std::vector<std::string> ScriptModel::to_undo(const ModelScript& run) {
  std::vector<std::pair<uint64_t, std::string>> done;
  for (const auto& [path, scope] : run.scopes)
    for (uint32_t i = 0; i < scope.steps.size(); ++i) {
      const plan::Step& step = run.plan->at(scope.list, i);
      const ModelStep& end = scope.steps[i];
      if (end.state == StepState::Completed && !end.handled && step.compensate != plan::kNoList)
        done.emplace_back(end.done_sequence, join_path(path, step.id));
    }
  std::sort(done.begin(), done.end());
  std::vector<std::string> steps;
  for (auto last = done.rbegin(); last != done.rend(); ++last) steps.push_back(last->second);
  return steps;
}

// Steps are undone one after the other, each once, the last one first.
void ScriptModel::check_compensation(ModelScript& run, const ScriptPhased& event) {
  const RunId& id = run.birth.run;
  if (run.phase != ScriptPhase::Rollback && !run.taken_up) {
    verdict_.reach(Probe::RollbackRan);
    run.rollback_listed = false;
    if (!event.compensate.empty()) broken("I4 rollback", id, "undoes before it knows what");
    return;
  }
  if (run.phase != ScriptPhase::Rollback) {  // resumed after it had failed
    std::vector<std::string> rest = run.compensate.empty() ? run.left_over : run.compensate;
    bool skips = std::any_of(received_.begin(), received_.end(),
                             [](const SignalReceived& signal) { return signal.type == "skip"; });
    if (skips && !rest.empty()) rest.erase(rest.begin());
    run.rollback_listed = true;
    run.taken_up = false;
    if (event.compensate != rest) broken("I4 rollback", id, "goes on with something else");
  } else if (!run.rollback_listed) {
    run.rollback_listed = true;
    if (event.compensate != to_undo(run))
      broken("I4 rollback", id, "does not undo what was done, the last first");
  } else {
    broken("I4 rollback", id, "begins to undo twice");
  }
  run.compensate = event.compensate;
}

void ScriptModel::happened(const StepUndone& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  if (run->compensate.empty()) return broken("I4 rollback", event.run, "has nothing left to undo");
  if (run->compensate.front() != event.step)
    broken("I4 rollback", event.run, "undoes out of order");
  auto undone = run->scopes.find(join_path(event.step, plan::kCompensateName));
  if (undone == run->scopes.end() || !undone->second.closed || undone->second.failed)
    broken("I4 rollback", event.run, event.step + " counts as undone and is not");
  run->compensated.push_back(run->compensate.front());
  run->compensate.erase(run->compensate.begin());
}

void ScriptModel::check_phase(ModelScript& run, const ScriptPhased& event, const At& at) {
  const RunId& id = run.birth.run;
  auto root = run.scopes.find("");
  bool root_closed = root != run.scopes.end() && root->second.closed;
  bool late = run.timeout_at_ms != 0 && run.timeout_at_ms <= at.time_ms;
  switch (event.phase) {
    case ScriptPhase::Over:
      return broken("I5 script", id, "a phase that no event gives");
    case ScriptPhase::Steps:
      if (retried_.count(id) == 0) broken("I5 script", id, "its steps are at work once more");
      run.taken_up = event.outcome == ScriptStatus::Failed;
      run.left_over = std::exchange(run.compensate, {});
      return;
    case ScriptPhase::Rollback:
      return check_compensation(run, event);
    case ScriptPhase::Hooks:
      break;
  }
  if (event.outcome == ScriptStatus::Cancelled) return;  // whatever it was at
  if (run.phase == ScriptPhase::Hooks) broken("I5 script", id, "its steps are over twice");
  bool undone = run.phase == ScriptPhase::Rollback;
  if (undone && event.error.code != "ROLLBACK_FAILED" && !run.compensate.empty())
    broken("I4 rollback", id, "ends before all is undone");
  if (undone) return;
  if (!root_closed) return broken("I5 script", id, "its steps are over, and its list is open");
  bool completed = event.outcome == ScriptStatus::Completed;
  bool aborted = !cut_off_.empty() || late;
  for (const auto& [path, scope] : run.scopes)
    for (uint32_t i = 0; i < scope.steps.size(); ++i)
      aborted = aborted || (scope.steps[i].state == StepState::Failed &&
                            run.plan->at(scope.list, i).on_error == plan::OnError::Fail);
  if (completed && root->second.failed) broken("I4 step", id, "completed though a step failed");
  if (!completed && !root->second.failed && !aborted)
    broken("I4 step", id, "failed though no step did");
}

void ScriptModel::happened(const ScriptPhased& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  check_phase(*run, event, at);
  run->phase = event.phase;
  run->outcome = event.outcome;
  run->error = event.error;
  if (event.phase != ScriptPhase::Steps) run->timeout_at_ms = 0;
  if (event.outcome == ScriptStatus::Cancelled) run->disturbed = true;
  if (event.phase == ScriptPhase::Rollback) run->disturbed = true;
}

void ScriptModel::happened(const ScriptPaused& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  tell(event.run, event.paused ? "is paused" : "goes on");
  if (run->over() && event.paused) broken("I5 script", event.run, "paused after its end");
  if (event.paused) verdict_.reach(Probe::ScriptPaused);
  if (event.paused && !run->paused) run->paused_ms = at.time_ms;
  if (!event.paused && run->paused && run->timeout_at_ms != 0)
    run->timeout_at_ms += at.time_ms - run->paused_ms;
  run->paused = event.paused;
  if (event.reason == kTimeoutReason) {
    if (run->timeout_at_ms == 0 || run->timeout_at_ms > at.time_ms)
      broken("I7 script timers", event.run, "timed out too early");
    run->timeout_at_ms = 0;
  }
}

// --- signals

void ScriptModel::happened(const SignalReceived& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  tell(event.run, "gets signal " + event.type + " " + event.step + (event.kept ? ", kept" : ""));
  if (event.type == "skip" || event.type == "cancel") run->disturbed = true;
  run->got.insert(event.payload);
  if (event.kept) {
    verdict_.reach(Probe::SignalBeforeWait);
    run->signals.push_back(event);
  } else {
    (acts_at_once(event.type) ? received_ : delivered_).push_back(event);
    if (event.type == "data") received_.pop_back();
  }
}

void ScriptModel::happened(const SignalTaken& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  if (event.place >= run->signals.size())
    return broken("I4 signal", event.run, "a signal was taken that is not there");
  delivered_.push_back(run->signals[event.place]);
  run->signals.erase(run->signals.begin() + event.place);
}

void ScriptModel::happened(const VariableSet& event, const At& at) { step(event.run, at); }

// --- more of it, less of it, again

void ScriptModel::happened(const StepsReset& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  bool retry = !event.reopened.empty();
  if (retry && !run->over()) broken("I5 script", event.run, "reset while it is at work");
  if (!retry && !event.steps.empty() && !run->paused)
    broken("I5 script", event.run, "steps begin anew without a pause");
  if (!event.steps.empty()) run->disturbed = true;
  for (const std::string& path : event.dropped) {
    run->scopes.erase(path);
    std::erase_if(run->compensated,
                  [&](const std::string& step) { return split_step(step).first == path; });
  }
  for (const StepPlace& place : event.steps) {
    std::erase(run->compensated, place.step);
    auto scope = run->scopes.find(std::string(split_step(place.step).first));
    if (scope == run->scopes.end()) return broken("I5 step", event.run, "reset in no list");
    ModelStep& step = scope->second.steps[place.position];
    run->effects.erase(step.effect);
    if (place.resumed) {
      const plan::Step& plan = run->plan->at(scope->second.list, place.position);
      if (place.due_ms != (plan.timeout_ms == 0 ? 0 : at.time_ms + plan.timeout_ms))
        broken("I7 script timers", event.run, place.step + " goes on with another timeout");
      if (place.due_ms != 0) verdict_.reach(Probe::StepTimedAgain);
      if (place.next != 0) step.next = place.next;
      step.state = StepState::Running;
      step.handled = false;
      step.error = {};
      step.reason.clear();
      set_due(step, place.due_ms, place.due_ms == 0 ? DueKind::None : DueKind::Timeout);
    } else {
      step = ModelStep{};
      step.attempt = place.next;
    }
  }
  for (const std::string& path : event.reopened) {
    auto scope = run->scopes.find(path);
    if (scope == run->scopes.end()) return broken("I5 script", event.run, "no list to reopen");
    scope->second.closed = scope->second.failed = false;
    scope->second.error = {};
  }
}

void ScriptModel::happened(const ScriptExtended& event, const At& at) {
  ModelScript* run = step(event.run, at);
  if (run == nullptr) return;
  verdict_.reach(Probe::ScriptExtended);
  run->disturbed = true;
  run->text = event.source;
  run->plan = compiled(event.source);
  auto root = run->scopes.find("");
  if (run->plan == nullptr || root == run->scopes.end() || root->second.closed)
    return broken("I5 script", event.run, "extended though it cannot be");
  root->second.steps.resize(event.steps);
}

bool ScriptModel::is_forgotten(const RunForgotten& event, const At& at) {
  if (existing(event.run) == nullptr) return false;
  ModelScript* run = step(event.run, at);
  for (const ModelScript* around = run; around != nullptr;
       around = existing(around->birth.parent.run))
    if (!around->over()) broken("I1 kept", event.run, "forgotten while it or one around it runs");
  verdict_.reach(Probe::ScriptForgotten);
  run->forgotten = true;
  return true;
}

}  // namespace pawl::sim
