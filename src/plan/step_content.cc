// StepReader: the part that reads the types of steps.
#include <algorithm>
#include <span>

#include "base/quote.h"
#include "expr/template/template.h"
#include "plan/builtin_actions.h"
#include "plan/choices.h"
#include "plan/field_names.h"
#include "plan/nearest.h"
#include "plan/step_reader.h"

namespace pawl::plan {
namespace {

using Fields = std::span<const std::string_view>;

struct TypeRow {
  std::string_view name;
  StepType type;
  Fields fields;       // of its config
  std::string_view a;  // its name in messages
};

const TypeRow kTypes[] = {
    {"action", StepType::Action, {}, "an action step"},
    {"condition", StepType::Condition, names::kCondition, "a condition step"},
    {"loop", StepType::Loop, names::kLoop, "a loop step"},
    {"parallel", StepType::Parallel, names::kParallel, "a parallel step"},
    {"wait", StepType::Wait, names::kWait, "a wait step"},
    {"reasoning", StepType::Decision, names::kReasoning, "a reasoning step"},
    {"capability", StepType::Action, names::kCapability, "a capability step"},
    {"agent", StepType::Job, names::kAgent, "an agent step"},
    {"decision", StepType::Test, names::kDecision, "a decision step"},
    {"sequence", StepType::Sequence, names::kSequence, "a sequence step"},
    {"sequential", StepType::Sequence, names::kSequence, "a sequential step"},
    {"job", StepType::Job, names::kJob, "a job step"},
    {"chain", StepType::Composition, {}, "a chain step"},
    {"group", StepType::Composition, {}, "a group step"},
    {"batch", StepType::Composition, {}, "a batch step"},
    {"map", StepType::Loop, names::kMap, "a map step"},
    {"subworkflow", StepType::Subworkflow, names::kSubworkflow, "a subworkflow step"},
};

const TypeRow& row_of(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row;
  }
  return kTypes[0];
}

constexpr Named<ParallelMode> kParallelModes[] = {{"all", ParallelMode::All},
                                                  {"race", ParallelMode::Race}};

}  // namespace

void StepReader::read_type(const Cursor& at, Step& step) {
  const std::optional<Cursor> type = findings_.pick(at, {"type", "step_type"});
  step.type_name = type ? findings_.text(*type) : "action";
  std::vector<std::string_view> known;
  for (const TypeRow& row : kTypes) {
    if (row.name == step.type_name) {
      step.type = row.type;
      return;
    }
    known.push_back(row.name);
  }
  if (type && type->is_string()) {
    findings_.error(*type, "value", "Unknown step type: " + in_quotes(step.type_name),
                    meant(step.type_name, known));
  }
  step.type_name.clear();
}

void StepReader::read_content(const Cursor& at, uint32_t place, Step& step) {
  const TypeRow& row = row_of(step.type_name);
  findings_.only(at, names::kStep, "a step", row.fields, "config");
  if (step.type_name.empty()) return;  // an unknown type was reported
  if (step.type == StepType::Action) return read_action(at, step);
  Config config{at.field("config"), findings_.pick(at, {"parameters", "params"})};
  check_config(at, config, step);
  read_config(at, config, place, step);
}

// Reports fields that do not belong to this type of step.
void StepReader::check_config(const Cursor& at, const Config& config, const Step& step) {
  const TypeRow& row = row_of(step.type_name);
  for (const std::string_view name : {"action", "capability", "capability_id"}) {
    if (const std::optional<Cursor> field = at.field(name)) {
      if (field->value() == Value("")) continue;
      findings_.complaint(*field, "unknown_field",
                          std::string(row.a) + " runs no " + std::string(name));
    }
  }
  if (const auto inputs = at.field("inputs"); inputs && step.type != StepType::Subworkflow) {
    findings_.complaint(*inputs, "unknown_field", std::string(row.a) + " has no inputs");
  }
  if (step.type == StepType::Composition) return;  // an Open Job Spec body may hold anything
  if (config.config && findings_.expect_object(*config.config)) {
    findings_.only(*config.config, row.fields, row.a);
  }
  // The parameters of an agent or a subworkflow may be its input, not the fields of the type.
  const bool free =
      (step.type_name == "agent" && !has(Config{{}, config.parameters}, "task_type")) ||
      step.type == StepType::Subworkflow;
  if (config.parameters && findings_.expect_object(*config.parameters) && !free) {
    findings_.only(*config.parameters, row.fields, row.a);
  }
}

