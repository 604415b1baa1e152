// Retrying a run: which steps run again, and which are kept.
//
// No completed step runs again unless it is requested (from_step and its dependents) or was undone
// by a rollback. Failed lists are reopened and continue where they were.
#include "kernel/scripts/retry.h"

#include <algorithm>
#include <set>

#include "kernel/compositions/run_values.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/checks.h"
#include "kernel/scripts/rollback.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/suspension.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

struct Reset {
  StepsReset event;
  std::set<std::string> again;    // steps that restart
  std::set<std::string> resumed;  // their enclosing steps
  std::set<std::string> reopened;
  std::set<std::string> dropped;
  std::set<std::string> undone;  // by a rollback
};

// Skipped because of another failure, not by its condition.
bool was_cut_off(const StepRecord& record) {
  return record.state == StepState::Skipped &&
         (record.reason == "upstream_failed" || record.reason == "run_failed" ||
          record.reason == "cancelled" || record.reason == "step_failed");
}

bool failed_openly(const StepRecord& record) {
  return record.state == StepState::Failed && !record.handled;
}

bool is_incomplete(const Scope& in) {
  for (const StepRecord& record : in.records)
    if (failed_openly(record) || was_cut_off(record)) return true;
  return false;
}

bool is_below(std::string_view path, std::string_view top) {
  return path.size() > top.size() && path[top.size()] == '.' && path.substr(0, top.size()) == top;
}

bool any_below(const std::set<std::string>& paths, std::string_view top) {
  auto at = paths.lower_bound(std::string(top) + ".");
  return at != paths.end() && is_below(*at, top);
}

// The original error behind a failed rollback.
StepError cause_of(const StepError& error) {
  auto details = Value::parse(error.details.empty() ? "null" : error.details);
  const Value* cause = details.ok() ? details->find("cause") : nullptr;
  if (cause == nullptr || !cause->is_object()) return error;
  auto text = [&](std::string_view key) {
    const Value* value = cause->find(key);
    return value != nullptr && value->is_string() ? value->as_string() : std::string();
  };
  return step_error(text("code"), text("message"), text("step_id"));
}

// Resets failed and interrupted steps in this list, and in its inner lists.
void reset_incomplete(const RunContext& run, const std::string& path, Reset& reset) {
  const Scope in = *run.scope(path);
  for (uint32_t i = 0; i < in.records.size(); ++i) {
    const StepRecord& record = in.records[i];
    At here = run.at(path, i);
    bool undone = reset.undone.count(here.path) != 0;
    bool undone_inside = any_below(reset.undone, here.path);
    if (!failed_openly(record) && !was_cut_off(record) && !undone && !undone_inside) continue;
    std::vector<std::string> inner;
    std::vector<std::string> all_inner;
    bool entered = false;
    run.state.each_scope(run.entity(), here.path + ".", [&](const Scope& each) {
      all_inner.push_back(each.path);
      if (each.owner != here.path || each.list == here.step->compensate) return true;
      entered = true;
      if (is_incomplete(each) || any_below(reset.undone, each.path)) inner.push_back(each.path);
      return true;
    });
    bool resumes = !undone && !kind_of(*here.step).is_redone_whole() &&
                   (failed_openly(record) ? !inner.empty() : entered);
    if (resumes) {
      reset.resumed.insert(here.path);
      for (const std::string& each : inner) {
        reset.reopened.insert(each);
        reset_incomplete(run, each, reset);
      }
    } else {
      reset.again.insert(here.path);
      reset.dropped.insert(all_inner.begin(), all_inner.end());
    }
  }
}

// It restarts as a whole: a race, or a step that was undone.
bool begins_anew(const RunContext& run, const At& at) {
  const std::vector<std::string>& undone = run.script().compensated;
  return kind_of(*at.step).is_redone_whole() ||
         std::find(undone.begin(), undone.end(), at.path) != undone.end();
}

// A step that failed by itself would restart as a whole, but not if one of its inner steps is
// named: its earlier inner steps are kept.
void keep_owners(const RunContext& run, const At& from, Reset& reset) {
  At owner = from;
  while (run.find(run.scope(owner.scope)->owner, owner)) {
    if (begins_anew(run, owner) || reset.again.erase(owner.path) == 0) continue;
    std::erase_if(reset.dropped,
                  [&](const std::string& path) { return is_below(path, owner.path); });
  }
}

