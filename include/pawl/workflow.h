// Workflow: a definition built in code. JSON or YAML text can express the same and more: see
// docs/reference/definitions.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
inline namespace embedded {

struct RetryConfig {
  uint32_t max_attempts = 3;  // the first one included
  double backoff_multiplier = 2.0;
  double initial_delay = 1.0;  // seconds
  double max_delay = 60.0;     // seconds
};

struct WorkflowStep {
  std::string step_id;
  std::string name = {};
  std::string step_type = "capability";  // agent, capability, decision, parallel, sequential, …
  std::string parameters = "{}";         // JSON object
  std::vector<std::string> dependencies = {};
  std::string condition = {};       // "" = always
  std::string on_failure = "fail";  // fail, retry, skip, rollback
  std::optional<RetryConfig> retry_config = {};
  std::optional<uint32_t> timeout = {};  // seconds
  std::string compensate = {};           // JSON: the step or steps that undo it
};

struct Workflow {
  std::string workflow_id;
  std::string name = {};
  std::string description = {};
  std::string version = {};  // "" = the next number
  std::vector<WorkflowStep> steps = {};
  std::string metadata = "{}";  // JSON object

  // The text for register_workflow. WorkflowError if a member that must be JSON is not.
  std::string json() const;
  // {true, ""}, or {false, the faults}. Capabilities are not checked.
  std::pair<bool, std::string> validate() const;
};

}  // namespace embedded
}  // namespace pawl
