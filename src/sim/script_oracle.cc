#include "sim/script_oracle.h"

#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/model.h"
#include "kernel/scripts/step_names.h"

namespace pawl::sim {
namespace {

using Tree = std::vector<pawl::ModelStep>;

Tree tree_of(uint64_t seed) { return RandomScript(mix64(seed)).root(); }

bool is_safe(const Tree& steps, std::string_view id) {
  for (const pawl::ModelStep& step : steps) {
    if (step.id == id) return step.safe;
    for (const Tree& list : step.lists)
      if (is_safe(list, id)) return true;
  }
  return false;
}

// The interpreter cannot know times and decisions.
bool is_told(const std::string& output) {
  return output.find('?') == std::string::npos && output.find("waited") == std::string::npos;
}

// Steps beside a step that fails the run may or may not have ended by then.
bool raced_with_the_end(const std::string& state, const std::string& expected) {
  return state == "skipped(run_failed)" || expected == "skipped(run_failed)";
}

// In a failed list, the reason of a skipped step (list or run) depends on the order of checks.
bool was_cut_off(const std::string& state) {
  return state == "skipped(upstream_failed)" || state == "skipped(run_failed)";
}

}  // namespace

std::string determinate_definition(uint64_t seed) {
  return RandomScript::definition(tree_of(seed)).json();
}

StepOutcome determinate_answer(uint64_t seed, const std::string& step, size_t nth) {
  std::string id(split_step(step).second);
  ModelOutcome drawn = model_outcome(seed, step, static_cast<int>(nth), is_safe(tree_of(seed), id));
  StepOutcome outcome;
  outcome.ok = drawn.ok;
  outcome.retryable = !drawn.ok && drawn.retryable;
  if (drawn.ok)
    outcome.output = R"({"n":)" + std::to_string(drawn.n) + "}";
  else
    outcome.error = {"E", "it broke for the " + std::to_string(nth) + ". time", "", ""};
  return outcome;
}

std::string fault_by_oracle(uint64_t seed, const ModelScript& run, ScriptStatus status,
                            const StepError& error) {
  pawl::ScriptModel oracle(seed);
  std::string expected = oracle.run(tree_of(seed));
  std::string ended(script_status_name(status));
  if (!error.empty()) ended += " " + error.code + " at " + error.step;
  if (ended != expected) return "ends as " + ended + " instead of " + expected;
  size_t steps = 0;
  for (const auto& [path, scope] : run.scopes)
    for (uint32_t i = 0; i < scope.steps.size(); ++i) {
      ++steps;
      const ModelStep& step = scope.steps[i];
      std::string name = join_path(path, run.plan->at(scope.list, i).id);
      auto end = oracle.ends().find(name);
      if (end == oracle.ends().end()) return "has a step '" + name + "' that should not be";
      std::string state(step_state_name(step.state));
      if (step.state == StepState::Skipped) state += "(" + step.reason + ")";
      bool raced =
          status != ScriptStatus::Completed && raced_with_the_end(state, end->second.state);
      if (raced) continue;
      if (state != end->second.state && !(was_cut_off(state) && was_cut_off(end->second.state)))
        return name + " is " + state + " instead of " + end->second.state;
      bool told = step.state == StepState::Completed && is_told(end->second.output);
      if (told && !same_json(step.output, end->second.output))
        return name + " gives " + step.output + " instead of " + end->second.output;
    }
  return steps == oracle.ends().size() ? "" : "has other steps than it should";
}

}  // namespace pawl::sim
