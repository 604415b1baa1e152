#include "sim/run_task.h"

#include "kernel/compositions/run_flow.h"
#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/state.h"

namespace pawl::sim {

std::string_view op_name(RunOp op) {
  static constexpr std::string_view kNames[] = {"create", "cancel", "retry"};
  return kNames[static_cast<size_t>(op)];
}

bool RunTask::perform(Frame& frame) {
  switch (op) {
    case RunOp::Create: {
      plan.id = id;
      auto created = create_run(frame, plan, "");
      if (created.ok()) id = *created;
      return created.ok();
    }
    case RunOp::Cancel:
      return cancel_run(frame, id, std::string(kAskedFor)).ok();
    case RunOp::Retry:
      return retry_run(frame, id).ok();
  }
  return false;
}

std::optional<Parking> RunTask::run(Frame& frame, bool) {
  if (wants_mark) leave_mark(frame);
  ok = perform(frame);
  if (const Run* run = frame.state().find_run(id)) {
    version_ = run->version;
    generation_ = run->generation;
  }
  return std::nullopt;
}

// By the specification, given the state before this request.
void RunTask::judge_at_mark() {
  const ModelRun* run = desk_.model.runs().existing(id);
  bool running = run != nullptr && !run->over();
  bool outermost = run != nullptr && run->birth.parent.run.is_nil();
  bool should = ok;
  switch (op) {
    case RunOp::Create:
      if (run != nullptr) should = false;  // a full queue may refuse it too
      break;
    case RunOp::Cancel:
      should = running;
      break;
    case RunOp::Retry:
      should = (running && run->generation > 0) || (outermost && run->state == RunState::Failed);
      break;
  }
  if (should != ok)
    desk_.verdict.fail("model run", std::string(op_name(op)) + " of run " + short_name(JobId(id)) +
                                        (should ? " was refused and should not have been"
                                                : " was taken and should have been refused"));
}

void RunTask::judge_reply() {
  if (!ok) return desk_.verdict.reach(Probe::RunRefused);
  const ModelRun* run = desk_.model.runs().find(id);
  if (run == nullptr)
    return desk_.verdict.fail(
        "I1 acknowledged",
        std::string(op_name(op)) + " of run " + short_name(JobId(id)) + " is not in the journal");
  if (run->forgotten || run->born > version_) return;  // another run has its id now
  desk_.acknowledged.run_exists(*run);
  if (op == RunOp::Cancel) desk_.acknowledged.run_cancelled(*run, generation_);
  if (op == RunOp::Retry) desk_.acknowledged.run_retried(*run, generation_);
}

}  // namespace pawl::sim
