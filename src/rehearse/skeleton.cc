#include "rehearse/skeleton.h"

#include <cctype>
#include <set>

#include "plan/canonical.h"
#include "rehearse/stage.h"

namespace pawl::rehearse {
namespace {

bool touches_world(const plan::Step& step) {
  if (step.type == plan::StepType::Job || step.type == plan::StepType::Composition ||
      step.type == plan::StepType::Subworkflow)
    return true;
  if (step.type != plan::StepType::Action) return false;
  const actions::ActionInfo* info = actions::find_action(step.action);
  return info == nullptr || step.action == "workflow.run" || (!info->pure && !info->by_engine);
}

Value sample_of(const Value& schema) {
  if (const Value* choices = schema.find("enum"); choices != nullptr && choices->is_array())
    if (!choices->as_array().empty()) return choices->as_array()[0];
  const Value* type = schema.find("type");
  std::string kind = type != nullptr && type->is_string() ? type->as_string() : "";
  if (kind == "integer" || kind == "number") return 1;
  if (kind == "boolean") return true;
  if (kind == "array") return Value::Array{};
  if (kind == "object") return Value::Object{};
  return "x";
}

// Sample inputs: the defaults, the members required by the schema, and every inputs.NAME in the
// definition.
Value::Object sample_inputs(const plan::Script& script) {
  Value::Object inputs;
  if (script.inputs.is_object()) inputs = script.inputs.as_object();
  if (const Value* properties = script.input_schema.find("properties");
      properties != nullptr && properties->is_object())
    for (const Value::Member& property : properties->as_object())
      if (!inputs.contains(property.key) && property.value.find("default") == nullptr)
        inputs.set(property.key, sample_of(property.value));
  constexpr std::string_view kBefore = "inputs.";
  std::string text = plan::canonical_definition(script).json();
  for (size_t at = text.find(kBefore); at != text.npos; at = text.find(kBefore, at + 1)) {
    size_t begin = at + kBefore.size();
    size_t end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    std::string name = text.substr(begin, end - begin);
    if (!name.empty() && !inputs.contains(name)) inputs.set(name, "x");
  }
  return inputs;
}

// As YAML: JSON is valid YAML, with the necessary quotes.
std::string text(const std::string& value) { return Value(value).json(); }

std::string event_of(const plan::Step& step) {
  if (step.type == plan::StepType::Decision)
    return "      - {decide: {step: " + text(step.id) +
           ", choice: " + text(step.options.empty() ? "yes" : step.options[0].id) + "}}\n";
  if (step.type == plan::StepType::Wait && !step.signal.empty())
    return "      - {after: " + text(step.id) + ", in: 1h, signal: {name: " + text(step.signal) +
           "}}\n";
  return "";
}

}  // namespace

std::string first_test_file(const plan::Script& script, const std::string& file) {
  std::string mocks, events, inputs;
  std::set<std::string> seen;
  for (const plan::Step& step : script.steps) {
    if (!seen.insert(step.id).second) continue;
    if (touches_world(step)) mocks += "      " + sample_mock(text(step.id), step.action) + "\n";
    events += event_of(step);
  }
  for (const Value::Member& input : sample_inputs(script))
    inputs += "      " + text(input.key) + ": " + input.value.json() + "\n";
  std::string out = "# Run it: pawl test THIS_FILE. The language: docs/guide/testing.md\n";
  out += "definition: " + text(file) + "\ncases:\n  - name: it completes\n";
  if (!inputs.empty()) out += "    inputs:\n" + inputs;
  if (!mocks.empty()) out += "    mocks:\n" + mocks;
  if (!events.empty()) out += "    events:\n" + events;
  return out + "    expect:\n      status: completed\n";
}

}  // namespace pawl::rehearse
