// Types of the engine's replies and callbacks. Values of workflows are JSON text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pawl {
inline namespace embedded {

// The status of an instance: pending, running, paused, completed, failed, canceled. Instances that
// wait for a decision or a signal are paused too.
struct WorkflowStatus {
  std::string instance_id;
  std::string workflow_id;
  std::string status;
  std::optional<std::string> current_step;
  double progress = 0;  // share of ended steps at the top level

  struct Metadata {
    uint32_t completed_steps = 0;
    uint32_t total_steps = 0;
    std::string started_at;
    double duration = 0;  // seconds, until now or its end
  } metadata;
  std::string result = "null";  // JSON, once completed
  std::string error;            // why it failed or was canceled

  bool is_over() const {
    return status == "completed" || status == "failed" || status == "canceled";
  }
};

// One call of a capability.
struct CapabilityCall {
  std::string capability_id;
  std::string params;  // JSON object, checked against the schema
  std::string instance_id;
  std::string step_id;
  // The same when a call is repeated after a crash, because it is unknown whether the first one
  // ended. Pass it on to external services.
  std::string idempotency_key;
};

struct CapabilityResult {
  bool success = false;
  std::string result = "null";  // JSON
  std::string error = {};
  std::string code = "CAPABILITY_ERROR";
  bool retryable = true;

  static CapabilityResult ok(std::string json = "null") { return {true, std::move(json)}; }
  static CapabilityResult fail(std::string error, bool retryable = true) {
    return {false, "null", std::move(error), "CAPABILITY_ERROR", retryable};
  }
};

// Called on a thread of the engine, several at once. An exception is a retryable failure.
using Capability = std::function<CapabilityResult(const CapabilityCall&)>;

// A task for an agent.
struct AgentTask {
  std::string task_id;  // <instance>-<step>
  std::string task_type;
  std::string description;
  std::string parameters;  // JSON object
  std::string instance_id;
  std::string step_id;
  uint32_t attempt = 1;
  std::function<bool()> canceled;  // whether its result is no longer needed
};

struct AgentResult {
  bool success = false;
  std::string result = "null";  // JSON
  std::string error = {};

  static AgentResult ok(std::string json = "null") { return {true, std::move(json)}; }
  static AgentResult fail(std::string error) { return {false, "null", std::move(error)}; }
};

struct Agent {
  std::string agent_id;
  std::vector<std::string> task_types;
  std::function<AgentResult(const AgentTask&)> execute;
  uint32_t concurrency = 1;      // tasks at once, a thread each
  std::string queue = "agents";  // where its tasks wait
};

// An event of an instance.
struct WorkflowEvent {
  uint64_t sequence = 0;
  std::string type;  // workflow_started, step_completed, …
  std::string instance_id;
  std::string step_id;  // "" = the instance itself
  std::string timestamp;
  std::string data = "{}";  // JSON object
};
using EventListener = std::function<void(const WorkflowEvent&)>;

struct ExecuteOptions {
  std::string instance_id = {};  // "" = generated; up to 128 letters, digits, '-', '_', '.'
  std::string version = {};      // "" = the newest
  int priority = 0;
  std::string metadata = {};  // JSON object
};

struct DecisionChoice {
  std::string choice;
  std::string data = {};  // JSON
  std::string reasoning = {};
  std::string resolved_by = {};
};

}  // namespace embedded
}  // namespace pawl
