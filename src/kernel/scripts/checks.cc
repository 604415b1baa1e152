#include "kernel/scripts/checks.h"

#include <set>

#include "kernel/run.h"
#include "kernel/scripts/lists.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/run_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/suspension.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

// A list of this step has closed, or the whole run is checked again.
void notify_parent(RunContext& run, const At& at, CheckKind why) {
  if (run.record(at).state != StepState::Running) return;
  const StepKind& kind = kind_of(*at.step);
  if (why == CheckKind::ChildEnded) return kind.child_ended(run, at);
  kind.resume(run, at);
}

void do_check(RunContext& run, const Check& check) {
  if (check.kind == CheckKind::List) return start_ready_steps(run, check.path);
  if (check.kind == CheckKind::Finish) return finish_run(run);
  At at;
  if (!run.find(check.path, at)) return;
  if (check.kind == CheckKind::StepEnded) return start_dependents(run, at);
  notify_parent(run, at, check.kind);
}

// One step at a time: when none is active, any list may have the next one.
bool schedule_waiting_lists(RunContext& run) {
  if (run.state.script_defaults().parallel_steps || !may_start_another(run)) return false;
  if (is_terminal(run.entity().state) || run.lists_checked_after == run.frame.emitted())
    return false;
  run.lists_checked_after = run.frame.emitted();
  for (const std::string& path : run.script().live) run.schedule_check(CheckKind::List, path);
  return !run.checks.empty();
}

void work_off(RunContext& run) {
  while (!run.cut_short && (!run.checks.empty() || schedule_waiting_lists(run))) {
    if (run.full()) {
      run.cut_short = true;
      break;
    }
    Check next = std::move(run.checks.front());
    run.checks.pop_front();
    if (is_terminal(run.entity().state)) continue;
    do_check(run, next);
  }
  if (!std::exchange(run.cut_short, false)) return settle_status(run);
  run.checks.clear();
  if (is_terminal(run.entity().state)) return settle_status(run);
  leave_suspension(run);
  if (run.script().yielded_ms == 0) run.frame.emit(ScriptYielded{run.id});
}

}  // namespace

void drain(RunContext& run) {
  work_off(run);
  run.frame.take_postponed();
}

void schedule_all_checks(RunContext& run) {
  if (run.script().live.empty() && run.script().phase == ScriptPhase::Hooks)
    run.schedule_check(CheckKind::Finish, "");
  std::set<std::string> resumed;
  for (const std::string& path : run.script().live) {
    run.schedule_check(CheckKind::List, path);
    const Scope& in = *run.scope(path);
    if (!in.owner.empty() && resumed.insert(in.owner).second)
      run.schedule_check(CheckKind::Resume, in.owner);
    for (uint32_t i = 0; i < in.records.size(); ++i)
      if (in.records[i].state == StepState::Running &&
          kind_of(run.plan().at(in.list, i)).may_resume())
        if (std::string step = run.at(path, i).path; resumed.insert(step).second)
          run.schedule_check(CheckKind::Resume, step);
  }
}

bool may_start_another(const RunContext& run) {
  if (run.state.script_defaults().parallel_steps) return true;
  return run.script().busy == 0 && run.script().effects.empty();
}

}  // namespace pawl::scripts
