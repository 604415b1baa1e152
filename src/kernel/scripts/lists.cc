#include "kernel/scripts/lists.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "kernel/run.h"
#include "kernel/scripts/checks.h"
#include "kernel/scripts/expression_names.h"
#include "kernel/scripts/rollback.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/run_end.h"
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/suspension.h"
#include "kernel/scripts/text.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

constexpr uint64_t kStepsPerUnit = 16;  // of a list, looked at in passing

enum class Ready : uint8_t { Wait, Run, Skip };
// The outcome of the step whose end causes the check. Anything: unknown, several steps may have
// changed.
enum class News : uint8_t { Anything, Success, Failure, Skip };

// Whether this step, which waited at its last check, must still wait. One unfinished dependency is
// enough, unless the outcome alone decides. Finished ones are not checked again, or a fan-in would
// take quadratic time.
bool must_wait(const RunContext& run, const Scope& in, uint32_t position, News news) {
  const plan::Step& step = run.plan().at(in.list, position);
  switch (step.trigger) {
    case plan::Trigger::OneSuccess:
      if (news == News::Anything || news == News::Success) return false;
      break;
    case plan::Trigger::AllDone:
      break;
    case plan::Trigger::AllSuccess:
      if (in.failed || news != News::Success) return false;
      break;
    case plan::Trigger::NoneFailed:
      if (in.failed || news == News::Anything || news == News::Failure) return false;
      break;
  }
  in.dependencies_over.resize(in.records.size());
  uint32_t& over = in.dependencies_over[position];
  for (; over < step.depends_on.size(); ++over) {
    const uint32_t other = step.depends_on[over];
    const StepRecord& own = in.records[other];
    if (run.plan().at(in.list, other).dormant) return false;
    if (!is_over(effective_record(in, run.plan(), own, other).state)) return true;
  }
  return false;
}

// For each step of the list: whether it is the fallback of a failed step.
std::vector<bool> called_upon(const RunContext& run, const Scope& in) {
  std::vector<bool> called(in.records.size());
  for (uint32_t i = 0; i < in.records.size(); ++i) {
    const uint32_t fallback = run.plan().at(in.list, i).fallback;
    const StepRecord& record = in.records[i];
    if (record.state == StepState::Failed && record.handled && fallback < called.size())
      called[fallback] = true;
  }
  run.frame.meter().charge(in.records.size() / kStepsPerUnit);
  return called;
}

// Whether a fallback may still be needed: known once every step with this fallback has ended, or is
// itself a fallback that is not needed. Every step is checked once, and has one fallback.
std::vector<bool> may_be_called(const RunContext& run, const Scope& in) {
  std::vector<bool> may = called_upon(run, in);
  auto asleep = [&](uint32_t i) {
    return run.plan().at(in.list, i).dormant && in.records[i].state == StepState::Pending &&
           !may[i];
  };
  for (uint32_t first = 0; first < in.records.size(); ++first) {
    uint32_t i = first;
    while (!is_over(in.records[i].state) && !asleep(i)) {
      const uint32_t fallback = run.plan().at(in.list, i).fallback;
      if (fallback >= may.size() || may[fallback]) break;
      may[fallback] = true;
      i = fallback;
    }
  }
  return may;
}

// `callable`: may_be_called(), computed on demand.
Ready readiness(const RunContext& run, const Scope& in, const plan::Step& step,
                std::optional<std::vector<bool>>& callable) {
  bool all_over = true;
  bool any_failed = false;
  bool any_skipped = false;
  bool any_success = false;
  for (uint32_t position : step.depends_on) {
    const StepRecord& own = in.records[position];
    const plan::Step& dependency = run.plan().at(in.list, position);
    if (dependency.dormant && own.state == StepState::Pending) {
      if (!callable) callable = may_be_called(run, in);
      if ((*callable)[position]) all_over = false;
      continue;
    }
    const StepRecord& record = effective_record(in, run.plan(), own, position);
    if (!is_over(record.state)) {
      all_over = false;
    } else if (record.state == StepState::Completed) {
      any_success = true;
    } else if (record.state == StepState::Failed) {
      any_failed = true;
    } else {
      any_skipped = true;
    }
  }
  switch (step.trigger) {
    case plan::Trigger::OneSuccess:
      if (any_success || step.depends_on.empty()) return Ready::Run;
      return all_over ? Ready::Skip : Ready::Wait;
    case plan::Trigger::AllDone:
      return all_over ? Ready::Run : Ready::Wait;
    case plan::Trigger::AllSuccess:
      if (any_failed || any_skipped) return Ready::Skip;
      break;
    case plan::Trigger::NoneFailed:
      if (any_failed) return Ready::Skip;
      break;
  }
  if (in.failed) return Ready::Skip;  // no new step begins in a failed list
  return all_over ? Ready::Run : Ready::Wait;
}

