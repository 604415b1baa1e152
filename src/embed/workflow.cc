// Workflow and its steps, as the text of a definition.
#include "pawl/workflow.h"

#include "base/value.h"
#include "embed/definition_text.h"
#include "pawl/error.h"

namespace pawl {
namespace {

Value parsed(const std::string& text, const std::string& what, bool object) {
  auto value = Value::parse(text.empty() ? "{}" : text);
  if (!value.ok())
    throw WorkflowError(what + " is no JSON: " + value.error().message, "invalid_payload");
  if (object && !value->is_object())
    throw WorkflowError(what + " must be a JSON object", "invalid_payload");
  return std::move(value).value();
}

void set_text(Value::Object& out, const char* key, const std::string& text) {
  if (!text.empty()) out.set(key, text);
}

Value step_value(const WorkflowStep& step) {
  std::string whose = "Step '" + step.step_id + "': ";
  Value::Object out;
  out.set("step_id", step.step_id);
  set_text(out, "name", step.name);
  out.set("step_type", step.step_type);
  out.set("parameters", parsed(step.parameters, whose + "parameters", true));
  if (!step.dependencies.empty())
    out.set("dependencies", Value::Array(step.dependencies.begin(), step.dependencies.end()));
  set_text(out, "condition", step.condition);
  out.set("on_failure", step.on_failure);
  if (step.retry_config) {
    out.set("retry_config",
            Value::Object{{"max_attempts", static_cast<int64_t>(step.retry_config->max_attempts)},
                          {"backoff_multiplier", step.retry_config->backoff_multiplier},
                          {"initial_delay", step.retry_config->initial_delay},
                          {"max_delay", step.retry_config->max_delay}});
  }
  if (step.timeout) out.set("timeout", static_cast<int64_t>(*step.timeout));
  if (!step.compensate.empty())
    out.set("compensate", parsed(step.compensate, whose + "compensate", false));
  return out;
}

}  // namespace

std::string Workflow::json() const {
  Value::Object out;
  out.set("workflow_id", workflow_id);
  set_text(out, "name", name);
  set_text(out, "description", description);
  set_text(out, "version", version);
  Value::Array list;
  for (const WorkflowStep& step : steps) list.push_back(step_value(step));
  out.set("steps", std::move(list));
  out.set("metadata", parsed(metadata, "metadata", true));
  return Value(std::move(out)).json();
}

std::pair<bool, std::string> Workflow::validate() const {
  try {
    auto read = embed::read_workflow(json(), EngineOptions{}, nullptr);
    return {read.ok(), read.ok() ? "" : read.error().message};
  } catch (const WorkflowError& wrong) {
    return {false, wrong.what()};
  }
}

}  // namespace pawl
