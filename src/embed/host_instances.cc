// Host: starting, controlling and showing instances.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/json_writer.h"
#include "base/quote.h"
#include "embed/host_parts.h"
#include "kernel/frame.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/ojs/parse_workflow.h"
#include "wire/pace_state.h"
#include "wire/render_script.h"
#include "wire/render_workflow.h"

namespace pawl::embed {
namespace {

constexpr int64_t kWaitMsMax = int64_t{366} * 24 * 3600 * 1000;
constexpr size_t kStepsShownMax = 100'000;
constexpr size_t kHistoryMax = 10'000;
constexpr size_t kRunsPerLook = 10'000;
constexpr size_t kDecisionsMax = 10'000;
constexpr size_t kSignalNameMax = 255;

Status check_json(const std::string& text, std::string_view what, bool object) {
  if (text.empty()) return ok_status();
  auto value = Value::parse(text);
  if (!value.ok())
    return Error{ErrorCode::InvalidContent,
                 std::string(what) + " is no JSON: " + value.error().message};
  if (object && !value->is_object())
    return Error{ErrorCode::InvalidContent, std::string(what) + " must be a JSON object"};
  return ok_status();
}

WorkflowStatus status_of(const State& state, const Run& run, int64_t now_ms) {
  const ScriptRun& script = *run.script;
  WorkflowStatus status;
  status.instance_id = workflow_id_text(run);
  status.workflow_id = script.definition;
  status.status = pace_status(run);
  PaceProgress progress = pace_progress(state, run);
  if (!progress.current_step.empty()) status.current_step = progress.current_step;
  status.progress = run.state == RunState::Completed ? 1.0 : progress.fraction();
  status.metadata.completed_steps = progress.completed;
  status.metadata.total_steps = progress.total;
  int64_t started_ms = run.started_ms != 0 ? run.started_ms : run.created_ms;
  status.metadata.started_at = pace_time(started_ms);
  int64_t end_ms = run.finished_ms != 0 ? run.finished_ms : now_ms;
  status.metadata.duration = static_cast<double>(std::max<int64_t>(end_ms - started_ms, 0)) / 1000;
  if (!script.output.empty()) status.result = script.output;
  status.error = script.error.message.empty() ? script.error.code : script.error.message;
  if (status.error.empty() && is_terminal(run.state)) status.error = script.reason;
  return status;
}

// The number of running instances; removes ended ones from `live`.
size_t count_running(const State& state, std::set<RunId>& live) {
  size_t running = 0;
  for (auto at = live.begin(); at != live.end();) {
    const Run* run = state.find_run(*at);
    if (run == nullptr || !run->script || is_terminal(run->state)) {
      at = live.erase(at);
      continue;
    }
    if (pace_status(*run) == "running") ++running;
    ++at;
  }
  return running;
}

}  // namespace

Result<const Run*> find_instance(const State& state, const std::string& instance) {
  const Run* run = state.find_run(workflow_id(instance, 1));
  if (run == nullptr || !run->script)
    return Error{ErrorCode::NotFound,
                 "Workflow instance '" + instance.substr(0, 128) + "' not found"};
  return run;
}

Result<std::string> Host::execute(const std::string& workflow, std::string_view context,
                                  const ExecuteOptions& options) {
  StartScript command;
  command.definition = workflow;
  command.version = options.version;
  command.inputs = context.empty() ? "{}" : context;
  command.priority = options.priority;
  command.meta = options.metadata;
  PAWL_TRY_DO(check_json(command.inputs, "the context", true));
  PAWL_TRY_DO(check_json(command.meta, "the metadata", true));
  if (!options.instance_id.empty()) {
    if (!is_file_name(options.instance_id))
      return Error{ErrorCode::InvalidRequest,
                   "an instance id has up to 128 letters, digits, '-', '_' and '.', not " +
                       in_quotes(options.instance_id)};
    command.id = workflow_id(options.instance_id, 1);
    if (!RunId::parse(options.instance_id)) command.client_id = options.instance_id;
  }
  PAWL_TRY_DO(start());
  std::string instance;
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
    StoredDefinition stored;
    if (find_definition(frame.state(), workflow, options.version, stored) == nullptr)
      return Error{ErrorCode::NotFound, "Workflow '" + workflow + "' not found"};
    uint32_t most = parts_->options.max_concurrent;
    if (count_running(frame.state(), parts_->live) >= most && most != 0)
      return Error{ErrorCode::RateLimited,
                   "Maximum concurrent workflow limit (" + std::to_string(most) + ") reached"};
    PAWL_TRY(RunId id, start_script(frame, command));
    parts_->live.insert(id);
    instance = workflow_id_text(*frame.state().find_run(id));
    parts_->names.add(id.text(), instance);
    return ok_status();
  }));
  return instance;
}