// Resets this step, its dependents, and the same for every enclosing step.
void reset_from(const RunContext& run, const At& from, Reset& reset) {
  const Scope in = *run.scope(from.scope);
  std::vector<bool> behind(in.records.size(), false);
  std::vector<uint32_t> queue{from.position};
  behind[from.position] = true;
  while (!queue.empty()) {
    uint32_t position = queue.back();
    queue.pop_back();
    for (uint32_t next : run.plan().at(in.list, position).dependents) {
      if (behind[next]) continue;
      behind[next] = true;
      queue.push_back(next);
    }
  }
  for (uint32_t i = 0; i < in.records.size(); ++i) {
    std::string path = run.at(from.scope, i).path;
    if (!behind[i] || (in.records[i].state == StepState::Pending && in.records[i].id.empty()))
      continue;
    if (reset.resumed.count(path) != 0 && path == from.path) continue;
    reset.again.insert(path);
    reset.resumed.erase(path);
    run.state.each_scope(run.entity(), path + ".", [&](const Scope& each) {
      reset.dropped.insert(each.path);
      reset.reopened.erase(each.path);
      return true;
    });
  }
  reset.reopened.insert(from.scope);
  if (in.owner.empty()) return;
  At owner;
  if (!run.find(in.owner, owner)) return;
  if (begins_anew(run, owner)) return reset_from(run, owner, reset);
  reset.resumed.insert(owner.path);
  if (in.iteration)  // later iterations restart
    run.state.each_scope(run.entity(), owner.path + ".iter_", [&](const Scope& each) {
      if (each.owner != owner.path || each.index <= in.index) return true;
      run.state.each_scope(run.entity(), each.path, [&](const Scope& below) {
        if (below.path == each.path || is_below(below.path, each.path))
          reset.dropped.insert(below.path);
        return true;
      });
      return true;
    });
  reset_from(run, owner, reset);
  reset.again.erase(owner.path);
}

// Steps inside a dropped list need not be listed.
void prune(Reset& reset) {
  auto inside = [&](const std::string& step) {
    return reset.dropped.count(std::string(split_step(step).first)) != 0;
  };
  std::erase_if(reset.again, inside);
  std::erase_if(reset.resumed, inside);
  std::erase_if(reset.reopened,
                [&](const std::string& path) { return reset.dropped.count(path) != 0; });
}

// Not part of a hook or a compensation.
bool is_of_the_steps(const RunContext& run, const At& at) {
  const Scope* in = run.scope(at.scope);
  At owner;
  while (in != nullptr && !in->owner.empty()) {
    if (!run.find(in->owner, owner) || owner.step->compensate == in->list) return false;
    in = run.scope(owner.scope);
  }
  return in != nullptr && in->path.empty();
}

// The lists of hooks and of an interrupted rollback: both are entered again later.
std::vector<std::string> lists_of_the_end(const RunContext& run) {
  std::vector<std::string> lists;
  std::string inside;  // the last one, with a trailing separator
  run.state.each_scope(run.entity(), "", [&](const Scope& each) {
    bool hook = each.owner.empty() && !each.path.empty();
    bool undoing = !each.owner.empty() && each.path == join_path(each.owner, plan::kCompensateName);
    bool below = !inside.empty() && each.path.compare(0, inside.size(), inside) == 0;
    if (!below && (hook || undoing)) inside = each.path + ".";
    if (below || hook || undoing) lists.push_back(each.path);
    return true;
  });
  return lists;
}

// Makes the run active again, however it ended.
void reopen_run(RunContext& run) {
  ScriptPaused paused;
  paused.run = run.id;
  if (run.script().paused) run.frame.emit(paused);
  ScriptMoved event = moved_event(run, ScriptStatus::Active);
  event.reason = "retry";
  run.frame.emit(event);
}

// Emits the reset steps, reopens the run, and schedules checks of all open lists.
void resume_children(RunContext& run, const Reset& reset, const std::string& inputs) {
  StepsReset event = reset.event;
  event.inputs = inputs;
  for (std::string& list : lists_of_the_end(run))
    if (reset.dropped.count(list) == 0) event.dropped.push_back(std::move(list));
  event.dropped.insert(event.dropped.end(), reset.dropped.begin(), reset.dropped.end());
  for (const std::string& path : reset.again) {
    At at;
    if (!run.find(path, at)) continue;
    event.steps.push_back({path, at.position, at.step->dormant, false, 0, 0});
  }
  for (const std::string& path : reset.resumed) {
    At at;
    if (!run.find(path, at)) continue;
    uint32_t next = kind_of(*at.step).next_list(run, at, reset.dropped);
    // It gets its full timeout again, since the repeated work may take as long.
    int64_t due_ms = at.step->timeout_ms == 0 ? 0 : run.frame.now_ms() + at.step->timeout_ms;
    event.steps.push_back({path, at.position, at.step->dormant, true, next, due_ms});
  }
  event.reopened.assign(reset.reopened.begin(), reset.reopened.end());
  run.frame.emit(event);
  reopen_run(run);
  ScriptPhased phased;
  phased.run = run.id;
  phased.outcome = ScriptStatus::Active;
  run.frame.emit(phased);
  schedule_all_checks(run);
}

// The compensation that failed is tried again, or left out.
void retry_rollback(RunContext& run, bool leave_out) {
  StepError cause = cause_of(run.script().error);
  std::vector<std::string> rest(run.script().compensate.begin(), run.script().compensate.end());
  std::string failed = rest.empty() ? "" : rest.front();
  if (leave_out && !rest.empty()) rest.erase(rest.begin());
  reopen_run(run);
  if (!failed.empty()) drop_list(run, join_path(failed, plan::kCompensateName));
  for (std::string hook : {"on_complete", "on_error"})
    if (const Scope* in = run.scope(hook); in != nullptr && in->owner.empty()) drop_list(run, hook);
  ScriptPhased phased;
  phased.run = run.id;
  phased.outcome = ScriptStatus::Failed;
  if (leave_out) run.frame.emit(phased);  // a skipped compensation does not count as undone
  phased.phase = ScriptPhase::Rollback;
  phased.error = cause;
  phased.compensate = rest;
  run.frame.emit(phased);
  compensate_next(run);
  drain(run);
}

}  // namespace

