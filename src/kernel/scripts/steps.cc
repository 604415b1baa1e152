// How a step begins.
#include "kernel/scripts/flow.h"

namespace pawl {

void ScriptFlow::start_step(const At& at) {
  if (!at.step->condition.empty() && record(at).ready < 2) {
    auto holds = test_expression(scope_for(at, at.step->condition), at.step->condition);
    if (!holds.ok()) {
      frame_.emit(started(at, 1, false));
      return fail(at,
                  step_error("EXPRESSION_ERROR",
                             "its condition cannot be evaluated: " + holds.error().message),
                  false);
    }
    if (!*holds) return skip_step(at, "condition");
    if (full()) {
      cut_short_ = true;
      return frame_.emit(StepsReady{id_, at.scope, {at.position}, true, false});
    }
  }
  begin_attempt(at, record(at).attempt + 1);
}

// An id may be used again once its run is forgotten. Numbers then begin elsewhere, so that what the
// first run asked for, and the jobs it made, are never taken for what the second one asks.
uint32_t ScriptFlow::next_effect() const {
  constexpr uint64_t kFirstMask = 0x3fffffff;
  if (script().next_effect != 1) return script().next_effect;
  return 1 + static_cast<uint32_t>(mix64(script().created_sequence) & kFirstMask);
}

StepStarted ScriptFlow::started(const At& at, uint32_t attempt, bool asks_outside) const {
  auto event = event_for<StepStarted>(at);
  event.type = at.step->type_name;
  event.attempt = attempt;
  if (asks_outside) event.effect = next_effect();
  // Only what the outside works on: a wait or a person may take as long as they like.
  bool bounded = at.step->type == plan::StepType::Job ||
                 (at.step->type == plan::StepType::Action && !is_engine_action(at.step->action));
  int64_t timeout_ms = at.step->timeout_ms != 0  ? at.step->timeout_ms
                       : bounded && asks_outside ? state_.script_defaults().step_timeout_ms
                                                 : 0;
  if (timeout_ms != 0) {
    event.due_ms = frame_.now_ms() + timeout_ms;
    event.due = DueKind::Timeout;
  }
  return event;
}

void ScriptFlow::begin_attempt(const At& at, uint32_t attempt) {
  switch (at.step->type) {
    case plan::StepType::Action:
      return begin_action(at, attempt);
    case plan::StepType::Job:
    case plan::StepType::Composition:
      return frame_.emit(started(at, attempt, true));
    case plan::StepType::Subworkflow: {
      StepStarted event = started(at, attempt, true);
      frame_.emit(event);
      return begin_subworkflow(at, event.effect);
    }
    case plan::StepType::Wait:
      if (attempt > 1) drop_scopes_of(at.path);
      return begin_wait(at);
    case plan::StepType::Decision:
      frame_.emit(started(at, attempt, false));
      return begin_decision(at);
    case plan::StepType::Condition:
    case plan::StepType::Test:
    case plan::StepType::Loop:
    case plan::StepType::Parallel:
    case plan::StepType::Sequence:
      if (attempt > 1) drop_scopes_of(at.path);
      frame_.emit(started(at, attempt, false));
      return begin_composite(at);
  }
}

void ScriptFlow::begin_composite(const At& at) {
  switch (at.step->type) {
    case plan::StepType::Condition:
      return begin_condition(at);
    case plan::StepType::Test:
      return begin_test(at);
    case plan::StepType::Loop:
      return begin_loop(at);
    case plan::StepType::Parallel:
      return begin_parallel(at);
    case plan::StepType::Sequence:
      return begin_sequence(at);
    case plan::StepType::Action:
    case plan::StepType::Job:
    case plan::StepType::Composition:
    case plan::StepType::Subworkflow:
    case plan::StepType::Wait:
    case plan::StepType::Decision:
      return;
  }
}

}  // namespace pawl
