#include "embed/definition_text.h"

#include <algorithm>

#include "actions/params_judge.h"
#include "plan/source.h"

namespace pawl::embed {
namespace {

constexpr size_t kFaultsTold = 10;

class DefaultFiller {
 public:
  explicit DefaultFiller(const EngineOptions& options) : options_(options) {}

  void definition(Value& given) {
    if (!given.is_object()) return;
    if (Value* inner = given.as_object().find("definition"); inner != nullptr) definition(*inner);
    for (std::string_view list : {"steps", "on_complete", "on_error"}) member(given, list);
  }

 private:
  static bool has(const Value& step, std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return step.find(name) != nullptr; });
  }

  static const Value* type_of(const Value& step) {
    const Value* type = step.find("type");
    return type != nullptr ? type : step.find("step_type");
  }

  // A step done by a capability or an agent: its contents are parameters, not steps.
  static bool is_call(const Value& step) {
    const Value* type = type_of(step);
    if (type == nullptr) return has(step, {"action", "capability", "capability_id"});
    for (const char* name : {"action", "capability", "agent"})
      if (*type == Value(name)) return true;
    return false;
  }

  // The step retries failures of an agent; the queue leases a task again only if its lease expired.
  static void agent(Value::Object& step) {
    for (std::string_view around : {"config", "parameters"}) {
      Value* config = step.find(around);
      if (config == nullptr || config->find("task_type") == nullptr) continue;
      Value& options = config->as_object()["options"];
      if (options.is_null()) options = Value::Object{};
      if (options.is_object() && !options.as_object().contains("retry"))
        options.as_object().set(
            "retry", Value::Object{{"non_retryable_errors", Value::Array{Value(kAgentErrorCode)}}});
    }
  }

  void member(Value& object, std::string_view name) {
    if (!object.is_object()) return;
    if (Value* found = object.as_object().find(name); found != nullptr) steps(*found);
  }

  // A step, a list of them, or branches by name.
  void steps(Value& given) {
    if (given.is_array()) {
      for (Value& element : given.as_array()) steps(element);
    } else if (has(given, {"id", "step_id"})) {
      step(given);
    } else if (given.is_object()) {
      for (size_t i = 0; i < given.as_object().size(); ++i) steps(given.as_object().value_at(i));
    }
  }

  void step(Value& given) {
    Value::Object& members = given.as_object();
    for (std::string_view undo : {"compensate", "compensation", "rollback"}) member(given, undo);
    const Value* on_failure = members.find("on_failure");
    bool retry = on_failure != nullptr && *on_failure == Value("retry");
    if (retry && !has(given, {"retry", "retry_config"})) {
      members.set(
          "retry_config",
          Value::Object{{"max_attempts", static_cast<int64_t>(options_.retry.default_max_attempts)},
                        {"backoff_multiplier", options_.retry.default_backoff},
                        {"initial_delay", options_.retry.default_initial_delay}});
    }
    if (is_call(given)) {
      if (options_.execution.step_timeout != 0 && !members.contains("timeout"))
        members.set("timeout", static_cast<int64_t>(options_.execution.step_timeout));
      if (const Value* type = type_of(given); type != nullptr && *type == Value("agent"))
        agent(members);
      return;
    }
    for (std::string_view around : {"config", "parameters"}) {
      Value* config = members.find(around);
      if (config == nullptr || !config->is_object()) continue;
      for (std::string_view list : {"steps", "body", "branches", "default"}) member(*config, list);
    }
  }

  const EngineOptions& options_;
};

// Cycles and dependencies name their steps themselves.
std::string told(const plan::Fault& fault, bool lines) {
  std::string text;
  if (!fault.path.empty() && fault.code != "cycle" && fault.code != "unknown_step")
    text = fault.path + ": ";
  text += fault.message;
  if (lines && fault.line != 0) text += " (line " + std::to_string(fault.line) + ")";
  if (!fault.hint.empty()) text += "; " + fault.hint;
  return text;
}

Error faults_told(const std::vector<plan::Fault>& faults, std::string_view source) {
  bool lines = source.find('\n') != source.npos;  // else there is only one
  Error error{ErrorCode::InvalidContent, ""};
  for (size_t i = 0; i < std::min(faults.size(), kFaultsTold); ++i)
    error.message += (i == 0 ? "" : "\n") + told(faults[i], lines);
  if (faults.size() > kFaultsTold)
    error.message += "\nand " + std::to_string(faults.size() - kFaultsTold) + " more";
  return error;
}

}  // namespace

void fill_defaults(Value& definition, const EngineOptions& options) {
  DefaultFiller(options).definition(definition);
}

Result<plan::ReadResult> read_workflow(std::string_view text, const EngineOptions& options,
                                       const std::vector<std::string>* actions) {
  plan::ReadOptions rules;
  rules.actions = actions;
  rules.params = pawl::actions::judge_params;
  // Read as written first: its faults have lines.
  plan::ReadResult read = plan::read_definition(text, rules);
  if (!read.valid()) return faults_told(read.errors, text);
  plan::Source source = plan::read_source(text, rules.limits);
  fill_defaults(source.value, options);
  read = plan::read_definition(source.value, rules);
  if (!read.valid()) return faults_told(read.errors, text);
  return read;
}

}  // namespace pawl::embed
