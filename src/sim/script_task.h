// Requests about runs of definitions, and the answers of performers.
#pragma once

#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "sim/effect_world.h"
#include "sim/tasks.h"

namespace pawl::sim {

enum class ScriptOp : uint8_t { Start, Cancel, Pause, Resume, Retry, Signal, Decide, Extend };
std::string_view op_name(ScriptOp op);

class ScriptTask : public SimTask {
 public:
  ScriptTask(Desk& desk, ScriptOp script_op, RunId run_id)
      : SimTask(desk), op(script_op), id(run_id) {}

  const ScriptOp op;
  RunId id;  // of a start without one: known once it is decided
  StartScript start;
  ScriptSignal signal;
  std::string decision;
  DecisionAnswer answer;
  std::string text;   // from_step of a retry; the new definition of an extension
  bool flag = false;  // pause now; cancel with rollback

  bool ok = false;

  void judge_at_mark() override;
  void judge_reply() override;

 protected:
  std::optional<Parking> run(Frame& frame, bool last_call) override;

 private:
  Status perform(Frame& frame);
  std::optional<bool> should_succeed() const;

  uint64_t version_ = 0;  // of the run when the decision was done
  uint32_t retries_ = 0;  // the same, by the model
};

// A performer's answer.
class ReceiptTask : public SimTask {
 public:
  ReceiptTask(Desk& desk, const Plants& plants, const Work& work, const StepOutcome& given)
      : SimTask(desk), plants_(plants), work_(work), outcome(given) {}

  void judge_at_mark() override;

 protected:
  std::optional<Parking> run(Frame& frame, bool last_call) override;

 private:
  uint32_t planted_effect(const Frame& frame) const;

  const Plants& plants_;
  Work work_;

 public:
  const StepOutcome outcome;

 private:
  bool taken_ = false;
};

// The job or the composition that fills a step's place is made, since the frame that started the
// step had no room for it.
class MakeChildTask : public SimTask {
 public:
  MakeChildTask(Desk& desk, const Work& work) : SimTask(desk), work_(work) {}

 protected:
  std::optional<Parking> run(Frame& frame, bool last_call) override;

 private:
  Work work_;
};

}  // namespace pawl::sim