Result<WorkflowStatus> Host::status(const std::string& instance) {
  return wait(instance, 0, false);
}

Result<WorkflowStatus> Host::wait(const std::string& instance, int64_t timeout_ms,
                                  bool until_idle) {
  PAWL_TRY_DO(start());
  int64_t deadline_ms =
      parts_->runtime.clock().now_ms() + std::clamp<int64_t>(timeout_ms, 0, kWaitMsMax);
  while (true) {
    Result<WorkflowStatus> found = WorkflowStatus{};
    bool settled = false;
    PAWL_TRY_DO(
        parts_->runtime.decide_or_park([&](Frame& frame, bool last_call) -> std::optional<Parking> {
          auto run = find_instance(frame.state(), instance);
          settled = true;
          if (!run.ok()) return found = run.error(), std::nullopt;
          found = status_of(frame.state(), **run, frame.now_ms());
          settled = found->is_over() || (until_idle && found->status == "paused") ||
                    frame.now_ms() >= deadline_ms;
          if (settled || last_call) return std::nullopt;
          return Parking{{parking_of((*run)->id)}, deadline_ms, 0};
        }));
    if (settled) return found;
    // Too many tasks wait already, so poll instead of waiting.
    if (parts_->runtime.clock().now_ms() >= deadline_ms) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Result<std::string> Host::state(const std::string& instance) {
  PAWL_TRY_DO(start());
  std::string text;
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
    PAWL_TRY(const Run* run, find_instance(frame.state(), instance));
    text = pace_state(frame.state(), *run).json();
    return ok_status();
  }));
  return text;
}

Result<std::string> Host::describe(const std::string& instance) {
  PAWL_TRY_DO(start());
  std::string text;
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
    PAWL_TRY(const Run* run, find_instance(frame.state(), instance));
    text = script_run_body(frame.state(), *run, {0, kStepsShownMax, "", SIZE_MAX});
    return ok_status();
  }));
  return text;
}

Status Host::cancel(const std::string& instance, const std::string& reason) {
  PAWL_TRY_DO(start());
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
    PAWL_TRY(const Run* run, find_instance(frame.state(), instance));
    if (is_terminal(run->state))
      return Error{ErrorCode::Conflict,
                   "Cannot cancel workflow in status '" + std::string(pace_status(*run)) + "'"};
    return cancel_script(frame, run->id, reason, false);
  }));
  parts_->desk.say("Canceled workflow instance: " + instance);
  return ok_status();
}

Result<bool> Host::pause(const std::string& instance, bool paused) {
  PAWL_TRY_DO(start());
  bool changed = false;
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
    PAWL_TRY(const Run* run, find_instance(frame.state(), instance));
    if (is_terminal(run->state) || run->script->paused == paused) return ok_status();
    changed = true;
    return paused ? pause_script(frame, run->id, false) : resume_script(frame, run->id);
  }));
  return changed;
}

Status Host::retry(const std::string& instance, const std::string& from_step) {
  PAWL_TRY_DO(start());
  return parts_->runtime.decide([&](Frame& frame) -> Status {
    PAWL_TRY(const Run* run, find_instance(frame.state(), instance));
    RunId id = run->id;
    PAWL_TRY_DO(retry_script(frame, id, {.from_step = from_step}));
    parts_->live.insert(id);
    parts_->names.add(id.text(), workflow_id_text(*frame.state().find_run(id)));
    return ok_status();
  });
}

