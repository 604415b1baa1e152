#include "kernel/scripts/flow.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace pawl {
namespace {

constexpr uint64_t kStepsPerUnit = 16;  // of a list, looked at in passing

bool succeeded(const StepRecord& record) { return record.state == StepState::Completed; }

// Whether a step of this type that is running may have something to do that nobody tells it of.
bool goes_on_by_itself(plan::StepType type) {
  switch (type) {
    case plan::StepType::Condition:
    case plan::StepType::Sequence:
    case plan::StepType::Loop:
    case plan::StepType::Parallel:
    case plan::StepType::Decision:
      return true;
    case plan::StepType::Action:
    case plan::StepType::Test:
    case plan::StepType::Wait:
    case plan::StepType::Job:
    case plan::StepType::Composition:
    case plan::StepType::Subworkflow:
      return false;
  }
  return false;
}

}  // namespace

StepError step_error(std::string code, std::string message, std::string step) {
  return {std::move(code), std::move(message), "", std::move(step)};
}

StepOutcome failed_outcome(std::string code, std::string message, bool retryable) {
  StepOutcome outcome;
  outcome.error = step_error(std::move(code), std::move(message));
  outcome.retryable = retryable;
  return outcome;
}

// --- finding

ScriptFlow::At ScriptFlow::at(std::string_view scope_path, uint32_t position) const {
  At at;
  at.scope = scope_path;
  at.position = position;
  at.step = &plan().at(scope(scope_path)->list, position);
  at.path = join_path(scope_path, at.step->id);
  return at;
}

bool ScriptFlow::find(std::string_view path, At& out) const {
  auto [around, id] = split_step(path);
  const Scope* in = scope(around);
  if (in == nullptr) return false;
  uint32_t position = plan().find(in->list, id);
  if (position >= in->records.size()) return false;
  out = at(around, position);
  return true;
}

ScriptScope ScriptFlow::scope_for(const At& at, std::string_view text) const {
  ScriptScope scope(state_, run(), at.scope, text, frame_.now_ms());
  scope.metered(frame_.meter());
  if (script().phase != ScriptPhase::Steps) scope.with_error(script().error);
  return scope;
}

// --- the queue

void ScriptFlow::drain() {
  while (!cut_short_ && (!looks_.empty() || look_for_another())) {
    if (full()) {
      cut_short_ = true;
      break;
    }
    Look next = std::move(looks_.front());
    looks_.pop_front();
    if (is_terminal(run().state)) continue;
    look_at(next);
  }
  if (!std::exchange(cut_short_, false)) return settle_status();
  looks_.clear();
  if (is_terminal(run().state)) return settle_status();
  leave_suspension();
  if (script().yielded_ms == 0) frame_.emit(ScriptYielded{id_});
}

void ScriptFlow::look_at(const Look& look) {
  if (look.kind == LookKind::List) return start_ready(look.path, News::Anything);
  if (look.kind == LookKind::Finish) return finish();
  At at;
  if (!find(look.path, at)) return;
  if (look.kind == LookKind::Ended) return after_end(at);
  around(at);
}

void ScriptFlow::look_at_everything() {
  if (script().live.empty() && script().phase == ScriptPhase::Hooks) look(LookKind::Finish, "");
  std::set<std::string> around;
  for (const std::string& path : script().live) {
    look(LookKind::List, path);
    const Scope& in = *scope(path);
    if (!in.owner.empty() && around.insert(in.owner).second) look(LookKind::Around, in.owner);
    for (uint32_t i = 0; i < in.records.size(); ++i)
      if (in.records[i].state == StepState::Running &&
          goes_on_by_itself(plan().at(in.list, i).type))
        if (std::string step = at(path, i).path; around.insert(step).second)
          look(LookKind::Around, step);
  }
}

// Whether the server lets a run have a further step at work. A suspended run in a step's place is
// not at work, but will be.
bool ScriptFlow::may_start_another() const {
  if (state_.script_defaults().parallel_steps) return true;
  return script().busy == 0 && script().effects.empty();
}