void start_step(RunContext& run, const At& at) {
  if (!at.step->condition.empty() && run.record(at).ready < 2) {
    auto holds = test_expression(run.names_for(at, at.step->condition), at.step->condition);
    if (!holds.ok()) {
      run.frame.emit(started(run, at, 1));
      return fail_step(run, at,
                       step_error("EXPRESSION_ERROR",
                                  "its condition cannot be evaluated: " + holds.error().message),
                       false);
    }
    if (!*holds) return skip_step(run, at, "condition");
    if (run.full()) {
      run.cut_short = true;
      return run.frame.emit(StepsReady{run.id, at.scope, {at.position}, true, false});
    }
  }
  kind_of(*at.step).activate(run, at, run.record(at).attempt + 1);
}

// The rest of these steps begin in a later frame, as if they began now.
void keep_ready(RunContext& run, const std::string& path,
                const std::vector<std::pair<uint32_t, Ready>>& ready, size_t from) {
  const Scope* in = run.scope(path);
  if (in == nullptr || in->closed || is_terminal(run.entity().state)) return;
  StepsReady event;
  event.run = run.id;
  event.scope = path;
  for (size_t i = from; i < ready.size(); ++i) {
    const StepRecord& record = in->records[ready[i].first];
    if (ready[i].second == Ready::Run && record.state == StepState::Pending && record.ready == 0)
      event.positions.push_back(ready[i].first);
  }
  if (!event.positions.empty()) run.frame.emit(event);
}

// Readiness is checked for all before the first begins: a step that fails at once must not prevent
// others that were ready at the same time.
void try_start(RunContext& run, const std::string& path, const std::vector<uint32_t>& positions,
               News news) {
  std::vector<std::pair<uint32_t, Ready>> ready;
  std::optional<std::vector<bool>> called, callable;
  for (uint32_t position : positions) {
    const Scope& in = *run.scope(path);
    if (in.records[position].state != StepState::Pending || run.script().paused) continue;
    const plan::Step& step = run.plan().at(in.list, position);
    if (step.dormant && !called) called = called_upon(run, in);
    bool asleep = step.dormant && !(*called)[position];
    Ready now = in.records[position].ready != 0      ? Ready::Run
                : asleep                             ? Ready::Wait
                : step.dormant                       ? Ready::Run
                : must_wait(run, in, position, news) ? Ready::Wait
                                                     : readiness(run, in, step, callable);
    if (now != Ready::Wait) ready.emplace_back(position, now);
  }
  std::vector<uint32_t> left;  // marked as ready, but there is no place for them
  for (size_t i = 0; i < ready.size(); ++i) {
    auto [position, now] = ready[i];
    const Scope* in = run.scope(path);
    if (in == nullptr || in->closed || is_terminal(run.entity().state)) return;
    if (in->records[position].state != StepState::Pending) continue;
    At here = run.at(path, position);
    if (now == Ready::Skip) {
      skip_step(run, here, "upstream_failed");
    } else if (may_start_another(run)) {
      leave_suspension(run);
      if (!run.full()) start_step(run, here);
      if (run.full() && run.scope(path)->records[position].state == StepState::Pending)
        run.cut_short = true;
      if (run.cut_short) return keep_ready(run, path, ready, i);
    } else if (in->records[position].ready != 0) {
      left.push_back(position);
    }
  }
  if (!left.empty()) run.frame.emit(StepsReady{run.id, path, std::move(left), false, true});
}

