// pawl::Engine and the other public types: the one place where refusals become exceptions.
#include "pawl/engine.h"

#include "embed/host.h"
#include "embed/options.h"

namespace pawl {
namespace {

[[noreturn]] void refuse(const Error& error) {
  if (error.code == ErrorCode::NotFound) throw WorkflowNotFoundError(error.message);
  throw WorkflowError(error.message, std::string(wire_code(error.code)));
}

template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) refuse(result.error());
  return std::move(result).value();
}

void check(const Status& status) {
  if (!status.ok()) refuse(status.error());
}

}  // namespace

EngineOptions EngineOptions::parse(std::string_view text) {
  return value_of(embed::parse_options(text));
}

Engine::Engine(EngineOptions options) {
  check(embed::check_options(options));
  host_ = std::make_unique<embed::Host>(std::move(options));
}

Engine Engine::from_config(std::string_view text) { return Engine(EngineOptions::parse(text)); }

Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

embed::Host& Engine::host() {
  if (!host_) throw WorkflowError("this engine was moved away", "invalid_request");
  return *host_;
}

void Engine::start() { check(host().start()); }

std::string Engine::register_workflow(std::string_view definition) {
  return value_of(host().register_workflow(definition));
}

std::string Engine::register_workflow(const Workflow& workflow) {
  return value_of(host().register_workflow(workflow.json()));
}

bool Engine::unregister_workflow(const std::string& workflow_id) {
  return value_of(host().unregister_workflow(workflow_id));
}

std::vector<std::string> Engine::list_workflows() { return value_of(host().list_workflows()); }

std::string Engine::get_workflow(const std::string& workflow_id) {
  return value_of(host().get_workflow(workflow_id));
}

std::string Engine::execute_workflow(const std::string& workflow_id, std::string_view context,
                                     const ExecuteOptions& options) {
  return value_of(host().execute(workflow_id, context, options));
}

WorkflowStatus Engine::get_workflow_status(const std::string& instance_id) {
  return value_of(host().status(instance_id));
}

WorkflowStatus Engine::wait(const std::string& instance_id, std::chrono::milliseconds timeout,
                            Until until) {
  return value_of(host().wait(instance_id, timeout.count(), until == Until::Idle));
}

std::string Engine::get_workflow_instance(const std::string& instance_id) {
  return value_of(host().state(instance_id));
}

std::string Engine::describe(const std::string& instance_id) {
  return value_of(host().describe(instance_id));
}

void Engine::cancel_workflow(const std::string& instance_id, const std::string& reason) {
  check(host().cancel(instance_id, reason));
}

bool Engine::pause_workflow(const std::string& instance_id) {
  return value_of(host().pause(instance_id, true));
}

bool Engine::resume_workflow(const std::string& instance_id) {
  return value_of(host().pause(instance_id, false));
}

void Engine::retry_workflow(const std::string& instance_id, const std::string& from_step) {
  check(host().retry(instance_id, from_step));
}

std::string Engine::get_workflow_history(const std::string& workflow_id, size_t limit,
                                         const std::string& before) {
  return value_of(host().history(workflow_id, limit, before));
}

std::vector<WorkflowEvent> Engine::get_workflow_events(const std::string& instance_id,
                                                       uint64_t after, size_t limit) {
  return value_of(host().events(instance_id, after, limit));
}

void Engine::signal(const std::string& instance_id, const std::string& name,
                    const std::string& payload, const std::string& step_id) {
  check(host().signal(instance_id, name, payload, step_id));
}

std::string Engine::pending_decisions(const std::string& instance_id) {
  return value_of(host().pending_decisions(instance_id));
}

void Engine::resolve_decision(const std::string& decision_id, const DecisionChoice& choice) {
  check(host().resolve_decision(decision_id, choice));
}

void Engine::register_capability(const std::string& capability_id, const std::string& schema,
                                 Capability capability) {
  check(host().add_capability(capability_id, schema, std::move(capability)));
}

bool Engine::unregister_capability(const std::string& capability_id) {
  return host().remove_capability(capability_id);
}

std::vector<std::string> Engine::list_capabilities() { return host().list_capabilities(); }

void Engine::register_agent(Agent agent) { check(host().add_agent(std::move(agent))); }

bool Engine::unregister_agent(const std::string& agent_id) { return host().remove_agent(agent_id); }

void Engine::set_secret(const std::string& name, const std::string& value) {
  check(host().set_secret(name, value));
}

uint64_t Engine::add_listener(EventListener listener) {
  if (!listener) throw WorkflowError("there is no function to call", "invalid_request");
  return host().add_listener(std::move(listener));
}

void Engine::remove_listener(uint64_t id) { host().remove_listener(id); }

std::string Engine::metrics() { return host().metrics(); }

}  // namespace pawl