void StepReader::read_config(const Cursor& at, const Config& config, uint32_t place, Step& step) {
  const bool bare_decision = step.type_name == "decision" && !step.condition.empty();
  const bool direct = step.type == StepType::Subworkflow || bare_decision;
  if (!config.given() && !direct) return required(at, row_of(step.type_name).a, "config");
  if (step.type == StepType::Test) {
    if (has(config, "branches")) step.type = StepType::Condition;
    if (has(config, "options") || has(config, "prompt_context") || has(config, "prompt")) {
      step.type = StepType::Decision;
    }
  }
  switch (step.type) {
    case StepType::Action:
      return;
    case StepType::Condition:
      return read_condition(at, config, place, step);
    case StepType::Loop:
      return read_loop(at, config, place, step);
    case StepType::Parallel:
      return read_parallel(at, config, place, step);
    case StepType::Wait:
      return read_wait(at, config, step);
    case StepType::Decision:
      return read_decision(at, config, step);
    case StepType::Test:
      return read_test(at, config, step);
    case StepType::Sequence:
      return read_sequence(at, config, place, step);
    case StepType::Job:
      return step.type_name == "agent" ? read_agent(at, config, step) : read_job(at, config, step);
    case StepType::Composition:
      return read_composition(at, config, step);
    case StepType::Subworkflow:
      return read_subworkflow(at, config, step);
  }
}

bool StepReader::has(const Config& config, std::string_view name) const {
  return (config.config && config.config->field(name)) ||
         (config.parameters && config.parameters->field(name));
}

std::optional<Cursor> StepReader::pick(const Config& config,
                                       std::initializer_list<std::string_view> names) {
  if (config.config) {
    if (auto found = findings_.pick(*config.config, names)) return found;
  }
  if (config.parameters) return findings_.pick(*config.parameters, names);
  return std::nullopt;
}

void StepReader::read_action(const Cursor& at, Step& step) {
  std::optional<Cursor> name = findings_.pick(at, {"action", "capability", "capability_id"});
  std::optional<Cursor> params = findings_.pick(at, {"params", "parameters", "inputs"});
  const std::optional<Cursor> config = at.field("config");
  // The second dialect: parameters {capability_id, params}.
  const std::optional<Cursor> outer = params;
  if (!name && outer && outer->field("capability_id")) {
    findings_.only(*outer, names::kCapability, "a capability step");
    name = outer->field("capability_id");
    params = outer->field("params");
  } else if (config && !(config->value() == Value(Value::Object()))) {
    findings_.complaint(*config, "unknown_field", "an action step has no config",
                        "what the action takes belongs under params");
  }
  if (name) {
    step.action = findings_.text(*name);
    check_action(*name, step.action);
    if (const BuiltinAction* known = find_builtin(step.action)) step.action_kind = known->kind;
  } else {
    required(at, "an action step", "action");
  }
  if (checked_ && options_.params != nullptr && !accepted_)
    options_.params(step.action, at, params ? &*params : nullptr, findings_);
  step.params = Value(Value::Object());
  if (!params) return;
  if (params->is_object() ||
      (params->is_string() && expr::has_template(params->value().as_string()))) {
    step.params = templated(*params, step.action);
  } else {
    findings_.expect_object(*params);
  }
}

void StepReader::check_action(const Cursor& at, const std::string& action) {
  if (!at.is_string()) return;
  if (action.empty()) {
    findings_.error(at, "required", "an action step needs 'action'");
    return;
  }
  if (!checked_ || options_.actions == nullptr) return;
  const std::vector<std::string>& known = *options_.actions;
  if (std::find(known.begin(), known.end(), action) != known.end()) return;
  const std::vector<std::string_view> names(known.begin(), known.end());
  findings_.error(at, "unknown_action", "there is no action " + in_quotes(action),
                  meant(action, names));
}

void StepReader::read_condition(const Cursor& at, const Config& config, uint32_t place,
                                Step& step) {
  if (const auto given = pick(config, {"expression", "condition"})) {
    step.expression = expression(*given);
  }
  if (step.expression.empty()) required(at, row_of(step.type_name).a, "config.expression");
  const std::optional<Cursor> branches = pick(config, {"branches"});
  std::optional<Cursor> otherwise = pick(config, {"default"});
  if (!branches) required(at, row_of(step.type_name).a, "config.branches");
  if (branches && findings_.expect_object(*branches)) {
    if (const auto inside = branches->field(kDefaultBranch)) {
      if (otherwise) findings_.error(*inside, "duplicate", "the branch 'default' is there twice");
      otherwise = inside;
    }
    for (size_t i = 0; i < branches->value().as_object().size(); ++i) {
      const std::string& key = branches->value().as_object().at(i).key;
      if (key == kDefaultBranch) continue;
      const Cursor branch = branches->member(i);
      path_bytes_ += key.size();
      step.branches.push_back({key, read_list(branch, Role::Inner, place)});
      path_bytes_ -= key.size();
    }
  }
  if (otherwise) step.otherwise = read_list(*otherwise, Role::Inner, place);
}