// One step at a time: when none is at work, any list may hold the next one.
bool ScriptFlow::look_for_another() {
  if (state_.script_defaults().parallel_steps || !may_start_another()) return false;
  if (is_terminal(run().state) || looked_after_ == frame_.emitted()) return false;
  looked_after_ = frame_.emitted();
  for (const std::string& path : script().live) look(LookKind::List, path);
  return !looks_.empty();
}

ScriptMoved ScriptFlow::moved(ScriptStatus to) const {
  ScriptMoved event;
  event.run = id_;
  event.definition = script().definition;
  event.text_digest = script().text_digest;
  event.from = script().status;
  event.to = to;
  event.nested = is_nested();
  return event;
}

// Something was sent out that will come back without anybody's doing.
bool ScriptFlow::outside_moves_it() const {
  return std::any_of(script().effects.begin(), script().effects.end(), [&](const OpenEffect& open) {
    At at;
    return find(open.step, at) && record(at).state != StepState::Suspended;
  });
}

// A run that only people, signals or a pause hold is suspended; so is then the step of another run
// whose place it fills, and perhaps that run.
void ScriptFlow::settle_status() {
  if (is_terminal(run().state) || script().status == ScriptStatus::Pending) return;
  // Clocks stand still while it is paused: then only what was sent out can still move it.
  bool moves =
      script().yielded_ms != 0 || (script().paused ? outside_moves_it() : script().busy > 0);
  bool held = !moves && (script().held > 0 || script().paused);
  ScriptStatus wanted = held ? ScriptStatus::Suspended : ScriptStatus::Active;
  if (wanted != script().status) settle_as(wanted);
}

void ScriptFlow::settle_as(ScriptStatus wanted) {
  bool held = wanted == ScriptStatus::Suspended;
  ScriptMoved event = moved(wanted);
  event.reason = !held ? released_by_ : script().paused ? paused_by_ : "waiting";
  frame_.emit(event);
  if (is_nested() && !end_is_seen_) pawl::child_moved(frame_, run().parent, held);
}

// A suspended run goes on. Said before anything that follows from it: all of that may fit into this
// frame, at whose end the run is over or held again, and nobody would have heard that it moved.
void ScriptFlow::leave_suspension() {
  if (script().status == ScriptStatus::Suspended && !script().paused)
    settle_as(ScriptStatus::Active);
}

// What a step waited for has come. With others held it depends on what follows: try_start.
void ScriptFlow::released(std::string by) {
  released_by_ = std::move(by);
  if (script().held == 1) leave_suspension();
}

// --- lists

void ScriptFlow::open_scope(const At* owner, const std::string& path, uint32_t list, bool iteration,
                            uint32_t index, const std::string& item) {
  ScopeOpened event;
  event.run = id_;
  event.scope = path;
  if (owner != nullptr) {
    event.owner = owner->path;
    event.owner_position = owner->position;
  }
  event.list = list;
  const plan::List& steps = plan().lists[list];
  event.steps = static_cast<uint32_t>(steps.steps.size());
  for (uint32_t place : steps.steps) event.dormant += plan().steps[place].dormant ? 1 : 0;
  event.iteration = iteration;
  event.index = index;
  event.item = item;
  frame_.emit(event);
  look(LookKind::List, path);
}

void ScriptFlow::start_ready(const std::string& path, News news) {
  const Scope* in = scope(path);
  if (in == nullptr || in->closed) return;
  std::vector<uint32_t> all(in->records.size());
  std::iota(all.begin(), all.end(), 0);
  try_start(path, all, news);
  close_if_done(path);
}

