#include "kernel/scripts/run_end.h"

#include <algorithm>

#include "base/json_writer.h"
#include "kernel/run.h"
#include "kernel/scripts/admission.h"
#include "kernel/scripts/children.h"
#include "kernel/scripts/context.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/lists.h"
#include "kernel/scripts/made_so_far.h"
#include "kernel/scripts/rollback.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/suspension.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

void run_hook_or_finish(RunContext& run) {
  ScriptStatus outcome = run.script().outcome;
  uint32_t list = outcome == ScriptStatus::Completed ? run.plan().on_complete
                  : outcome == ScriptStatus::Failed  ? run.plan().on_error
                                                     : plan::kNoList;
  if (list == plan::kNoList) return finish_run(run);
  const char* hook = outcome == ScriptStatus::Completed ? "on_complete" : "on_error";
  drop_lists_of(run, hook);
  open_list(run, nullptr, hook, list, false, 0, "");
}

Result<std::string> declared_outputs(RunContext& run) {
  MadeSoFar made(run.made_of(""));
  for (size_t i = made.size(); i < run.plan().outputs.size(); ++i) {
    if (run.full()) {
      run.keep_made("", made.take_added());
      return std::string();
    }
    const plan::Output& output = run.plan().outputs[i];
    std::string text = output.value.is_string() ? output.value.as_string() : output.value.json();
    ExpressionNames names(run.state, run.entity(), "", text, run.frame.now_ms());
    names.metered(run.frame.meter());
    PAWL_TRY(auto filled, fill_template(names, output.value, run.plan().text_mode));
    if (!json_fits(filled.value, run.output_max() - std::min(made.bytes(), run.output_max())))
      return Error{ErrorCode::TooLarge, "they are larger than " + std::to_string(run.output_max()) +
                                            " bytes, the limit of an output"};
    made.add(filled.value.json());
  }
  std::string text = "{";
  text.reserve(made.bytes() + 64 * made.size());
  Value::Object seen;  // of two of one name the later counts, in the place of the first
  for (size_t i = 0; i < made.size(); ++i)
    seen.set(run.plan().outputs[i].name, static_cast<int64_t>(i));
  for (const Value::Member& member : seen) {
    if (text.size() > 1) text += ',';
    json::append_quoted(text, member.key);
    text += ':';
    text += made[static_cast<size_t>(member.value.as_int())];
  }
  text += '}';
  return text;
}

Result<std::string> last_outputs(const RunContext& run) {
  const Scope* root = run.scope("");
  std::string text = "{";
  for (uint32_t i = 0; i < root->records.size(); ++i) {
    const plan::Step& step = run.plan().at(root->list, i);
    if (!step.dependents.empty() || step.dormant) continue;
    const StepRecord& record = effective_record(*root, run.plan(), root->records[i], i);
    if (record.state != StepState::Completed) continue;
    if (text.size() + record.output.size() > run.output_max())
      return Error{ErrorCode::TooLarge, "what its last steps gave is together larger than " +
                                            std::to_string(run.output_max()) +
                                            " bytes, the limit of an output"};
    if (text.size() > 1) text += ',';
    make_room(text, step.id.size() + record.output.size() + 8);
    json::append_quoted(text, step.id);
    text += ':';
    text += record.output.empty() ? "null" : record.output.str();
  }
  text += '}';
  return text;
}

// The output of the run: its `outputs`, or the outputs of its last steps. Incomplete if it sets
// cut_short.
Result<std::string> run_outputs(RunContext& run) {
  if (run.scope("") == nullptr) return std::string("null");
  return run.plan().outputs.empty() ? last_outputs(run) : declared_outputs(run);
}

}  // namespace

void abort_run(RunContext& run, ScriptStatus outcome, const StepError& error,
               const std::string& reason, bool rollback) {
  std::string why = outcome == ScriptStatus::Cancelled ? "cancelled" : "run_failed";
  for (const std::string& path : run.script().live.copy())
    if (const Scope* in = run.scope(path); in != nullptr && in->owner.empty())
      stop_list(run, path, why);
  for (const std::string& path : run.script().live.copy()) stop_list(run, path, why);
  run.checks.clear();
  end_steps(run, outcome, error, reason, rollback);
}

void end_steps(RunContext& run, ScriptStatus outcome, const StepError& error,
               const std::string& reason, bool rollback) {
  ScriptPhased event;
  event.run = run.id;
  event.phase = ScriptPhase::Hooks;
  event.outcome = outcome;
  event.error = error;
  event.reason = reason;
  bool undo = rollback && run.script().phase == ScriptPhase::Steps;
  if (undo) event.phase = ScriptPhase::Rollback;
  run.frame.emit(event);
  if (undo) return start_rollback(run);
  run_hook_or_finish(run);
}

void finish_run(RunContext& run) {
  Result<std::string> output = std::string();
  if (run.script().outcome == ScriptStatus::Completed) output = run_outputs(run);
  if (run.cut_short) return;  // a later frame continues
  if (run.script().status == ScriptStatus::Pending) leave_gate(run.frame, run.id);
  ScriptMoved event = moved_event(run, run.script().outcome);
  event.error = run.script().error;
  event.reason = run.script().reason;
  if (event.to == ScriptStatus::Completed) {
    bool too_large = !output.ok() && output.error().code == ErrorCode::TooLarge;
    if (output.ok() && !run.has_room_for(output->size())) {
      event.to = ScriptStatus::Failed;
      event.error = step_error("RUN_TOO_LARGE", run.room_told(output->size()));
    } else if (output.ok()) {
      event.output = std::move(*output);
    } else {
      event.to = ScriptStatus::Failed;
      event.error = step_error(too_large ? "NON_RETRYABLE" : "INTERPOLATION_ERROR",
                               "its outputs cannot be evaluated: " + output.error().message);
    }
  }
  run.frame.emit(std::move(event));
  run.checks.clear();
  if (!run.end_is_seen) report_end(run);
}

void report_end(RunContext& run) {
  JobParent parent = run.entity().parent;
  if (!parent.run.is_nil())
    effect_done(run.frame, parent.run, effect_of(parent.place), outcome_of_script(run.script()));
}

}  // namespace pawl::scripts
