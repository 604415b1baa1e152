// Requests about one run: creating, cancelling, retrying.
#pragma once

#include "plan/ojs/plan_node.h"
#include "sim/tasks.h"

namespace pawl::sim {

enum class RunOp : uint8_t { Create, Cancel, Retry };
std::string_view op_name(RunOp op);

class RunTask : public SimTask {
 public:
  RunTask(Desk& desk, RunOp run_op, RunId run_id) : SimTask(desk), op(run_op), id(run_id) {}

  const RunOp op;
  RunId id;  // of a creation without one: known once it is decided
  PlanNode plan;

  bool ok = false;

  void judge_at_mark() override;
  void judge_reply() override;

 protected:
  std::optional<Parking> run(Frame& frame, bool last_call) override;

 private:
  bool perform(Frame& frame);

  uint64_t version_ = 0;     // of the run when the decision was done
  uint32_t generation_ = 0;  // and its generation
};

}  // namespace pawl::sim
