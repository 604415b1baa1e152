#include "rehearse/skeleton.h"

#include <set>

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

// As YAML: JSON is YAML too, and quotes what needs it.
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
  if (script.inputs.is_object())
    for (const Value::Member& input : script.inputs.as_object())
      inputs += "      " + text(input.key) + ": " + input.value.json() + "\n";
  std::string out = "# Run it: pawl test THIS_FILE. The language: docs/guide/testing.md\n";
  out += "definition: " + text(file) + "\ncases:\n  - name: it completes\n";
  if (!inputs.empty()) out += "    inputs:\n" + inputs;
  if (!mocks.empty()) out += "    mocks:\n" + mocks;
  if (!events.empty()) out += "    events:\n" + events;
  return out + "    expect:\n      status: completed\n";
}

}  // namespace pawl::rehearse
