#include "rehearse/stand_in.h"

#include <algorithm>

#include "expr/template/template.h"
#include "plan/canonical.h"

namespace pawl::rehearse {
namespace {

constexpr std::string_view kPrefix = "rehearse:";

bool engine_does(std::string_view action) { return action.substr(0, 9) == "workflow."; }

std::string called_definition(const plan::Step& step) {
  if (step.type == plan::StepType::Subworkflow) return step.definition;
  for (std::string_view name : {"template_name", "definition", "name"})
    if (const Value* given = step.params.find(name); given != nullptr && given->is_string())
      return given->as_string();
  return "";
}

bool is_given(const std::string& definition, const TestFile& file) {
  if (expr::has_template(definition)) return !file.others.empty();
  if (file.script->name == definition) return true;
  return std::any_of(file.others.begin(), file.others.end(),
                     [&](const auto& other) { return other->name == definition; });
}

bool is_mocked(const plan::Step& step, std::string_view action, const Case& given) {
  return std::any_of(given.mocks.begin(), given.mocks.end(), [&](const Mock& mock) {
    size_t dot = mock.key.rfind('.');
    return mock.key == action || mock.key == step.id ||
           (dot != std::string::npos && mock.key.substr(dot + 1) == step.id);
  });
}

}  // namespace

std::string staged_definition(const plan::Script& script, const TestFile& file, const Case& given) {
  plan::Script staged = script;
  for (plan::Step& step : staged.steps) {
    bool child = step.type == plan::StepType::Subworkflow || step.action == "workflow.run";
    if (!child && !(step.type == plan::StepType::Action && engine_does(step.action))) continue;
    std::string action = step.type == plan::StepType::Subworkflow ? "subworkflow" : step.action;
    if (!is_mocked(step, action, given) && !(child && !is_given(called_definition(step), file)))
      continue;
    if (step.type == plan::StepType::Subworkflow) {
      Value::Object params;
      params.set("definition", step.definition);
      if (!step.version.empty()) params.set("version", step.version);
      params.set("inputs", step.params);
      step.params = std::move(params);
      step.definition.clear();
      step.version.clear();
    }
    step.type = plan::StepType::Action;
    step.type_name = "action";
    step.action = std::string(kPrefix) + action;
  }
  return plan::canonical_definition(staged).json();
}

std::string_view written_action(std::string_view action) {
  return is_stand_in(action) ? action.substr(kPrefix.size()) : action;
}

bool is_stand_in(std::string_view action) { return action.substr(0, kPrefix.size()) == kPrefix; }

}  // namespace pawl::rehearse
