// Compositions of jobs, as a family of runs.
#include "kernel/compositions/flow.h"
#include "kernel/compositions/run_values.h"
#include "kernel/quarantine.h"
#include "kernel/run_commands.h"
#include "kernel/run_family.h"

namespace pawl {
namespace {

// Compositions have a reason where scripts have an error: it begins with the code.
std::string reason_with_code(const std::string& message) {
  return std::string(kQuarantined) + ": " + message;
}

class CompositionFamily final : public RunFamily {
 public:
  void due(Frame& frame, const Run& run) const override {
    RunId id = run.id;
    bool cancels = run.on_timeout == RunTimeout::Cancel;
    Flow flow(frame);
    if (run.deadline_ms == 0 || run.deadline_ms > frame.now_ms()) {
      flow.take_turn(id);
      return flow.drain();
    }
    flow.finish(id, cancels ? RunState::Cancelled : RunState::Failed,
                "it ran longer than its timeout_ms");
    flow.stop(id, "its workflow timed out");
    if (cancels) flow.fire(*frame.state().find_run(id), CallbackRole::OnCancel);
    flow.drain();
  }

  void child_ended(Flow& flow, const ChildEnd& end) const override { flow.child_ended(end); }

  Status cancel(Frame& frame, const Run& run, const std::string& reason,
                bool rollback) const override {
    if (rollback)
      return Error{ErrorCode::InvalidRequest,
                   "only runs of definitions have something to roll back"};
    if (is_terminal(run.state))
      return Error{ErrorCode::Conflict, "Workflow " + shown_id(run) +
                                            " is already in terminal state '" +
                                            std::string(state_name(run.state)) + "'"};
    RunId id = run.id;
    Flow flow(frame);
    flow.finish(id, RunState::Cancelled, reason);
    flow.stop(id, "its workflow was cancelled");
    flow.fire(*frame.state().find_run(id), CallbackRole::OnCancel);
    flow.drain();
    return ok_status();
  }

  Result<RetryPreview> retry(Frame& frame, const Run& run,
                             const RetryRequest& request) const override {
    if (!request.from_step.empty() || !request.inputs.empty() || request.preview)
      return Error{ErrorCode::InvalidRequest,
                   "from_step, inputs and preview are for runs of definitions"};
    if (run.state == RunState::Running && run.generation > 0) return RetryPreview{};
    if (!run.parent.run.is_nil()) return part_of_another(frame.state(), "Workflow", run);
    if (run.state != RunState::Failed)
      return Error{ErrorCode::Conflict, "Workflow " + shown_id(run) + " is " +
                                            std::string(state_name(run.state)) +
                                            "; only a failed one can be retried"};
    Flow flow(frame);
    flow.retry(RunId(run.id));
    flow.drain();
    return RetryPreview{};
  }

  void quarantine(Frame& frame, const Run& run, const QuarantineReason& reason) const override {
    RunId id = run.id;
    Flow flow(frame);
    flow.finish(id, RunState::Failed, reason_with_code(reason.message));
    if (!reason.bare) flow.stop(id, "its workflow was quarantined");
    flow.drain();
  }

  Status release(Frame& frame, const Run& run) const override {
    PAWL_TRY_DO(retry(frame, run, {}));
    return ok_status();
  }

  std::string_view status(const Run& run) const override {
    return run.state == RunState::Running ? "active" : state_name(run.state);
  }
  std::string quarantine_message(const Run& run) const override {
    bool is = run.reason.compare(0, kQuarantined.size(), kQuarantined) == 0;
    return is ? run.reason.substr(kQuarantined.size() + 2) : "";
  }
  bool is_paused(const Run&) const override { return false; }
  int64_t yielded_since(const Run& run) const override { return run.yielded_ms; }
  bool is_busy(const Run& run) const override { return run.yielded_ms != 0; }
  bool counts_children() const override { return true; }

  std::string collect(const RunRows&, Run& run, std::vector<Row>&) const override {
    return encode_run_row(run);
  }
};

constexpr CompositionFamily kCompositionFamily;

}  // namespace

const RunFamily& composition_family() { return kCompositionFamily; }

}  // namespace pawl
