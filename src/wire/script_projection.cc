#include "wire/script_projection.h"

#include <algorithm>

#include "base/named.h"
#include "journal/events.h"
#include "kernel/scripts/step_names.h"

namespace pawl {
namespace {

constexpr size_t kOutputBytesMax = 64 * 1024;  // larger ones are read from the run

OjsEvent& add(const journal::EventBytes& from, std::vector<OjsEvent>& out, std::string_view type,
              const auto& told, const std::string& step = "") {
  OjsEvent& event = out.emplace_back();
  event.position = {from.sequence, 0};
  event.time_ms = from.time_ms;
  event.type = type;
  event.run = told.run.text();
  event.subject = told.run_client_id.empty() ? event.run : told.run_client_id;
  event.step = step;
  event.of_definition = true;
  return event;
}

void write_error(json::Writer& w, const StepError& error) {
  w.key("error").begin_object().field("code", error.code).field("message", error.message);
  if (!error.step.empty()) w.field("step_id", error.step);
  if (!error.details.empty()) w.field_raw("details", error.details);
  w.end_object();
}

void write_output(json::Writer& w, const std::string& output) {
  if (output.size() > kOutputBytesMax) {
    w.field_bool("output_omitted", true);
  } else if (!output.empty()) {
    w.field_raw("output", output);
  }
}

constexpr Named<ScriptStatus> kMovedTypes[] = {{"workflow_suspended", ScriptStatus::Suspended},
                                               {"workflow_completed", ScriptStatus::Completed},
                                               {"workflow_failed", ScriptStatus::Failed},
                                               {"workflow_cancelled", ScriptStatus::Cancelled}};

std::string_view type_of(const ScriptMoved& event) {
  if (event.to != ScriptStatus::Active) return name_of(kMovedTypes, event.to);
  return event.from == ScriptStatus::Pending ? "workflow_started" : "workflow_resumed";
}

void tell(const ScriptMoved& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  std::string_view type = type_of(event);
  if (type.empty()) return;
  json::Writer w(add(from, out, type, event).data);
  w.begin_object();
  if (!event.definition.empty()) w.field("definition", event.definition);
  if (!event.reason.empty()) w.field("reason", event.reason);
  if (!event.error.empty()) write_error(w, event.error);
  write_output(w, event.output);
  w.end_object();
}

void tell(const ScopeOpened& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  if (!event.iteration) return;
  json::Writer w(add(from, out, "loop_iter_started", event, event.owner).data);
  w.begin_object().field_int("iteration", event.index);
  if (!event.item.empty()) w.field_raw("item", event.item);
  w.end_object();
}

void tell(const ScopeClosed& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  if (!event.iteration) return;
  std::string owner(split_step(event.scope).first);
  json::Writer w(add(from, out, "loop_iter_completed", event, owner).data);
  w.begin_object().field_int("iteration", event.index).field_bool("failed", event.failed);
  w.end_object();
}

void tell(const StepStarted& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  json::Writer w(add(from, out, "step_started", event, event.step).data);
  w.begin_object().field("type", event.type).field_int("attempt", event.attempt).end_object();
}

void tell(const StepSuspended& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  json::Writer w(add(from, out, "step_suspended", event, event.step).data);
  w.begin_object();
  if (!event.decision.empty()) w.field("decision_id", event.decision);
  if (!event.signal.empty()) w.field("signal", event.signal);
  w.field_time_if_set("until", event.due_ms);
  w.end_object();
}

void tell(const ChildMoved& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  std::string_view type = event.suspended ? "step_suspended" : "step_resumed";
  json::Writer w(add(from, out, type, event, event.step).data);
  w.begin_object().field("run_id", event.child.text()).end_object();
}

void tell(const StepRetrying& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  json::Writer w(add(from, out, "step_retrying", event, event.step).data);
  w.begin_object().field_int("attempt", event.attempt);
  w.field_int("max_attempts", event.attempts_max);
  write_error(w, event.error);
  w.field_time("next_attempt_at", event.due_ms).end_object();
}

void tell(const StepEnded& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  std::string_view type = event.state == StepState::Completed ? "step_completed"
                          : event.state == StepState::Failed  ? "step_failed"
                                                              : "step_skipped";
  json::Writer w(add(from, out, type, event, event.step).data);
  w.begin_object();
  write_output(w, event.output);
  if (!event.error.empty()) write_error(w, event.error);
  if (!event.reason.empty()) w.field("reason", event.reason);
  if (event.state != StepState::Skipped) w.field_int("duration_ms", event.duration_ms);
  w.end_object();
}

void tell(const StepNoted& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  const auto& names = script_event_names();
  auto name = std::find(names.begin(), names.end(), event.type);
  if (name == names.end()) return;
  add(from, out, *name, event, event.step).data = event.data.empty() ? "{}" : event.data;
}

void tell(const VariableSet& event, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  json::Writer w(add(from, out, "variable_set", event).data);
  w.begin_object().field("key", event.key).field_raw("value", event.value).end_object();
}

void tell(const SignalReceived& event, const journal::EventBytes& from,
          std::vector<OjsEvent>& out) {
  json::Writer w(add(from, out, "signal_received", event, event.step).data);
  w.begin_object().field("type", event.type);
  if (!event.step.empty()) w.field("step_id", event.step);
  w.field_raw("payload", event.payload.empty() ? "null" : event.payload);
  if (!event.agent_id.empty()) w.field("agent_id", event.agent_id);
  if (!event.reasoning.empty()) w.field("reasoning", event.reasoning);
  w.field_bool("kept", event.kept).end_object();
}

void tell(const ScriptExtended& event, const journal::EventBytes& from,
          std::vector<OjsEvent>& out) {
  add(from, out, "dag_mutated", event).data = event.data.empty() ? "{}" : event.data;
}

std::string_view status_text(InstanceState state) {
  switch (state) {
    case InstanceState::Running:
      return "running";
    case InstanceState::Waiting:
      return "waiting";
    case InstanceState::Completed:
      return "completed";
    case InstanceState::Failed:
      return "failed";
    case InstanceState::Forgotten:
      return "forgotten";
  }
  return "";
}

// Of an instance of a module, which is a run as well.
void tell(const InstanceMoved& moved, const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  OjsEvent& event = out.emplace_back();
  event.position = {from.sequence, 0};
  event.time_ms = from.time_ms;
  event.type = "instance_moved";
  event.run = event.subject = moved.run.text();
  event.of_definition = true;
  json::Writer w(event.data);
  w.begin_object().field("world", moved.world_name).field("module", moved.module);
  if (!moved.key_json.empty()) w.field_raw("key", moved.key_json);
  w.field("status", status_text(moved.to)).field("version", moved.version);
  if (!moved.error_code.empty())
    w.key("error")
        .begin_object()
        .field("code", moved.error_code)
        .field("detail", moved.error_detail)
        .end_object();
  w.end_object();
}

template <class Event>
void tell_script_event(const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  if constexpr (requires(const Event& event) { tell(event, from, out); }) {
    Event event;
    if (!codec::decode(from.bytes, event)) return;  // not told; recovery refuses such a record
    tell(event, from, out);
  }
}

}  // namespace

void project_script(const journal::EventBytes& event, std::vector<OjsEvent>& out) {
  switch (event.type) {
#define PAWL_EVENT(number, name) \
  case EventType::name:          \
    return tell_script_event<name>(event, out);
#include "journal/event_types.def"
#undef PAWL_EVENT
  }
}

const std::vector<std::string_view>& script_event_names() {
  static const std::vector<std::string_view> kNames = {
      "circuit_breaker_closed",
      "circuit_breaker_half_open",
      "circuit_breaker_open",
      "condition_evaluated",
      "dag_mutated",
      "decision_requested",
      "decision_resolved",
      "error_handler_invoked",
      "instance_moved",
      "loop_completed",
      "loop_iter_completed",
      "loop_iter_started",
      "loop_started",
      "parallel_completed",
      "parallel_started",
      "rollback_completed",
      "rollback_started",
      "run_quarantined",
      "signal_received",
      "step_compensated",
      "step_compensating",
      "step_compensation_failed",
      "step_completed",
      "step_failed",
      "step_fallback",
      "step_ignored",
      "step_resumed",
      "step_retry_attempt",
      "step_retrying",
      "step_skipped",
      "step_started",
      "step_suspended",
      "variable_set",
      "wait_completed",
      "wait_started",
      "workflow_cancelled",
      "workflow_completed",
      "workflow_event",
      "workflow_failed",
      "workflow_log",
      "workflow_notification",
      "workflow_resumed",
      "workflow_started",
      "workflow_suspended",
      "workflow_timed_out",
  };
  return kNames;
}

void render_run_event(json::Writer& w, const OjsEvent& event) {
  w.begin_object().field_int("seq", event.position.sequence);
  w.field("id", event.id()).field("type", event.type).field("run_id", event.subject);
  if (!event.step.empty()) w.field("step_id", event.step);
  w.field_time("timestamp", event.time_ms).field_raw("data", event.data).end_object();
}

}  // namespace pawl