// A step has ended: whoever waited for it may go on.
void ScriptFlow::after_end(const At& at) {
  const Scope* in = scope(at.scope);
  if (in->closed) return;
  if (at.step->dormant || at.step->fallback != plan::kNoStep)
    return start_ready(at.scope, News::Anything);
  StepState state = in->records[at.position].state;
  News news = state == StepState::Completed ? News::Success
              : state == StepState::Failed  ? News::Failure
                                            : News::Skip;
  if (in->failed) return start_ready(at.scope, news);
  try_start(at.scope, at.step->dependents, news);
  close_if_done(at.scope);
}

// Whether this step, which had to wait when it was last looked at, must still do so. One dependency
// that is not over is enough to know, unless the news decides by itself. Those that are over are
// not looked at again, or a fan-in would cost the square of its width.
bool ScriptFlow::must_wait(const Scope& in, uint32_t position, News news) const {
  const plan::Step& step = plan().at(in.list, position);
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
    if (plan().at(in.list, other).dormant) return false;
    if (!is_over(effective_record(in, plan(), own, other).state)) return true;
  }
  return false;
}

// Of each step of the list whether a step that failed has it take over.
std::vector<bool> ScriptFlow::called_upon(const Scope& in) const {
  std::vector<bool> called(in.records.size());
  for (uint32_t i = 0; i < in.records.size(); ++i) {
    const uint32_t fallback = plan().at(in.list, i).fallback;
    const StepRecord& record = in.records[i];
    if (record.state == StepState::Failed && record.handled && fallback < called.size())
      called[fallback] = true;
  }
  frame_.meter().charge(in.records.size() / kStepsPerUnit);
  return called;
}

// Called upon or not: that is known once every step that could do so is over, or is itself a
// fallback that nobody will call. Every step is looked at once, and has one fallback.
std::vector<bool> ScriptFlow::may_be_called(const Scope& in) const {
  std::vector<bool> may = called_upon(in);
  auto asleep = [&](uint32_t i) {
    return plan().at(in.list, i).dormant && in.records[i].state == StepState::Pending && !may[i];
  };
  for (uint32_t first = 0; first < in.records.size(); ++first) {
    uint32_t i = first;
    while (!is_over(in.records[i].state) && !asleep(i)) {
      const uint32_t fallback = plan().at(in.list, i).fallback;
      if (fallback >= may.size() || may[fallback]) break;
      may[fallback] = true;
      i = fallback;
    }
  }
  return may;
}

