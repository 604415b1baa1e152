// A step that is one Open Job Spec job, or an agent's task.
#include "kernel/scripts/outside_step.h"

namespace pawl::scripts {
namespace {

class JobKind final : public OutsideKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const override {
    run.frame.emit(
        started_outside(run, at, attempt, run.state.script_defaults().step_timeout_ms));
  }
  bool changes_outside() const override { return true; }

  Value effect_params(const plan::Step& step) const override {
    return Value::Object{{"type", step.job_type},
                         {"queue", step.queue},
                         {"args", step.params},
                         {"options", step.options_body}};
  }
  void fill_request(Value filled, EffectRequest& request) const override {
    request.kind = EffectKind::Job;
    const Value::Object& job = filled.as_object();
    request.job_type = job.find("type")->is_string() ? job.find("type")->as_string() : "";
    request.queue = job.find("queue")->is_string() ? job.find("queue")->as_string() : "";
    request.params = *job.find("args");
    request.options = *job.find("options");
  }
};

constexpr JobKind kJobKind;

}  // namespace

const StepKind& job_kind() { return kJobKind; }

}  // namespace pawl::scripts