// Ids do not show the order, since programs may choose them. So all runs are read, in pieces with
// other work of the engine in between.
Result<std::string> Host::history(const std::string& workflow, size_t limit,
                                  const std::string& before) {
  PAWL_TRY_DO(start());
  uint64_t end = UINT64_MAX;
  if (!before.empty()) {
    PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
      PAWL_TRY(const Run* last, find_instance(frame.state(), before));
      end = last->script->created_sequence;
      return ok_status();
    }));
  }
  std::vector<std::pair<uint64_t, RunId>> found;
  RunId from;
  for (bool more = true; more;) {
    PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) {
      from = frame.state().each_run(from, false, kRunsPerLook, [&](const Run& run) {
        if (run.script && run.script->definition == workflow && run.script->created_sequence < end)
          found.emplace_back(run.script->created_sequence, run.id);
        return true;
      });
      more = !from.is_nil();
      return ok_status();
    }));
  }
  std::sort(found.rbegin(), found.rend());
  found.resize(std::min(found.size(), std::clamp<size_t>(limit, 1, kHistoryMax)));
  std::string text;
  json::Writer w(text);
  w.begin_array();
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) {
    for (const auto& [sequence, id] : found)
      if (const Run* run = frame.state().find_run(id); run != nullptr && run->script)
        w.raw(pace_state(frame.state(), *run).json());
    return ok_status();
  }));
  w.end_array();
  return text;
}

Status Host::signal(const std::string& instance, const std::string& name,
                    const std::string& payload, const std::string& step) {
  if (name.empty() || name.size() > kSignalNameMax)
    return Error{ErrorCode::InvalidRequest, "a signal needs a name of up to 255 bytes"};
  PAWL_TRY_DO(check_json(payload, "the payload", false));
  PAWL_TRY_DO(start());
  return parts_->runtime.decide([&](Frame& frame) -> Status {
    PAWL_TRY(const Run* run, find_instance(frame.state(), instance));
    return signal_script(frame, run->id, {name, step, payload, "", ""});
  });
}

Result<std::string> Host::pending_decisions(const std::string& instance) {
  PAWL_TRY_DO(start());
  std::string text;
  json::Writer w(text);
  w.begin_array();
  PAWL_TRY_DO(parts_->runtime.decide([&](Frame& frame) -> Status {
    RunId wanted;
    if (!instance.empty()) {
      PAWL_TRY(const Run* run, find_instance(frame.state(), instance));
      wanted = run->id;
    }
    size_t count = 0;
    frame.state().each_doc(DocKind::Decision, "", SIZE_MAX, [&](const Doc& doc) {
      StoredDecision decision;
      if (!codec::decode(doc.value, decision) || decision.status != "pending") return true;
      const Run* run = frame.state().find_run(decision.run);
      if (run == nullptr || (!wanted.is_nil() && run->id != wanted)) return true;
      w.begin_object().field("id", doc.key).field("instance_id", workflow_id_text(*run));
      w.field("step_id", decision.step);
      w.field_raw("context", decision.context.empty() ? "{}" : decision.context);
      if (!decision.target_agent.empty()) w.field("target_agent", decision.target_agent);
      w.field("created_at", pace_time(decision.created_ms));
      if (decision.expires_ms != 0) w.field("expires_at", pace_time(decision.expires_ms));
      w.end_object();
      return ++count < kDecisionsMax;
    });
    return ok_status();
  }));
  w.end_array();
  return text;
}

Status Host::resolve_decision(const std::string& decision, const DecisionChoice& choice) {
  PAWL_TRY_DO(check_json(choice.data, "the data", false));
  PAWL_TRY_DO(start());
  return parts_->runtime.decide([&](Frame& frame) {
    return pawl::resolve_decision(
        frame, decision, {choice.choice, choice.data, choice.reasoning, choice.resolved_by});
  });
}

}  // namespace pawl::embed