void close_if_done(RunContext& run, const std::string& path) {
  const Scope& in = *run.scope(path);
  if (in.closed || in.unfinished > 0) return;
  const std::vector<bool> called = called_upon(run, in);
  for (uint32_t i = 0; i < in.records.size(); ++i) {
    StepState state = in.records[i].state;
    if (is_over(state)) continue;
    if (state != StepState::Pending || called[i]) return;  // a running fallback
  }
  std::string owner = in.owner;
  run.frame.emit(closed_event(run, in));
  if (!owner.empty() && run.script().phase == ScriptPhase::Rollback &&
      path == join_path(owner, plan::kCompensateName))
    return compensation_closed(run, path);
  if (!owner.empty()) return run.schedule_check(CheckKind::ChildEnded, owner);
  leave_suspension(run);
  if (run.script().phase == ScriptPhase::Hooks) return finish_run(run);
  const Scope& root = *run.scope(path);
  end_steps(run, root.failed ? ScriptStatus::Failed : ScriptStatus::Completed, root.error, "",
            root.failed && run.plan().on_failure == plan::OnError::Rollback);
}

void start_ready(RunContext& run, const std::string& path, News news) {
  const Scope* in = run.scope(path);
  if (in == nullptr || in->closed) return;
  std::vector<uint32_t> all(in->records.size());
  std::iota(all.begin(), all.end(), 0);
  try_start(run, path, all, news);
  close_if_done(run, path);
}

// The output of the last step that has one; null if there is none.
const Text* last_text(const RunContext& run, const Scope& in) {
  for (size_t i = in.records.size(); i-- > 0;) {
    auto position = static_cast<uint32_t>(i);
    if (run.plan().at(in.list, position).dormant) continue;
    const StepRecord& record = effective_record(in, run.plan(), in.records[i], position);
    if (record.state == StepState::Completed)
      return record.output.empty() ? nullptr : &record.output;
  }
  return nullptr;
}

}  // namespace

void open_list(RunContext& run, const At* owner, const std::string& path, uint32_t list,
               bool iteration, uint32_t index, const std::string& item) {
  ScopeOpened event;
  event.run = run.id;
  event.scope = path;
  if (owner != nullptr) {
    event.owner = owner->path;
    event.owner_position = owner->position;
  }
  event.list = list;
  const plan::List& steps = run.plan().lists[list];
  event.steps = static_cast<uint32_t>(steps.steps.size());
  for (uint32_t place : steps.steps) event.dormant += run.plan().steps[place].dormant ? 1 : 0;
  event.iteration = iteration;
  event.index = index;
  event.item = item;
  run.frame.emit(event);
  run.schedule_check(CheckKind::List, path);
}

ScopeClosed closed_event(const RunContext& run, const Scope& in) {
  ScopeClosed event;
  event.run = run.id;
  event.scope = in.path;
  event.failed = in.failed;
  event.error = in.error;
  event.iteration = in.iteration;
  event.index = in.index;
  return event;
}

void start_ready_steps(RunContext& run, const std::string& path) {
  start_ready(run, path, News::Anything);
}

void start_dependents(RunContext& run, const At& at) {
  const Scope* in = run.scope(at.scope);
  if (in->closed) return;
  if (at.step->dormant || at.step->fallback != plan::kNoStep)
    return start_ready(run, at.scope, News::Anything);
  StepState state = in->records[at.position].state;
  News news = state == StepState::Completed ? News::Success
              : state == StepState::Failed  ? News::Failure
                                            : News::Skip;
  if (in->failed) return start_ready(run, at.scope, news);
  try_start(run, at.scope, at.step->dependents, news);
  close_if_done(run, at.scope);
}

std::string last_output(const RunContext& run, const Scope& in) {
  const Text* text = last_text(run, in);
  return text == nullptr ? "null" : text->str();
}

size_t last_bytes(const RunContext& run, const Scope& in) {
  const Text* text = last_text(run, in);
  return text == nullptr ? std::string_view("null").size() : text->size();
}

const Scope* completed_list(RunContext& run, const At& at, std::string_view name) {
  const Scope* inner = run.scope(join_path(at.path, name));
  if (inner == nullptr || !inner->closed) return nullptr;
  if (!inner->failed) return inner;
  fail_step(run, at, inner->error, true);
  return nullptr;
}

}  // namespace pawl::scripts
