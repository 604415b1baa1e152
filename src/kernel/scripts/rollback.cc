#include "kernel/scripts/rollback.h"

#include <algorithm>

#include "kernel/scripts/lists.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/run_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::scripts {

void start_rollback(RunContext& run) {
  std::vector<std::pair<uint64_t, std::string>> done;
  Value::Array uncompensated;
  run.state.each_scope(run.entity(), "", [&](const Scope& in) {
    for (uint32_t i = 0; i < in.records.size(); ++i) {
      const StepRecord& record = in.records[i];
      if (record.state != StepState::Completed || record.handled) continue;
      const plan::Step& step = run.plan().at(in.list, i);
      std::string path = join_path(in.path, step.id);
      if (step.compensate != plan::kNoList) {
        done.emplace_back(record.done_sequence, path);
      } else if (kind_of(step).changes_outside()) {
        uncompensated.push_back(path);
      }
    }
    return true;
  });
  std::sort(done.rbegin(), done.rend());
  ScriptPhased event;
  event.run = run.id;
  event.phase = ScriptPhase::Rollback;
  event.outcome = run.script().outcome;
  event.error = run.script().error;
  event.reason = run.script().reason;
  Value::Array steps;
  for (auto& [sequence, path] : done) {
    event.compensate.push_back(path);
    steps.push_back(path);
  }
  run.frame.emit(event);
  Value::Object data;
  data.set("steps", std::move(steps));
  data.set("uncompensated", std::move(uncompensated));
  run.note_run("rollback_started", data);
  compensate_next(run);
}

void compensate_next(RunContext& run) {
  if (!run.script().compensate.empty()) {
    At undone;
    PAWL_CHECK(run.find(run.script().compensate.front(), undone));
    run.note(undone, "step_compensating", Value::Object{});
    return open_list(run, &undone, join_path(undone.path, plan::kCompensateName),
                     undone.step->compensate, false, 0, "");
  }
  Value::Object data;
  Value::Array steps;
  for (const std::string& path : run.script().compensated) steps.push_back(path);
  data.set("compensated", std::move(steps));
  run.note_run("rollback_completed", data);
  StepError cause = run.script().error;
  StepError error = cause;
  if (run.script().outcome == ScriptStatus::Failed) {
    error.code = "ROLLED_BACK";
    error.message = "rolled back after: " + cause.message;
    Value::Object details;
    details.set("cause", error_json(cause));
    error.details = Value(std::move(details)).json();
  }
  end_steps(run, run.script().outcome, error, run.script().reason, false);
}

void compensation_closed(RunContext& run, const std::string& path) {
  const Scope closed = *run.scope(path);
  At undone;
  PAWL_CHECK(run.find(closed.owner, undone));
  if (closed.failed) {
    Value::Object data;
    data.set("error", error_json(closed.error));
    run.note(undone, "step_compensation_failed", data);
    StepError error = run.script().error;
    Value::Object details;
    details.set("cause", error_json(error));
    error.code = "ROLLBACK_FAILED";
    error.message = "undoing step '" + closed.owner + "' failed: " + closed.error.message;
    error.step = closed.owner;
    error.details = Value(std::move(details)).json();
    return end_steps(run, ScriptStatus::Failed, error, run.script().reason, false);
  }
  run.note(undone, "step_compensated", Value::Object{});
  run.frame.emit(run.event_for<StepUndone>(undone));
  compensate_next(run);
}

}  // namespace pawl::scripts
