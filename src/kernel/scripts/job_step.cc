// A step that is one Open Job Spec job, or an agent's task.
#include <string>
#include <utility>

#include "kernel/jobs/push_jobs.h"
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/outside_step.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

std::string text_or_nothing(const Value& value) {
  return value.is_string() ? value.as_string() : "";
}

// Keys stay with the run's UUID: it is what receivers have seen so far, and is of one length.
Value envelope_of(const Run& run, const EffectRequest& request) {
  const Value& args = *request.params.find("args");
  const Value& options = *request.params.find("options");
  const std::string queue = text_or_nothing(*request.params.find("queue"));
  Value::Object job;
  if (options.is_object()) job = options.as_object();
  job.set("type", text_or_nothing(*request.params.find("type")));
  job.set("queue", queue.empty() ? "default" : queue);
  job.set("args", args.is_array()  ? args
                  : args.is_null() ? Value(Value::Array{})
                                   : Value(Value::Array{args}));
  Value::Object meta;
  if (const Value* given = job.find("meta"); given != nullptr && given->is_object())
    meta = given->as_object();
  meta.set("run_id", shown_id(run));
  meta.set("step_id", request.step);
  meta.set("task_id", request.run.text() + "-" + request.step);
  meta.set("idempotency_key", idempotency_key(request));
  job.set("meta", std::move(meta));
  return job;
}

class JobKind final : public OutsideKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const override {
    run.frame.emit(started_outside(run, at, attempt, run.state.script_defaults().step_timeout_ms));
    make_child_now(run, at);
  }
  bool changes_outside() const override { return true; }

  EffectKind effect_kind() const override { return EffectKind::Job; }
  const Value& effect_params(const plan::Step& step, Value& made) const override {
    return made = Value::Object{{"type", step.job_type},
                                {"queue", step.queue},
                                {"args", step.params},
                                {"options", step.options_body}};
  }
  Status make_child(RunContext& run, const EffectRequest& request) const override {
    ValueDoc envelope(envelope_of(run.entity(), request));
    PAWL_TRY_DO(envelope.status());
    run.frame.meter().charge_copied(envelope.text().size());
    PAWL_TRY(NewJob job, parse_job(envelope.root(), child_rules(run)));
    job.parent = {run.id, place_of_effect(request.effect)};
    const Uuid id = child_id(run.entity(), request.effect);
    job.id = JobId(id_at_home(run.state, job, id));
    PAWL_TRY_DO(place_member(run.frame, job));
    note_step_job(run.frame, id, job.id);
    return ok_status();
  }
};

constexpr JobKind kJobKind;

}  // namespace

const StepKind& job_kind() { return kJobKind; }

}  // namespace pawl::scripts