ScriptFlow::Ready ScriptFlow::readiness(const Scope& in, const plan::Step& step,
                                        std::optional<std::vector<bool>>& callable) const {
  bool all_over = true;
  bool any_failed = false;
  bool any_skipped = false;
  bool any_success = false;
  for (uint32_t position : step.depends_on) {
    const StepRecord& own = in.records[position];
    const plan::Step& dependency = plan().at(in.list, position);
    if (dependency.dormant && own.state == StepState::Pending) {
      if (!callable) callable = may_be_called(in);
      if ((*callable)[position]) all_over = false;
      continue;
    }
    const StepRecord& record = effective_record(in, plan(), own, position);
    if (!is_over(record.state)) {
      all_over = false;
    } else if (succeeded(record)) {
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
  if (in.failed) return Ready::Skip;  // nothing new begins in a list that has failed
  return all_over ? Ready::Run : Ready::Wait;
}

// Which of these may begin is asked of all before the first does: one that fails at once must not
// keep others from beginning that were as ready as itself.
void ScriptFlow::try_start(const std::string& path, const std::vector<uint32_t>& positions,
                           News news) {
  std::vector<std::pair<uint32_t, Ready>> ready;
  std::optional<std::vector<bool>> called, callable;
  for (uint32_t position : positions) {
    const Scope& in = *scope(path);
    if (in.records[position].state != StepState::Pending || script().paused) continue;
    const plan::Step& step = plan().at(in.list, position);
    if (step.dormant && !called) called = called_upon(in);
    bool asleep = step.dormant && !(*called)[position];
    Ready now = in.records[position].ready != 0 ? Ready::Run
                : asleep                        ? Ready::Wait
                : step.dormant                  ? Ready::Run
                : must_wait(in, position, news) ? Ready::Wait
                                                : readiness(in, step, callable);
    if (now != Ready::Wait) ready.emplace_back(position, now);
  }
  std::vector<uint32_t> left;  // marked as ready, and there is no place for them
  for (size_t i = 0; i < ready.size(); ++i) {
    auto [position, now] = ready[i];
    const Scope* in = scope(path);
    if (in == nullptr || in->closed || is_terminal(run().state)) return;
    if (in->records[position].state != StepState::Pending) continue;
    At here = at(path, position);
    if (now == Ready::Skip) {
      skip_step(here, "upstream_failed");
    } else if (may_start_another()) {
      leave_suspension();
      if (!full()) start_step(here);
      if (full() && scope(path)->records[position].state == StepState::Pending) cut_short_ = true;
      if (cut_short_) return keep_ready(path, ready, i);
    } else if (in->records[position].ready != 0) {
      left.push_back(position);
    }
  }
  if (!left.empty()) frame_.emit(StepsReady{id_, path, std::move(left), false, true});
}

// The rest of these begins in a later frame, and then as if it were now.
void ScriptFlow::keep_ready(const std::string& path,
                            const std::vector<std::pair<uint32_t, Ready>>& ready, size_t from) {
  const Scope* in = scope(path);
  if (in == nullptr || in->closed || is_terminal(run().state)) return;
  StepsReady event;
  event.run = id_;
  event.scope = path;
  for (size_t i = from; i < ready.size(); ++i) {
    const StepRecord& record = in->records[ready[i].first];
    if (ready[i].second == Ready::Run && record.state == StepState::Pending && record.ready == 0)
      event.positions.push_back(ready[i].first);
  }
  if (!event.positions.empty()) frame_.emit(event);
}

void ScriptFlow::close_if_done(const std::string& path) {
  const Scope& in = *scope(path);
  if (in.closed || in.unfinished > 0) return;
  const std::vector<bool> called = called_upon(in);
  for (uint32_t i = 0; i < in.records.size(); ++i) {
    StepState state = in.records[i].state;
    if (is_over(state)) continue;
    if (state != StepState::Pending || called[i]) return;  // a fallback at work
  }
  ScopeClosed event;
  event.run = id_;
  event.scope = path;
  event.failed = in.failed;
  event.error = in.error;
  event.iteration = in.iteration;
  event.index = in.index;
  std::string owner = in.owner;
  frame_.emit(event);
  if (!owner.empty() && script().phase == ScriptPhase::Rollback &&
      path == join_path(owner, plan::kCompensateName))
    return compensation_closed(path);
  if (!owner.empty()) return look(LookKind::Around, owner);
  leave_suspension();
  if (script().phase == ScriptPhase::Hooks) return finish();
  const Scope& root = *scope(path);
  steps_over(root.failed ? ScriptStatus::Failed : ScriptStatus::Completed, root.error, "",
             root.failed && plan().on_failure == plan::OnError::Rollback);
}

// The output of the last step that has one to give; null if there is none.
const Text* ScriptFlow::last_text(const Scope& in) const {
  for (size_t i = in.records.size(); i-- > 0;) {
    auto position = static_cast<uint32_t>(i);
    if (plan().at(in.list, position).dormant) continue;
    const StepRecord& record = effective_record(in, plan(), in.records[i], position);
    if (record.state == StepState::Completed)
      return record.output.empty() ? nullptr : &record.output;
  }
  return nullptr;
}

std::string ScriptFlow::last_output(const Scope& in) const {
  const Text* text = last_text(in);
  return text == nullptr ? "null" : text->str();
}

// Known without reading it from the disk.
size_t ScriptFlow::last_bytes(const Scope& in) const {
  const Text* text = last_text(in);
  return text == nullptr ? std::string_view("null").size() : text->size();
}

}  // namespace pawl
