#include "sim/script_task.h"

#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/state.h"

namespace pawl::sim {

std::string_view op_name(ScriptOp op) {
  static constexpr std::string_view kNames[] = {"start", "cancel", "pause",  "resume",
                                                "retry", "signal", "decide", "extend"};
  return kNames[static_cast<size_t>(op)];
}

Status ScriptTask::perform(Frame& frame) {
  switch (op) {
    case ScriptOp::Start: {
      start.id = id;
      PAWL_TRY(id, start_script(frame, start));
      return ok_status();
    }
    case ScriptOp::Cancel:
      return cancel_script(frame, id, std::string(kAskedFor), flag);
    case ScriptOp::Pause:
      return pause_script(frame, id, flag);
    case ScriptOp::Resume:
      return resume_script(frame, id);
    case ScriptOp::Retry: {
      PAWL_TRY_DO(retry_script(frame, id, {.from_step = text}));
      return ok_status();
    }
    case ScriptOp::Signal:
      return signal_script(frame, id, signal);
    case ScriptOp::Decide:
      return resolve_decision(frame, decision, answer);
    case ScriptOp::Extend:
      return extend_script(frame, id, text, "{}");
  }
  return ok_status();
}

std::optional<Parking> ScriptTask::run(Frame& frame, bool) {
  if (wants_mark) leave_mark(frame);
  ok = frame.attempt([&](Frame& in) { return perform(in); }).ok();
  if (const Run* run = frame.state().find_run(id)) version_ = run->version;
  return std::nullopt;
}

// By the specification, given the state before this request; nothing if it is undetermined.
std::optional<bool> ScriptTask::should_succeed() const {
  const ScriptModel& model = desk_.model.scripts();
  const ModelScript* run = model.existing(id);
  bool live = run != nullptr && !run->over();
  switch (op) {
    case ScriptOp::Start:
      if (model.existing(start.id) != nullptr || desk_.model.runs().existing(start.id) != nullptr)
        return false;
      if (start.source.empty() && model.newest().count(start.definition) == 0) return false;
      return std::nullopt;  // its definition's limit may refuse it
    case ScriptOp::Cancel:
    case ScriptOp::Pause:
    case ScriptOp::Resume:
      return live;
    case ScriptOp::Retry:
      if (run == nullptr || live || !run->birth.parent.run.is_nil() || !run->began) return false;
      if (run->status == ScriptStatus::Failed && text.empty()) return true;
      return std::nullopt;
    case ScriptOp::Signal:
      if (!live && signal.type != "retry" && signal.type != "skip") return false;
      if (live && (signal.type == "go" || signal.type == "ready" || signal.type == "data"))
        return true;
      return std::nullopt;
    case ScriptOp::Decide: {
      auto question = model.decisions().find(decision);
      bool pending = question != model.decisions().end() && question->second.status == "pending";
      if (!pending) return false;
      return answer.choice == "yes" || answer.choice == "no" ? std::optional(true) : std::nullopt;
    }
    case ScriptOp::Extend:
      return live ? std::nullopt : std::optional(false);
  }
  return std::nullopt;
}

void ScriptTask::judge_at_mark() {
  if (const ModelScript* run = desk_.model.scripts().existing(id)) retries_ = run->retries;
  std::optional<bool> should = should_succeed();
  if (!should || *should == ok) return;
  desk_.verdict.fail("model script", std::string(op_name(op)) + " of run " + short_name(JobId(id)) +
                                         (ok ? " was taken and should have been refused"
                                             : " was refused and should not have been"));
}

void ScriptTask::judge_reply() {
  if (!ok) return desk_.verdict.reach(Probe::ScriptRefused);
  if (op == ScriptOp::Decide) {
    auto question = desk_.model.scripts().decisions().find(decision);
    if (question == desk_.model.scripts().decisions().end() || question->second.status == "pending")
      return desk_.verdict.fail("I1 acknowledged", "a decision was taken and is not there");
    return desk_.acknowledged.decided(decision);
  }
  const ModelScript* run = desk_.model.scripts().find(id);
  if (run == nullptr)
    return desk_.verdict.fail(
        "I1 acknowledged",
        std::string(op_name(op)) + " of run " + short_name(JobId(id)) + " is not in the journal");
  if (run->forgotten || run->born > version_) return;  // another one has its id now
  desk_.acknowledged.script_exists(*run);
  if (op == ScriptOp::Cancel && mark() != 0) desk_.acknowledged.script_stopped(*run, retries_);
  if (op == ScriptOp::Signal && !signal.payload.empty() &&
      (signal.type == "go" || signal.type == "ready"))
    desk_.acknowledged.signalled(*run, signal.payload);
}

// --- performers

// Planted: the answer to an ended attempt counts for the next one.
uint32_t ReceiptTask::planted_effect(const Frame& frame) const {
  const Run* run = frame.state().find_run(work_.run);
  if (!plants_.stale_receipt_taken || run == nullptr || !run->script) return work_.effect;
  if (run->script->step_of_effect(work_.effect) != nullptr) return work_.effect;
  for (const OpenEffect& open : run->script->effects)
    if (open.step == work_.step) return open.effect;
  return work_.effect;
}

std::optional<Parking> ReceiptTask::run(Frame& frame, bool) {
  if (wants_mark) leave_mark(frame);
  const Run* run = frame.state().find_run(work_.run);
  taken_ = run != nullptr && run->script && run->script->step_of_effect(work_.effect) != nullptr;
  if (!taken_)
    desk_.verdict.reach(work_.answered ? Probe::DoubledReceiptDropped : Probe::LateReceiptDropped);
  effect_done(frame, work_.run, planted_effect(frame), outcome);
  return std::nullopt;
}

void ReceiptTask::judge_at_mark() {
  if (taken_ != desk_.model.scripts().is_open(work_.run, work_.effect))
    desk_.verdict.fail("I3 receipt",
                       "an answer was " + std::string(taken_ ? "taken that nobody waited for"
                                                             : "dropped that somebody waited for"));
}

std::optional<Parking> MakeChildTask::run(Frame& frame, bool) {
  if (wants_mark) leave_mark(frame);
  make_step_child(frame, work_.run, work_.effect);
  return std::nullopt;
}

}  // namespace pawl::sim