Result<RetryPreview> retry(RunContext& run, const std::string& from_step, const std::string& inputs,
                           bool preview) {
  Reset reset;
  reset.event.run = run.id;
  reset.undone.insert(run.script().compensated.begin(), run.script().compensated.end());
  if (run.scope("") == nullptr)
    return Error{ErrorCode::Conflict, "Run " + run.id.text() + " never began; start it anew"};
  if (run.script().error.code == "ROLLBACK_FAILED" && from_step.empty()) {
    RetryPreview plan;
    plan.again.assign(run.script().compensate.begin(), run.script().compensate.end());
    if (!preview) retry_rollback(run, false);
    return plan;
  }
  reset.reopened.insert("");
  reset_incomplete(run, "", reset);
  if (!from_step.empty()) {
    At from;
    if (!run.find(from_step, from) || !is_of_the_steps(run, from))
      return Error{ErrorCode::InvalidContent,
                   "from_step: this run has no step '" + from_step + "'",
                   {{"from_step", "names no step of this run", "unknown_step"}}};
    keep_owners(run, from, reset);
    reset_from(run, from, reset);
  } else if (reset.again.empty()) {
    if (run.script().status == ScriptStatus::Completed)
      return Error{ErrorCode::Conflict, "the run completed; name a step to retry from"};
  }
  prune(reset);
  RetryPreview plan;
  plan.again.assign(reset.again.begin(), reset.again.end());
  run.state.each_scope(run.entity(), "", [&](const Scope& in) {
    if (reset.dropped.count(in.path) != 0) return true;
    for (const StepRecord& record : in.records) {
      std::string path = join_path(in.path, record.id);
      if (record.state == StepState::Completed && reset.again.count(path) == 0 &&
          reset.resumed.count(path) == 0)
        plan.kept.push_back(path);
    }
    return true;
  });
  if (preview) return plan;
  resume_children(run, reset, inputs);
  drain(run);
  return plan;
}

Status skip_and_retry(RunContext& run, const At& at, const SignalReceived& event) {
  if (run.script().error.code == "ROLLBACK_FAILED") {
    run.frame.emit(event);
    retry_rollback(run, true);
    return ok_status();
  }
  if (!is_of_the_steps(run, at))
    return Error{ErrorCode::Conflict, "step '" + at.path +
                                          "' is of a hook or a compensation, which a retry runs "
                                          "anew; it cannot be skipped"};
  if (!failed_openly(run.record(at)))
    return Error{ErrorCode::Conflict, "step '" + at.path + "' is " +
                                          std::string(step_state_name(run.record(at).state)) +
                                          "; only a failed step of a failed run can be skipped"};
  Reset reset;
  reset.event.run = run.id;
  reset.undone.insert(run.script().compensated.begin(), run.script().compensated.end());
  reset.reopened.insert("");
  reset_incomplete(run, "", reset);
  reset.again.insert(at.path);
  reset.resumed.erase(at.path);
  run.state.each_scope(run.entity(), at.path + ".", [&](const Scope& each) {
    reset.reopened.erase(each.path);
    reset.dropped.insert(each.path);
    return true;
  });
  prune(reset);
  if (reset.again.count(at.path) == 0)
    return Error{ErrorCode::Conflict, "step '" + at.path + "' lost a race that is run again"};
  const Scope* in = run.scope(at.scope);
  if (in != nullptr && in->closed && reset.reopened.count(std::string(at.scope)) == 0)
    return Error{
        ErrorCode::Conflict,
        "step '" + at.path + "' is in a list that is over without it; nothing waits for it"};
  run.frame.emit(event);
  resume_children(run, reset, "");
  run.checks.clear();
  skip_step(run, at, "skipped_by_signal");
  schedule_all_checks(run);
  drain(run);
  return ok_status();
}

}  // namespace pawl::scripts

namespace pawl {

Result<RetryPreview> retry_script(Frame& frame, const RunId& id, const RetryRequest& request) {
  const Run* run = find_script(frame.state(), id);
  if (run == nullptr) return Error{ErrorCode::NotFound, "Run " + id.text() + " not found"};
  if (!is_terminal(run->state))
    return Error{ErrorCode::Conflict, "Run " + shown_id(*run) + " is " +
                                          std::string(script_status_name(run->script->status)) +
                                          "; only a finished one can be retried"};
  if (!run->parent.run.is_nil()) return part_of_another(frame.state(), "Run", *run);
  scripts::RunContext context(frame, id);
  return scripts::retry(context, request.from_step, request.inputs, request.preview);
}

}  // namespace pawl
