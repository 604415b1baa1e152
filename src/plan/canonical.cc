#include "plan/canonical.h"

#include <array>

#include "plan/choices.h"

namespace pawl::plan {
namespace {

void set_text(Value::Object& out, std::string_view key, const std::string& text) {
  if (!text.empty()) out.set(key, Value(text));
}

void set_duration(Value::Object& out, std::string_view key, int64_t ms) {
  if (ms > 0) out.set(key, Value(duration_text(ms)));
}

class Printer {
 public:
  explicit Printer(const Script& script) : script_(script) {}

  Value list(uint32_t index, bool compensation = false) const {
    Value::Array out;
    for (const uint32_t place : script_.lists[index].steps) {
      out.push_back(step(script_.steps[place], compensation));
    }
    return Value(std::move(out));
  }

 private:
  Value step(const Step& step, bool compensation) const {
    Value::Object out;
    out.set("id", Value(step.id));
    set_text(out, "label", step.label);
    out.set("type", Value(step.type_name));
    if (step.type == StepType::Action) {
      out.set("action", Value(step.action));
      out.set("params", step.params);
    } else {
      out.set("config", config(step));
    }
    if (!step.depends_on.empty()) {
      Value::Array names;
      for (const uint32_t on : step.depends_on) names.push_back(script_.at(step.list, on).id);
      out.set("depends_on", Value(std::move(names)));
    }
    policy(step, compensation, out);
    if (step.compensate != kNoList) out.set("compensate", list(step.compensate, true));
    return Value(std::move(out));
  }

  void policy(const Step& step, bool compensation, Value::Object& out) const {
    set_text(out, "condition", step.condition);
    if (step.trigger != Trigger::NoneFailed)
      out.set("trigger", Value(name_of(kTriggers, step.trigger)));
    set_duration(out, "timeout", step.timeout_ms);
    if (step.retry.by_default) {
      const bool failure = step.retry.max == kUsualRetriesOnFailure;
      out.set(failure ? "on_failure" : "on_error", Value("retry"));
    } else if (compensation || !(step.retry == RetryPolicy())) {
      Value::Object retry;
      retry.set("max", Value(static_cast<int64_t>(step.retry.max)));
      retry.set("backoff", Value(name_of(kBackoffs, step.retry.backoff)));
      retry.set("delay", Value(duration_text(step.retry.delay_ms)));
      retry.set("max_delay", Value(duration_text(step.retry.max_delay_ms)));
      retry.set("multiplier", Value(step.retry.multiplier_milli / 1000.0));
      out.set("retry", Value(std::move(retry)));
    }
    if (step.on_error == OnError::Propagate) return;
    Value::Object handler;
    handler.set("strategy", Value(name_of(kStrategyNames, step.on_error)));
    if (step.fallback != kNoStep) {
      handler.set("fallback_step", Value(script_.at(step.list, step.fallback).id));
    }
    out.set("on_error", Value(std::move(handler)));
  }

  Value config(const Step& step) const {
    Value::Object out;
    switch (step.type) {
      case StepType::Action:
        break;
      case StepType::Condition:
        condition(step, out);
        break;
      case StepType::Loop:
        loop(step, out);
        break;
      case StepType::Parallel:
        out.set("mode", Value(step.parallel_mode == ParallelMode::Race ? "race" : "all"));
        out.set("branches", branch_lists(step));
        break;
      case StepType::Wait:
        wait(step, out);
        break;
      case StepType::Decision:
        decision(step, out);
        break;
      case StepType::Test:
        out.set("condition", Value(step.expression));
        break;
      case StepType::Sequence:
        out.set("steps", list(step.branches[0].list));
        break;
      case StepType::Job:
        job(step, out);
        break;
      case StepType::Composition:
        return step.params;
      case StepType::Subworkflow:
        out.set("definition", Value(step.definition));
        set_text(out, "version", step.version);
        out.set("inputs", step.params);
        break;
    }
    return Value(std::move(out));
  }

  Value branch_lists(const Step& step) const {
    Value::Array out;
    for (const Branch& branch : step.branches) out.push_back(list(branch.list));
    return Value(std::move(out));
  }

  void condition(const Step& step, Value::Object& out) const {
    out.set("expression", Value(step.expression));
    Value::Object branches;
    for (const Branch& branch : step.branches) branches.set(branch.key, list(branch.list));
    out.set("branches", Value(std::move(branches)));
    if (step.otherwise != kNoList) out.set("default", list(step.otherwise));
  }

