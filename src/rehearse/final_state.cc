#include "rehearse/final_state.h"

#include "kernel/run.h"
#include "kernel/scripts/admission.h"
#include "kernel/scripts/expression_names.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state.h"
#include "rehearse/span.h"
#include "rehearse/stand_in.h"

namespace pawl::rehearse {
namespace {

constexpr size_t kWaitsMax = 50;

Value error_value(const StepError& error) {
  if (error.empty()) return {};
  Value::Object made;
  made.set("code", error.code);
  made.set("message", error.message);
  if (!error.step.empty()) made.set("step_id", error.step);
  if (!error.details.empty()) made.set("details", stored_value(error.details));
  return made;
}

std::string until(int64_t due_ms, int64_t start_ms) {
  return due_ms == 0 ? "" : ", until +" + span_text(due_ms - start_ms);
}

bool speaks_through_its_lists(const plan::Step& step, const StepRecord& record) {
  bool holds_lists = step.type == plan::StepType::Condition || step.type == plan::StepType::Loop ||
                     step.type == plan::StepType::Parallel || step.type == plan::StepType::Sequence;
  return holds_lists && record.open > 0;
}

std::string options_of(const plan::Step& step) {
  std::string text;
  for (const plan::Option& option : step.options) text += (text.empty() ? " (" : ", ") + option.id;
  return text.empty() ? "" : text + ")";
}

std::string wait_of(const plan::Step& step, const StepRecord& record, const std::string& path,
                    int64_t start_ms) {
  std::string since = ", since +" + span_text(record.started_ms - start_ms);
  std::string name = "step '" + path + "' ";
  if (record.state == StepState::Suspended && !record.decision.empty())
    return name + "waits for a decision" + options_of(step) + since +
           until(record.due_ms, start_ms) + "; an event answers it: decide: {step: " + step.id +
           ", choice: " + (step.options.empty() ? "…" : step.options[0].id) + "}";
  if (record.state == StepState::Suspended)
    return name + "waits for the signal '" + record.signal + "'" + since +
           until(record.due_ms, start_ms) + "; an event sends it: signal: {name: " + record.signal +
           "}";
  if (record.state == StepState::Retrying)
    return name + "failed (" + record.error.code + ") and will be tried again at +" +
           span_text(record.due_ms - start_ms);
  if (record.due == DueKind::Wait)
    return name + "waits until +" + span_text(record.due_ms - start_ms);
  std::string action(written_action(step.action));
  return name + (action.empty() ? "is at work" : "waits for " + action) + ", attempt " +
         std::to_string(record.attempt) + since;
}

void add_wait(Rehearsed& into, std::string text) {
  if (into.waits.size() < kWaitsMax) into.waits.push_back(std::move(text));
}

void waits_of_run(const State& state, const Run& run, const std::string& prefix, int64_t start_ms,
                  Rehearsed& into) {
  const ScriptRun& script = *run.script;
  const plan::Script* plan = state.script_of(run);
  std::string who =
      prefix.empty() ? "the run" : "the run of '" + prefix.substr(0, prefix.size() - 1) + "'";
  if (script.paused) add_wait(into, who + " is paused; an event lets it go on: resume: {}");
  if (script.status == ScriptStatus::Pending)
    add_wait(into, who + " waits for its turn: max_concurrent runs of " +
                       (script.definition.empty() ? "this text" : "'" + script.definition + "'") +
                       " are at work");
  for (const std::string& path : script.live) {
    const Scope* scope = state.find_scope(run, path);
    for (uint32_t i = 0; scope != nullptr && plan != nullptr && i < scope->records.size(); ++i) {
      const StepRecord& record = scope->records[i];
      const plan::Step& step = plan->at(scope->list, i);
      if (is_over(record.state) || record.state == StepState::Pending ||
          speaks_through_its_lists(step, record))
        continue;
      // An inner run reports its own waits.
      if (record.effect != 0 && state.find_run(RunId(child_id(run, record.effect))) != nullptr)
        continue;
      add_wait(into, wait_of(step, record, prefix + join_path(path, step.id), start_ms));
    }
  }
}

}  // namespace

void describe_end(const State&, const Run& run, Rehearsed& into) {
  const ScriptRun& script = *run.script;
  into.status = std::string(script_status_name(script.status));
  into.outputs = stored_value(script.output);
  into.error = is_terminal(run.state) ? error_value(script.error) : Value();
  into.reason = script.reason;
}

void describe_steps(const State& state, const Story& story, Rehearsed& into) {
  for (const auto& [id, prefix] : story.runs()) {
    const Run* run = state.find_run(id);
    const plan::Script* plan = run == nullptr ? nullptr : state.script_of(*run);
    if (plan == nullptr) continue;
    state.each_scope(*run, "", [&, &prefix = prefix](const Scope& scope) {
      for (uint32_t i = 0; i < scope.records.size(); ++i) {
        const StepRecord& record = scope.records[i];
        StepSeen seen;
        seen.path = prefix + join_path(scope.path, plan->at(scope.list, i).id);
        seen.status = std::string(step_state_name(record.state));
        seen.attempts = record.attempt;
        seen.output = stored_value(record.output);
        seen.error = error_value(record.error);
        seen.reason = record.reason;
        into.steps.push_back(std::move(seen));
      }
      return into.steps.size() < Story::kMomentsMax;
    });
  }
}

void describe_waits(const State& state, const Story& story, int64_t start_ms, Rehearsed& into) {
  for (const auto& [id, prefix] : story.runs()) {
    const Run* run = state.find_run(id);
    if (run != nullptr && run->script && !is_terminal(run->state))
      waits_of_run(state, *run, prefix, start_ms, into);
  }
}

}  // namespace pawl::rehearse
