// Explain for runs of definitions: reports what every started and unfinished step waits for.
#include "api/explain.h"
#include "api/run_view.h"
#include "base/time.h"
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/scripts/admission.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::api {
namespace {

constexpr uint64_t kTurnsCounted = 1'000;

// A step whose inner lists show what it waits for.
bool speaks_through_its_lists(const plan::Step& step, const StepRecord& record) {
  bool holds_lists = step.type == plan::StepType::Condition || step.type == plan::StepType::Loop ||
                     step.type == plan::StepType::Parallel || step.type == plan::StepType::Sequence;
  return holds_lists && record.open > 0;
}

std::string say_turn(const State& state, const Run& run) {
  TurnStanding standing = standing_of(state, run, kTurnsCounted);
  return "waiting for its turn, " + std::string(standing.more_ahead ? "more than " : "") +
         std::to_string(standing.ahead) + " ahead: " + std::to_string(standing.active) +
         " of the " + std::to_string(standing.limit) + " runs that " +
         (standing.of_server               ? "the server"
          : run.script->definition.empty() ? "this text"
                                           : "'" + run.script->definition + "'") +
         " may have are at work";
}

// `on_timeout: suspend`: its deadline has passed, and it no longer has one.
bool timed_out(const plan::Script& plan, const Run& run) {
  const ScriptRun& script = *run.script;
  return script.paused && plan.on_timeout == plan::OnTimeout::Suspend && run.timeout_ms != 0 &&
         run.started_ms != 0 && script.timeout_at_ms == 0 && script.phase == ScriptPhase::Steps;
}

void say_paused(const plan::Script& plan, const Run& run, Wait& wait) {
  bool late = timed_out(plan, run);
  wait.reason = late ? "timeout" : "paused";
  wait.since_ms = run.script->paused_ms;
  wait.detail = late ? "is suspended: it took longer than its timeout of " +
                           std::to_string(run.timeout_ms) + " ms; POST /v1/runs/" + run.id.text() +
                           "/resume goes on without one"
                     : "is paused; POST /v1/runs/" + run.id.text() + "/resume goes on";
}

void say_suspended(const StepRecord& record, Wait& wait) {
  wait.until_ms = record.due_ms;
  if (!record.decision.empty()) {
    wait.reason = "decision";
    wait.detail =
        "waits for decision " + record.decision + "; answer it at /v1/decisions/" + record.decision;
  } else {
    wait.reason = "signal";
    wait.detail = "waits for the signal '" + record.signal + "'";
  }
  if (record.due_ms != 0) wait.detail += ", until " + format_rfc3339_ms(record.due_ms);
}

void say_running(const plan::Step& step, const StepRecord& record, Wait& wait) {
  if (record.due == DueKind::Wait) {
    wait.reason = "timer";
    wait.until_ms = record.due_ms;
    wait.detail = "waits until " + format_rfc3339_ms(record.due_ms);
    return;
  }
  wait.reason = "action";
  wait.detail = step.action.empty() ? "is at work" : "'" + step.action + "' is at work";
  wait.detail += ", attempt " + std::to_string(record.attempt);
  if (record.due == DueKind::Timeout) {
    wait.until_ms = record.due_ms;
    wait.detail += ", given up at " + format_rfc3339_ms(record.due_ms);
  }
}

}  // namespace

void Explainer::add_script(const Run& run, const std::string& prefix, size_t depth) {
  const plan::Script* plan = state_.script_of(run);
  const ScriptRun& script = *run.script;
  if (plan == nullptr || depth > kNestedShownMax) return;
  if (script.paused || script.status == ScriptStatus::Pending) {
    ++out_.waits_total;
    Wait wait;
    wait.step_id = prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1);
    if (script.paused) {
      say_paused(*plan, run, wait);
    } else {
      wait.reason = "turn";
      wait.since_ms = run.created_ms;
      wait.detail = say_turn(state_, run);
    }
    if (depth > 0) wait.run = run.id;
    if (!full()) out_.waits.push_back(std::move(wait));
  }
  for (const std::string& path : script.live) {
    const pawl::Scope* scope = state_.find_scope(run, path);
    for (uint32_t i = 0; scope != nullptr && i < scope->records.size(); ++i) {
      const StepRecord& record = scope->records[i];
      const plan::Step& step = plan->at(scope->list, i);
      std::string id = prefix + join_path(path, step.id);
      if (record.state == StepState::Pending) {
        if (!step.dormant) add_next_step(*plan, *scope, step, id);
      } else if (!is_over(record.state) && !speaks_through_its_lists(step, record)) {
        add_step(run, step, record, id, depth);
      }
    }
  }
}

void Explainer::add_next_step(const plan::Script& plan, const pawl::Scope& scope,
                              const plan::Step& step, const std::string& id) {
  if (++out_.next_total > kWaitsShownMax) return;
  NextStep next;
  next.step_id = id;
  next.type = step.type_name;
  for (uint32_t position : step.depends_on)
    if (!is_over(scope.records[position].state))
      next.after += (next.after.empty() ? "" : ", ") + plan.at(scope.list, position).id;
  out_.next.push_back(std::move(next));
}

void Explainer::add_step(const Run& run, const plan::Step& step, const StepRecord& record,
                         const std::string& id, size_t depth) {
  if (record.effect != 0) {
    Uuid child = step_child_id(state_, child_id(run, record.effect));
    if (const Job* job = state_.find_job(JobId(child))) return add_job(*job, id);
    if (const Run* nested = state_.find_run(RunId(child)))
      return view_of(*nested).explain(*this, *nested, id + ".", depth + 1);
  }
  ++out_.waits_total;
  if (full()) return;
  Wait wait;
  wait.step_id = id;
  wait.since_ms = record.started_ms;
  if (record.state == StepState::Suspended) {
    say_suspended(record, wait);
  } else if (record.state == StepState::Retrying) {
    wait.reason = "retry";
    wait.until_ms = record.due_ms;
    wait.detail = "attempt " + std::to_string(record.attempt) + " failed (" + record.error.code +
                  ": " + record.error.message.substr(0, 200) + "); the next one is at " +
                  format_rfc3339_ms(record.due_ms);
  } else {
    say_running(step, record, wait);
  }
  if (depth > 0) {
    wait.run = run.id;
    wait.detail += ", in run " + run.id.text();
  }
  out_.waits.push_back(std::move(wait));
}

}  // namespace pawl::api