  void loop(const Step& step, Value::Object& out) const {
    if (step.type_name != "map") out.set("mode", Value(name_of(kLoopModes, step.loop_mode)));
    if (step.loop_mode == LoopMode::ForEach) {
      out.set("over", step.over);
    } else {
      out.set("condition", Value(step.expression));
    }
    out.set("body", list(step.body));
    if (step.max_iterations > 0) {
      out.set("max_iter", Value(static_cast<int64_t>(step.max_iterations)));
    }
    out.set("concurrency", Value(static_cast<int64_t>(step.concurrency)));
  }

  void wait(const Step& step, Value::Object& out) const {
    set_text(out, "until", step.until);
    set_text(out, "signal", step.signal);
    set_text(out, "duration", step.duration);
    if (out.empty()) out.set("duration", Value(duration_text(step.duration_ms)));
    set_duration(out, "timeout", step.wait_timeout_ms);
    if (step.on_timeout != OnTimeout::Fail)
      out.set("on_timeout", Value(name_of(kWaitTimeouts, step.on_timeout)));
  }

  void decision(const Step& step, Value::Object& out) const {
    out.set("prompt_context", Value(step.prompt));
    if (!step.inject.empty()) {
      Value::Object inject;
      for (const auto& [name, path] : step.inject) inject.set(name, Value(path));
      out.set("data_inject", Value(std::move(inject)));
    }
    Value::Array options;
    for (const Option& option : step.options) {
      Value::Object entry;
      entry.set("id", Value(option.id));
      set_text(entry, "description", option.description);
      options.push_back(Value(std::move(entry)));
    }
    out.set("options", Value(std::move(options)));
    set_duration(out, "timeout", step.wait_timeout_ms);
    if (step.has_fallback_choice) out.set("fallback", Value(step.fallback_choice));
    set_text(out, "target_agent", step.target_agent);
  }

  void job(const Step& step, Value::Object& out) const {
    if (step.type_name == "agent") {
      out.set("task_type", Value(step.job_type));
      out.set("params", step.params.as_array()[0]);
      set_text(out, "target_agent", step.target_agent);
    } else {
      out.set("type", Value(step.job_type));
      out.set("args", step.params);
    }
    set_text(out, "queue", step.queue);
    if (!step.options_body.is_null()) out.set("options", step.options_body);
  }

  const Script& script_;
};

}  // namespace

std::string duration_text(int64_t ms) {
  struct Unit {
    std::string_view name;
    int64_t ms;
  };
  constexpr std::array<Unit, 3> kUnits = {{{"h", 3'600'000}, {"m", 60'000}, {"s", 1000}}};
  for (const Unit& unit : kUnits) {
    if (ms != 0 && ms % unit.ms == 0) return std::to_string(ms / unit.ms).append(unit.name);
  }
  return std::to_string(ms) + "ms";
}

Value canonical_definition(const Script& script) {
  const Printer printer(script);
  Value::Object out;
  set_text(out, "name", script.name);
  set_text(out, "version", script.version);
  set_text(out, "description", script.description);
  if (!script.inputs.as_object().empty()) out.set("inputs", script.inputs);
  if (!script.input_schema.is_null()) out.set("input_schema", script.input_schema);
  set_duration(out, "timeout", script.timeout_ms);
  if (script.on_timeout != OnTimeout::Fail)
    out.set("on_timeout", Value(name_of(kWaitTimeouts, script.on_timeout)));
  if (script.on_failure == OnError::Rollback) out.set("on_failure", Value("rollback"));
  if (script.text_mode) out.set("compat", Value("text"));
  if (script.priority != 0) out.set("priority", Value(static_cast<int64_t>(script.priority)));
  if (script.max_concurrent != 0) {
    out.set("max_concurrent", Value(static_cast<int64_t>(script.max_concurrent)));
  }
  if (script.reject_at_limit) out.set("on_limit", Value("reject"));
  if (!script.metadata.is_null()) out.set("metadata", script.metadata);
  out.set("steps", printer.list(script.root));
  if (script.on_complete != kNoList) out.set("on_complete", printer.list(script.on_complete));
  if (script.on_error != kNoList) out.set("on_error", printer.list(script.on_error));
  if (!script.outputs.empty()) {
    Value::Object outputs;
    for (const Output& output : script.outputs) outputs.set(output.name, output.value);
    out.set("outputs", Value(std::move(outputs)));
  }
  return Value(std::move(out));
}

}  // namespace pawl::plan
