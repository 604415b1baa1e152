#include "kernel/scripts/children.h"

#include <utility>

#include "kernel/run.h"
#include "kernel/scripts/checks.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_end.h"
#include "kernel/state.h"

namespace pawl::scripts {
namespace {

// No event for a child suspended by an older version, which did not record it.
void note_child(RunContext& run, const At& at, bool suspended) {
  if ((run.record(at).state == StepState::Suspended) == suspended) return;
  auto event = run.event_for<ChildMoved>(at);
  event.child = RunId(child_id(run.entity(), run.record(at).effect));
  event.suspended = suspended;
  run.frame.emit(event);
}

}  // namespace

StepOutcome outcome_of_script(const ScriptRun& script) {
  StepOutcome outcome;
  outcome.ok = script.status == ScriptStatus::Completed;
  outcome.output = script.output;
  outcome.error = script.error;
  if (!outcome.ok && outcome.error.empty())
    outcome.error = step_error("CANCELLED", "the subworkflow was cancelled");
  outcome.retryable = !outcome.ok;
  return outcome;
}

std::string text_of(const Value* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? value->as_string() : value->json();
}

StartScript child_command(const RunContext& run, uint32_t effect) {
  StartScript command;
  command.id = RunId(child_id(run.entity(), effect));
  command.parent = {run.id, place_of_effect(effect)};
  command.tenant = run.entity().tenant;
  command.agent_id = run.script().agent_id;
  return command;
}

// A child that ends at once is handled here: if it reported its own end, the stack would grow with
// the length of a loop.
void start_child(RunContext& run, const At& at, StartScript command) {
  command.end_is_seen = true;
  auto begun = start_script(run.frame, command);
  if (!begun.ok()) {
    ErrorCode code = begun.error().code;
    bool full = code == ErrorCode::RateLimited;  // later there may be room
    return fail_step(run, at,
                     step_error(full                          ? "LIMIT_REACHED"
                                : code == ErrorCode::NotFound ? "NOT_FOUND"
                                                              : "VALIDATION_ERROR",
                                begun.error().message),
                     full);
  }
  const Run* child = run.state.find_run(*begun);
  if (child == nullptr) return;
  if (child->script->status == ScriptStatus::Suspended) return note_child(run, at, true);
  if (!is_terminal(child->state)) return;
  StepOutcome outcome = outcome_of_script(*child->script);
  if (outcome.ok) return complete_step(run, at, std::move(outcome.output));
  fail_step(run, at, outcome.error, outcome.retryable);
}

}  // namespace pawl::scripts

namespace pawl {

void child_moved(Frame& frame, const JobParent& place, bool suspended) {
  const Run* around = find_script(frame.state(), place.run);
  if (around == nullptr || is_terminal(around->state)) return;
  scripts::RunContext run(frame, place.run);
  const uint32_t effect = effect_of(place.place);
  const std::string* path = run.script().step_of_effect(effect);
  scripts::At at;
  if (path == nullptr || !run.find(*path, at) || run.record(at).effect != effect) return;
  scripts::note_child(run, at, suspended);
  scripts::drain(run);
}

}  // namespace pawl
