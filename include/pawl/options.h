// EngineOptions: the configuration of an engine. The names are those of the configuration file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace pawl {
inline namespace embedded {

struct EngineOptions {
  // Instances that may run at once; a further one is refused. Paused and waiting ones do not count.
  // 0 = no bound.
  uint32_t max_concurrent = 10;
  // false: nothing is written, everything ends with the engine.
  bool persistence = true;
  // sqlite (or db): the durable log alone. json: in addition the state of each instance as
  // <data_dir>/<instance_id>.json.
  std::string state_backend = "json";
  std::string data_dir = "./data/workflows";

  struct Execution {
    bool parallel_steps = true;   // false: one capability and one agent task at a time
    uint32_t threads = 8;         // for capabilities, while steps are parallel
    uint32_t step_timeout = 300;  // seconds, for capability and agent steps without one; 0 = none
  } execution;

  // For steps with on_failure: retry and no own policy.
  struct Retry {
    uint32_t default_max_attempts = 3;
    double default_backoff = 2.0;        // factor of each further pause
    double default_initial_delay = 1.0;  // seconds
  } retry;

  struct Monitoring {
    bool track_metrics = true;
    bool log_executions = true;
  } monitoring;

  // Permissions of the built-in actions.
  struct Actions {
    bool shell = false;              // shell.exec
    bool private_addresses = false;  // http.* to loopback and private networks
    bool any_file = false;           // fs.* outside the instance's own directory
  } actions;

  // Receives log lines. By default they go to stderr.
  std::function<void(std::string_view line)> log;

  // JSON or YAML, as {workflow: {max_concurrent: …}} or without the outer key. An unknown key, or a
  // value out of range, is refused with WorkflowError.
  static EngineOptions parse(std::string_view text);
};

}  // namespace embedded
}  // namespace pawl