void StepReader::read_loop(const Cursor& at, const Config& config, uint32_t place, Step& step) {
  const bool map = step.type_name == "map";
  if (const auto mode = pick(config, {"mode"}); mode && !map) {
    step.loop_mode = findings_.choice(*mode, kLoopModes).value_or(LoopMode::ForEach);
  }
  read_over_or_condition(at, config, step);
  if (const auto max = pick(config, {"max_iter", "max_iterations"})) {
    step.max_iterations = static_cast<uint32_t>(findings_.whole(*max, 0, UINT32_MAX, 0));
  }
  step.concurrency = map ? 0 : 1;
  if (const auto given = pick(config, {"concurrency", "max_concurrency"})) {
    step.concurrency = static_cast<uint32_t>(findings_.whole(*given, 0, UINT32_MAX, 1));
    if (step.loop_mode != LoopMode::ForEach && step.concurrency != 1) {
      findings_.warning(*given, "no_effect", "a while or until loop runs one iteration at a time");
      step.concurrency = 1;
    }
  }
  const std::optional<Cursor> body = pick(config, {"body"});
  const bool empty = body && body->is_array() && body->value().as_array().empty();
  if (!body || empty) return required(at, row_of(step.type_name).a, "config.body");
  step.body = read_list(*body, Role::Inner, place);
}

void StepReader::read_over_or_condition(const Cursor& at, const Config& config, Step& step) {
  const bool each = step.loop_mode == LoopMode::ForEach;
  const std::optional<Cursor> over = pick(config, {"over"});
  const std::optional<Cursor> condition = pick(config, {"condition"});
  const bool has_over = over && !(over->value() == Value(""));
  const bool has_condition = condition && !(condition->value() == Value(""));
  if (each) {
    if (has_over) step.over = read_over(findings_, *over, checked_);
    if (!has_over) required(at, "a for_each loop", "config.over");
  } else {
    if (has_condition) step.expression = expression(*condition);
    if (!has_condition) required(at, "a while or until loop", "config.condition");
  }
  if (!checked_) return;
  if (each && has_condition) {
    findings_.warning(*condition, "no_effect", "only while and until loops have a condition");
  }
  if (!each && has_over)
    findings_.warning(*over, "no_effect", "only for_each loops go over something");
}

void StepReader::read_parallel(const Cursor& at, const Config& config, uint32_t place, Step& step) {
  if (const auto mode = pick(config, {"mode"})) {
    step.parallel_mode = findings_.choice(*mode, kParallelModes).value_or(ParallelMode::All);
  }
  const std::optional<Cursor> branches = pick(config, {"branches", "steps"});
  if (!branches) return required(at, row_of(step.type_name).a, "config.branches");
  if (!findings_.expect_array(*branches)) return;
  if (branches->value().as_array().empty()) {
    findings_.error(*branches, "value", "there must be at least one branch");
  }
  for (const Cursor& branch : branches->entries()) {
    step.branches.push_back({"", read_list(branch, Role::Inner, place)});
  }
}

void StepReader::read_sequence(const Cursor& at, const Config& config, uint32_t place, Step& step) {
  const std::optional<Cursor> steps = pick(config, {"steps", "body"});
  if (!steps) return required(at, row_of(step.type_name).a, "config.steps");
  step.branches.push_back({"", read_list(*steps, Role::Inner, place)});
}

void StepReader::read_test(const Cursor& at, const Config& config, Step& step) {
  if (const auto given = pick(config, {"condition", "expression"})) {
    step.expression = expression(*given);
  } else {
    // A decision with nothing but a guard: the guard is its test.
    step.expression = std::move(step.condition);
    step.condition.clear();
  }
  if (step.expression.empty()) {
    findings_.error(at, "required", "a decision step needs a condition, branches or options",
                    "put 'condition' under parameters");
  }
}

}  // namespace pawl::plan
