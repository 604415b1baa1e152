// Host: the library behind pawl::Engine, with results instead of exceptions. It includes no
// internal engine headers.
//
// Threads: any, except for the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pawl/calls.h"
#include "pawl/options.h"

namespace pawl::embed {

class Host {
 public:
  explicit Host(EngineOptions options);
  ~Host();

  // Every call below that needs the engine starts it.
  Status start();

  Result<std::string> register_workflow(std::string_view text);
  Result<bool> unregister_workflow(const std::string& workflow);
  Result<std::vector<std::string>> list_workflows();
  Result<std::string> get_workflow(const std::string& workflow);

  Result<std::string> execute(const std::string& workflow, std::string_view context,
                              const ExecuteOptions& options);
  Result<WorkflowStatus> status(const std::string& instance);
  Result<WorkflowStatus> wait(const std::string& instance, int64_t timeout_ms, bool until_idle);
  Result<std::string> state(const std::string& instance);
  Result<std::string> describe(const std::string& instance);
  Status cancel(const std::string& instance, const std::string& reason);
  Result<bool> pause(const std::string& instance, bool paused);
  Status retry(const std::string& instance, const std::string& from_step);
  Result<std::string> history(const std::string& workflow, size_t limit, const std::string& before);

  Status signal(const std::string& instance, const std::string& name, const std::string& payload,
                const std::string& step);
  Result<std::string> pending_decisions(const std::string& instance);
  Status resolve_decision(const std::string& decision, const DecisionChoice& choice);

  Status add_capability(const std::string& name, const std::string& schema, Capability capability);
  bool remove_capability(const std::string& name);
  std::vector<std::string> list_capabilities();
  Status add_agent(Agent agent);
  bool remove_agent(const std::string& id);
  Status set_secret(const std::string& name, const std::string& value);

  Result<std::vector<WorkflowEvent>> events(const std::string& instance, uint64_t after,
                                            size_t limit);
  uint64_t add_listener(EventListener listener);
  void remove_listener(uint64_t id);
  std::string metrics();

 private:
  struct Parts;

  Status open();
  Status gather_live();

  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl::embed
