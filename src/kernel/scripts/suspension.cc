#include "kernel/scripts/suspension.h"

#include <algorithm>

#include "kernel/run.h"
#include "kernel/scripts/open_lists.h"
#include "kernel/scripts/run.h"

namespace pawl::scripts {
namespace {

// An open effect will be answered without a person.
bool outside_will_move(const RunContext& run) {
  return std::any_of(
      run.script().effects.begin(), run.script().effects.end(), [&](const OpenEffect& open) {
        At at;
        return run.find(open.step, at) && run.record(at).state != StepState::Suspended;
      });
}

void settle_as(RunContext& run, ScriptStatus wanted) {
  bool held = wanted == ScriptStatus::Suspended;
  ScriptMoved event = moved_event(run, wanted);
  event.reason = !held ? run.released_by : run.script().paused ? run.paused_by : "waiting";
  run.frame.emit(event);
  if (run.is_nested() && !run.end_is_seen) pawl::child_moved(run.frame, run.entity().parent, held);
}

}  // namespace

ScriptMoved moved_event(const RunContext& run, ScriptStatus to) {
  ScriptMoved event;
  event.run = run.id;
  event.definition = run.script().definition;
  event.text_digest = run.script().text_digest;
  event.from = run.script().status;
  event.to = to;
  event.nested = run.is_nested();
  return event;
}

void settle_status(RunContext& run) {
  if (is_terminal(run.entity().state) || run.script().status == ScriptStatus::Pending) return;
  // Timers do not run while it is paused: only open effects can still advance it.
  const ScriptRun& script = run.script();
  bool moves = script.yielded_ms != 0 || (script.paused ? outside_will_move(run) : script.busy > 0);
  bool held = !moves && (script.held > 0 || script.paused);
  ScriptStatus wanted = held ? ScriptStatus::Suspended : ScriptStatus::Active;
  if (wanted != script.status) settle_as(run, wanted);
}

void leave_suspension(RunContext& run) {
  if (run.script().status == ScriptStatus::Suspended && !run.script().paused)
    settle_as(run, ScriptStatus::Active);
}

void note_release(RunContext& run, std::string by) {
  run.released_by = std::move(by);
  if (run.script().held == 1) leave_suspension(run);
}

}  // namespace pawl::scripts
