// pawl::Engine: the workflow engine inside a program. No server, no port: the same durable engine,
// in this process.
//
//   pawl::Engine engine(pawl::EngineOptions{.data_dir = "./data"});
//   engine.register_capability("greet", "", [](const pawl::CapabilityCall& call) {
//     return pawl::CapabilityResult::ok(R"({"text":"hello"})");
//   });
//   engine.register_workflow(yaml);
//   std::string id = engine.execute_workflow("welcome", R"({"name":"Ada"})");
//   pawl::WorkflowStatus status = engine.wait(id, std::chrono::seconds(10));
//
// When a call returns, its result is on disk. After a crash or a restart with the same data_dir
// every instance continues where it was, once the engine is started: by start(), or by the first
// call that needs it. So register capabilities first; an instance that calls an unknown one fails.
//
// One engine at a time holds a data_dir. Every call may come from any thread, also from inside
// capabilities, agents and listeners, except the destructor. Failures are WorkflowError
// (pawl/error.h); nothing else is thrown but std::bad_alloc.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/calls.h"
#include "pawl/error.h"
#include "pawl/options.h"
#include "pawl/workflow.h"

namespace pawl {
namespace embed {
class Host;
}
inline namespace embedded {

class Engine {
 public:
  // Only checks the options; start() opens the data.
  explicit Engine(EngineOptions options = {});
  // JSON or YAML, see EngineOptions::parse.
  static Engine from_config(std::string_view text);
  // Waits for running capabilities and agents. Unfinished instances continue with the next engine
  // on this data.
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Opens the data and resumes instances of an earlier engine. Further calls do nothing.
  void start();

  // --- workflows
  // JSON or YAML. The same text again changes nothing. Another text under the same version becomes
  // the version "<version>+2": instances keep the text that they began with. Returns the version.
  // "Workflow validation failed: …" lists all faults.
  std::string register_workflow(std::string_view definition);
  std::string register_workflow(const Workflow& workflow);
  // False if there is none. Refused while it has unfinished instances.
  bool unregister_workflow(const std::string& workflow_id);
  std::vector<std::string> list_workflows();
  // The definition in its canonical form. WorkflowNotFoundError.
  std::string get_workflow(const std::string& workflow_id);

  // --- instances
  // Starts an instance and returns its id; `context` is a JSON object. WorkflowNotFoundError;
  // "Maximum concurrent workflow limit (N) reached"; a context that does not fit; an instance id
  // that is taken (code duplicate).
  std::string execute_workflow(const std::string& workflow_id, std::string_view context = "{}",
                               const ExecuteOptions& options = {});
  WorkflowStatus get_workflow_status(const std::string& instance_id);
  enum class Until { Over, Idle };  // Idle: also when it is paused, or waits for a person
  // Returns the status then, or when the time is up.
  WorkflowStatus wait(const std::string& instance_id, std::chrono::milliseconds timeout,
                      Until until = Until::Over);
  // {instance_id, workflow_id, status, started_at, completed_at, result, context, step_results}:
  // what the file of state_backend json holds.
  std::string get_workflow_instance(const std::string& instance_id);
  // Its complete state, including nested steps.
  std::string describe(const std::string& instance_id);
  // Refused if it has ended.
  void cancel_workflow(const std::string& instance_id, const std::string& reason = {});
  // Lets running steps finish and starts no others. False if there was nothing to do.
  bool pause_workflow(const std::string& instance_id);
  bool resume_workflow(const std::string& instance_id);
  // Retries a failed instance, from the failed steps or from `from_step` on.
  void retry_workflow(const std::string& instance_id, const std::string& from_step = {});
  // JSON list of instances, newest first. `before`: the last id of the previous page.
  std::string get_workflow_history(const std::string& workflow_id, size_t limit = 100,
                                   const std::string& before = {});
  // Its events, oldest first, after the event `after`.
  std::vector<WorkflowEvent> get_workflow_events(const std::string& instance_id, uint64_t after = 0,
                                                 size_t limit = 1000);

  // --- what instances wait for
  // Sends a signal to a wait step of that name; kept if no step waits for it yet. `payload`: JSON.
  void signal(const std::string& instance_id, const std::string& name,
              const std::string& payload = {}, const std::string& step_id = {});
  // JSON list of {id, instance_id, step_id, context, created_at, expires_at}; "" = of all.
  std::string pending_decisions(const std::string& instance_id = {});
  void resolve_decision(const std::string& decision_id, const DecisionChoice& choice);

  // --- what instances call
  // `schema`: JSON Schema of the parameters, "" = any. Refused if the name is taken, also by a
  // built-in action.
  void register_capability(const std::string& capability_id, const std::string& schema,
                           Capability capability);
  bool unregister_capability(const std::string& capability_id);
  std::vector<std::string> list_capabilities();
  // Takes the tasks of agent steps. A task without an agent waits. Refused if the name is taken.
  void register_agent(Agent agent);
  // Waits for its current task, so an agent cannot unregister itself. False if there is none.
  bool unregister_agent(const std::string& agent_id);
  // For ${{secrets.NAME}}; kept encrypted. Refused without persistence.
  void set_secret(const std::string& name, const std::string& value);

  // --- watching
  // Called for events from now on, in order, on a thread of the engine: a slow listener delays the
  // others, not the engine. Returns the id for remove_listener.
  uint64_t add_listener(EventListener listener);
  void remove_listener(uint64_t id);
  // JSON: {workflows: {…}, capabilities: {NAME: {total_executions, …}}}. Since the start.
  std::string metrics();

 private:
  embed::Host& host();

  std::unique_ptr<embed::Host> host_;
};

}  // namespace embedded
}  // namespace pawl
