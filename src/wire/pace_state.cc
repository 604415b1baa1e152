#include "wire/pace_state.h"

#include "base/named.h"
#include "base/time.h"
#include "journal/events.h"
#include "kernel/run.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/text.h"
#include "kernel/state.h"
#include "wire/render_workflow.h"
#include "wire/reply_room.h"

namespace pawl {
namespace {

constexpr Named<ScriptStatus> kPaceStatuses[] = {
    {"pending", ScriptStatus::Pending},  {"running", ScriptStatus::Active},
    {"paused", ScriptStatus::Suspended}, {"completed", ScriptStatus::Completed},
    {"failed", ScriptStatus::Failed},    {"canceled", ScriptStatus::Cancelled}};

Value parsed(const std::string& json) {
  if (json.empty()) return {};
  auto value = Value::parse(json);
  return value.ok() ? std::move(value).value() : Value();
}

Value text_or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value error_of(const StepError& error) {
  return text_or_null(error.message.empty() ? error.code : error.message);
}

// A step skipped because of a failure did not succeed; a step that did not have to run did.
Value step_result(const std::string& id, const StepRecord& record, ReplyRoom& room) {
  bool skipped = record.state == StepState::Skipped;
  bool failed = record.state == StepState::Failed || (skipped && !record.error.empty());
  Value result;
  bool omitted = false;
  if (skipped && !failed) {
    result = "skipped";
  } else if (!failed) {
    omitted = !room.takes(record.output.size());
    if (!omitted) result = parsed(record.output);
  }
  Value::Object step{{"step_id", id},
                     {"success", !failed},
                     {"result", std::move(result)},
                     {"error", error_of(record.error)}};
  if (omitted) step.set("result_omitted", true);
  return step;
}

Value context_of(const ScriptRun& script, ReplyRoom& room, bool& omitted) {
  Value context;
  auto taken = [&](const Text& text) {
    bool fits = room.takes(text.size());
    omitted = omitted || !fits;
    return fits;
  };
  if (taken(script.inputs)) context = parsed(script.inputs);
  if (!context.is_object()) context = Value::Object{};
  for (const Variable& variable : script.variables)
    if (taken(variable.value)) context.as_object().set(variable.key, parsed(variable.value));
  return context;
}

// visit(const std::string& id, const StepRecord&, bool dormant)
void each_top_step(const State& state, const Run& run, auto visit) {
  const plan::Script* plan = state.script_of(run);
  const pawl::Scope* root = state.find_scope(run, "");
  if (plan == nullptr || root == nullptr) return;
  for (uint32_t i = 0; i < root->records.size(); ++i) {
    const plan::Step& step = plan->at(root->list, i);
    visit(step.id, root->records[i], step.dormant);
  }
}

}  // namespace

std::string_view pace_status(const Run& run) {
  const ScriptRun& script = *run.script;
  bool under_way = script.status == ScriptStatus::Pending || script.status == ScriptStatus::Active;
  return under_way && script.paused ? "paused" : name_of(kPaceStatuses, script.status);
}

std::string pace_time(int64_t unix_ms) {
  std::string text = format_rfc3339_ms(unix_ms);
  text.pop_back();  // Z, which older readers of ISO 8601 do not know
  return text + "+00:00";
}

Value pace_state(const State& state, const Run& run, size_t bytes_max) {
  const ScriptRun& script = *run.script;
  ReplyRoom room(bytes_max);
  const bool result_fits = room.takes(script.output.size());
  bool context_omitted = false;
  Value context = context_of(script, room, context_omitted);
  Value::Object steps;
  each_top_step(state, run, [&](const std::string& id, const StepRecord& record, bool) {
    if (is_over(record.state)) steps.set(id, step_result(id, record, room));
  });
  Value::Object out;
  out.set("instance_id", workflow_id_text(run));
  out.set("workflow_id", script.definition);
  out.set("status", pace_status(run));
  out.set("started_at", pace_time(run.started_ms != 0 ? run.started_ms : run.created_ms));
  out.set("completed_at", run.finished_ms == 0 ? Value() : Value(pace_time(run.finished_ms)));
  out.set("result", result_fits ? parsed(script.output) : Value());
  if (!result_fits) out.set("result_omitted", true);
  out.set("context", std::move(context));
  if (context_omitted) out.set("context_omitted", true);
  out.set("step_results", std::move(steps));
  return out;
}

double PaceProgress::fraction() const {
  return total == 0 ? 0 : static_cast<double>(completed) / static_cast<double>(total);
}

PaceProgress pace_progress(const State& state, const Run& run) {
  PaceProgress progress;
  each_top_step(state, run, [&](const std::string& id, const StepRecord& record, bool dormant) {
    if (dormant && record.state == StepState::Pending) return;
    ++progress.total;
    if (is_over(record.state)) {
      ++progress.completed;
    } else if (record.state != StepState::Pending && progress.current_step.empty()) {
      progress.current_step = id;
    }
  });
  return progress;
}

}  // namespace pawl
