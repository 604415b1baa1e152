// The causes that may end a step: an answer to its own attempt, the end of its child, a timer, its
// inner list.
#include <algorithm>

#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_decision.h"
#include "sim/model.h"
#include "sim/script_model.h"

namespace pawl::sim {
namespace {

bool has_come(const StepAt& at, DueKind kind) {
  return at.step->due == kind && at.step->due_ms != 0 && at.step->due_ms <= at.time_ms;
}

bool is_engine_action(const plan::Step& step) {
  return step.type == plan::StepType::Action && step.action.rfind("workflow.", 0) == 0;
}

bool is_child_run(const plan::Step& step) {
  return step.type == plan::StepType::Subworkflow || step.action == "workflow.run";
}

const ModelScope* inner(const StepAt& at, std::string_view name) {
  auto found = at.run->scopes.find(join_path(at.path, name));
  return found == at.run->scopes.end() ? nullptr : &found->second;
}

Value parsed(std::string_view text) {
  auto value = Value::parse(text.empty() ? "null" : text);
  return value.ok() ? *value : Value();
}

}  // namespace

const ModelStep& effective_step(const plan::Script& plan, const ModelScope& scope,
                                uint32_t position) {
  const ModelStep* step = &scope.steps[position];
  for (size_t hops = scope.steps.size(); hops > 0; --hops) {
    uint32_t fallback = plan.at(scope.list, position).fallback;
    if (step->state != StepState::Failed || !step->handled || fallback == plan::kNoStep) break;
    position = fallback;
    step = &scope.steps[position];
  }
  return *step;
}

std::string last_output(const plan::Script& plan, const ModelScope& scope) {
  for (auto i = static_cast<uint32_t>(scope.steps.size()); i-- > 0;) {
    if (plan.at(scope.list, i).dormant) continue;
    const ModelStep& step = effective_step(plan, scope, i);
    if (step.state == StepState::Completed) return step.output.empty() ? "null" : step.output;
  }
  return "null";
}

uint32_t ScriptModel::retries_of(const StepAt& at) {
  constexpr uint32_t kRetriesOfUndoing = 5;
  bool undoing = at.run->phase == ScriptPhase::Rollback;
  return undoing && at.plan->retry.max == 0 ? kRetriesOfUndoing : at.plan->retry.max;
}

const ModelScript* ScriptModel::child_script(const StepAt& at) const {
  auto child = children_.find({at.run->birth.run, at.step->effect});
  return child == children_.end() ? nullptr : existing(RunId(child->second));
}

// --- completed

// The output of a step with inner lists, from their ends.
std::string ScriptModel::composite_output(const StepAt& at) {
  const plan::Script& plan = *at.run->plan;
  Value::Object out;
  switch (at.plan->type) {
    case plan::StepType::Sequence: {
      const ModelScope* list = inner(at, plan::kSequenceName);
      return list == nullptr ? "null" : last_output(plan, *list);
    }
    case plan::StepType::Condition: {
      const ModelScope* list = inner(at, at.step->choice);
      out.set("branch", at.step->choice);
      bool chosen = at.step->choice == plan::kDefaultBranch;
      for (const plan::Branch& branch : at.plan->branches)
        chosen = chosen || branch.key == at.step->choice;
      if (list != nullptr) out.set("output", parsed(last_output(plan, *list)));
      if (!chosen) out.set("skipped", true);
      break;
    }
    case plan::StepType::Loop: {
      Value::Array results;
      for (uint32_t i = 0; i < at.step->next; ++i) {
        const ModelScope* list = inner(at, plan::iteration_name(i));
        results.push_back(list == nullptr ? Value() : parsed(last_output(plan, *list)));
      }
      out.set("iterations", static_cast<int64_t>(at.step->next));
      out.set("results", std::move(results));
      break;
    }
    case plan::StepType::Parallel: {
      bool race = at.plan->parallel_mode == plan::ParallelMode::Race;
      out.set("mode", race ? "race" : "all");
      Value::Array outputs;
      for (uint32_t i = 0; i < at.plan->branches.size(); ++i) {
        const ModelScope* list = inner(at, plan::branch_name(i));
        Value last = list == nullptr ? Value() : parsed(last_output(plan, *list));
        if (race && at.step->choice == std::to_string(i)) {
          out.set("winner", static_cast<int64_t>(i));
          out.set("output", last);
        }
        outputs.push_back(std::move(last));
      }
      if (!race) out.set("branches", std::move(outputs));
      break;
    }
    case plan::StepType::Action:
    case plan::StepType::Wait:
    case plan::StepType::Decision:
    case plan::StepType::Test:
    case plan::StepType::Job:
    case plan::StepType::Composition:
    case plan::StepType::Subworkflow:
      break;
  }
  return Value(std::move(out)).json();
}

bool ScriptModel::check_answer(const StepAt& at, const std::string& output) {
  auto answers = answers_.find({at.run->birth.run, at.step->effect});
  if (at.step->effect == 0 || answers == answers_.end()) return false;
  return std::any_of(answers->second.begin(), answers->second.end(), [&](const StepOutcome& each) {
    return each.ok && same_json(each.output, output);
  });
}

void ScriptModel::check_signal_taken(const StepAt& at, const std::string& output) {
  const RunId& id = at.run->birth.run;
  if (has_come(at, DueKind::Deadline) && at.plan->on_timeout == plan::OnTimeout::Continue &&
      parsed(output).find("timed_out") != nullptr)
    return verdict_.reach(Probe::SignalTimedOut);
  for (auto signal = delivered_.begin(); signal != delivered_.end(); ++signal) {
    bool fits = signal->step.empty() ? signal->type == at.plan->signal
                                     : signal->step == at.path || signal->step == at.plan->id;
    Value::Object expected;
    expected.set("signal", signal->type);
    expected.set("payload", parsed(signal->payload));
    if (signal->run != id || !fits || !(parsed(output) == Value(expected))) continue;
    delivered_.erase(signal);
    return;
  }
  broken("I4 signal", id, at.path + " goes on without a signal");
}

void ScriptModel::check_decision(const StepAt& at, const std::string& output) {
  auto question = decisions_.find(at.step->decision);
  const RunId& id = at.run->birth.run;
  if (at.step->state != StepState::Suspended || question == decisions_.end())
    return broken("I4 decision", id, at.path + " is decided though nobody was asked");
  const StoredDecision& answer = question->second;
  bool taken = answer.status == "resolved" || answer.status == "timed_out";
  if (!taken || !same_json(answer.answer, output))
    broken("I4 decision", id, at.path + " goes on with another answer than was given");
  if (answer.status == "timed_out" && !has_come(at, DueKind::Deadline))
    broken("I7 script timers", id, at.path + " is decided by a deadline that has not come");
}

void ScriptModel::check_completion(const StepAt& at, const std::string& output) {
  const RunId& id = at.run->birth.run;
  switch (at.plan->type) {
    case plan::StepType::Action:
      if (is_child_run(*at.plan)) break;
      if (!is_engine_action(*at.plan) && !check_answer(at, output))
        broken("I3 receipt", id, at.path + " completes by what nobody answered: " + output);
      return;
    case plan::StepType::Job:
    case plan::StepType::Composition: {
      auto child = children_.find({id, at.step->effect});
      const ModelJob* job =
          child == children_.end() ? nullptr : jobs_.existing(JobId(child->second));
      const ModelRun* run =
          child == children_.end() ? nullptr : jobs_.runs().existing(RunId(child->second));
      bool ended = job != nullptr
                       ? job->state == JobState::Completed && same_json(job->result, output)
                       : run != nullptr && run->state == RunState::Completed;
      if (!ended) broken("I4 child", id, at.path + " completes though its job has not");
      return;
    }
    case plan::StepType::Subworkflow:
      break;
    case plan::StepType::Wait:
      if (!at.plan->signal.empty()) return check_signal_taken(at, output);
      if (!has_come(at, DueKind::Wait))
        broken("I7 script timers", id, at.path + " has not waited long enough");
      return;
    case plan::StepType::Decision:
      return check_decision(at, output);
    case plan::StepType::Test:
      return;
    case plan::StepType::Condition:
    case plan::StepType::Loop:
    case plan::StepType::Parallel:
    case plan::StepType::Sequence: {
      for (const auto& [path, scope] : at.run->scopes)
        if (scope.owner == at.path && !scope.closed)
          return broken("I4 step", id, at.path + " completes while a list in it is open");
      std::string expected = composite_output(at);
      if (!same_json(expected, output))
        broken("oracle", id, at.path + " gives " + output + " instead of " + expected);
      return;
    }
  }
  const ModelScript* child = child_script(at);
  if (child == nullptr || child->status != ScriptStatus::Completed ||
      !same_json(child->output, output))
    broken("I4 child", id, at.path + " completes though its run has not");
}

// --- failed

ScriptModel::Cause ScriptModel::cause_by_answer(const StepAt& at, const StepError& error) const {
  auto answers = answers_.find({at.run->birth.run, at.step->effect});
  if (at.step->effect == 0 || answers == answers_.end()) return Cause::None;
  for (const StepOutcome& each : answers->second)
    if (!each.ok && each.error.code == error.code && each.error.message == error.message)
      return each.retryable ? Cause::Again : Cause::Final;
  return Cause::None;
}

// Of what definitions ask for here, only compositions that find a queue full are refused, and jobs
// that must be alone.
ScriptModel::Cause ScriptModel::cause_by_refusal(const StepAt& at, const StepError& error) const {
  if (at.plan->type == plan::StepType::Composition)
    return error.code == "QUEUE_FULL" ? Cause::Again : Cause::None;
  constexpr std::string_view kInTheWay = "a job with the same unique key exists: ";
  const bool alone = at.plan->options_body.find("unique") != nullptr;
  if (!alone || error.code != "VALIDATION_ERROR" || error.message.rfind(kInTheWay, 0) != 0)
    return Cause::None;
  const auto other = Uuid::parse(error.message.substr(kInTheWay.size()));
  return other && jobs_.existing(JobId(*other)) != nullptr ? Cause::Final : Cause::None;
}

ScriptModel::Cause ScriptModel::cause_by_child(const StepAt& at, const StepError& error) const {
  auto child = children_.find({at.run->birth.run, at.step->effect});
  if (at.step->effect == 0) return Cause::None;
  if (child == children_.end()) {
    if (!is_child_run(*at.plan)) return cause_by_refusal(at, error);
    if (error.code == "LIMIT_REACHED") return Cause::Again;
    bool known = error.code == "NOT_FOUND" || error.code == "VALIDATION_ERROR";
    return known ? Cause::Final : Cause::None;
  }
  if (const ModelScript* run = existing(RunId(child->second))) {
    bool ended = run->over() && run->status != ScriptStatus::Completed;
    bool same = run->error.code.empty() ? error.code == "CANCELLED" : run->error.code == error.code;
    return ended && same ? Cause::Again : Cause::None;
  }
  if (const ModelRun* run = jobs_.runs().existing(RunId(child->second)))
    return run->over() && run->state != RunState::Completed ? Cause::Again : Cause::None;
  const ModelJob* job = jobs_.existing(JobId(child->second));
  bool ended = job != nullptr && job->finished() && job->state != JobState::Completed;
  return ended ? Cause::Either : Cause::None;
}

ScriptModel::Cause ScriptModel::cause_inside(const StepAt& at, const StepError& error) const {
  for (const auto& [path, scope] : at.run->scopes)
    if (scope.owner == at.path && scope.closed && scope.failed && scope.error.code == error.code &&
        scope.error.step == error.step)
      return Cause::Again;
  return error.code == "EXPRESSION_ERROR" ? Cause::Either : Cause::None;
}

ScriptModel::Cause ScriptModel::cause_of(const StepAt& at, const StepError& error) const {
  if (error.code == "TIMEOUT_ERROR" && has_come(at, DueKind::Timeout)) {
    verdict_.reach(Probe::StepTimedOut);
    return Cause::Again;
  }
  if (error.code == "EXPRESSION_ERROR" &&
      guess(*at.run, at.scope->path, at.plan->condition, -1).kind == Guess::Error)
    return Cause::Final;
  switch (at.plan->type) {
    case plan::StepType::Action:
      if (is_child_run(*at.plan)) return cause_by_child(at, error);
      return is_engine_action(*at.plan) ? Cause::Final : cause_by_answer(at, error);
    case plan::StepType::Job:
    case plan::StepType::Composition:
    case plan::StepType::Subworkflow:
      return cause_by_child(at, error);
    case plan::StepType::Wait:
      return has_come(at, DueKind::Deadline) ? Cause::Again : Cause::None;
    case plan::StepType::Decision:
      return has_come(at, DueKind::Deadline) ? Cause::Final : Cause::None;
    case plan::StepType::Test:
      return Cause::Either;
    case plan::StepType::Condition:
    case plan::StepType::Loop:
    case plan::StepType::Parallel:
    case plan::StepType::Sequence:
      return cause_inside(at, error);
  }
  return Cause::None;
}

// --- expressions

namespace {

// The number in `text` between these two, or nothing.
std::optional<int64_t> number_after(std::string_view text, std::string_view front) {
  if (text.substr(0, front.size()) != front) return std::nullopt;
  std::string_view digits = text.substr(front.size());
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  int64_t value = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  return value;
}

Guess truth(bool holds) { return {holds ? Guess::True : Guess::False, 0}; }

}  // namespace

Guess guess(const ModelScript& run, const std::string& scope_path, const std::string& text,
            int64_t iteration) {
  if (text == "true") return truth(true);
  if (text == "false") return truth(false);
  if (auto literal = number_after(text, "")) return {Guess::Number, *literal};
  if (auto bound = number_after(text, "iter.index < "))
    return iteration < 0 ? Guess{} : truth(iteration < *bound);
  if (auto bound = number_after(text, "iter.index == "))
    return iteration < 0 ? Guess{} : truth(iteration == *bound);
  constexpr std::string_view kFront = "steps.", kBack = ".n > ";
  size_t back = text.find(kBack);
  if (text.rfind(kFront, 0) != 0 || back == std::string::npos) return {};
  std::string id = text.substr(kFront.size(), back - kFront.size());
  auto bound = number_after(text.substr(back), kBack);
  auto scope = run.scopes.find(scope_path);
  uint32_t position =
      scope == run.scopes.end() ? plan::kNoStep : run.plan->find(scope->second.list, id);
  if (!bound || position == plan::kNoStep) return {};
  const ModelStep& step = effective_step(*run.plan, scope->second, position);
  Value output = step.state == StepState::Completed ? parsed(step.output) : Value();
  const Value* n = output.find("n");
  if (n == nullptr || !n->is_number()) return {Guess::Error, 0};
  return truth(n->as_int() > *bound);
}

}  // namespace pawl::sim
