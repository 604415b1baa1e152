#include "kernel/run_commands.h"

#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/state.h"

namespace pawl {
namespace {

Error no_such_workflow(const RunId& id) {
  return {ErrorCode::NotFound, "Workflow " + id.text() + " not found"};
}

}  // namespace

Status cancel_run(Frame& frame, const RunId& id, const std::string& reason, bool rollback) {
  const Run* run = frame.state().find_run(id);
  if (run == nullptr) return no_such_workflow(id);
  return family_of(*run).cancel(frame, *run, reason, rollback);
}

Result<RetryPreview> retry_run(Frame& frame, const RunId& id, const RetryRequest& request) {
  const Run* run = frame.state().find_run(id);
  if (run == nullptr) return no_such_workflow(id);
  return family_of(*run).retry(frame, *run, request);
}

void run_due(Frame& frame, const RunId& id) {
  const Run* run = frame.state().find_run(id);
  PAWL_CHECK(run != nullptr && run->state == RunState::Running);
  family_of(*run).due(frame, *run);
}

}  // namespace pawl
