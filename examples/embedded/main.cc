// An order is checked, charged and handed to a packer; a person may stop it. Run it twice with the
// same directory: the second one finds what the first one left.
//
//   embedded DIRECTORY
#include <pawl/engine.h>

#include <cstdio>

namespace {

const char* const kOrder = R"(
workflow_id: order
name: Order
version: "1.0"
steps:
  - step_id: charge
    step_type: capability
    parameters:
      capability_id: shop.charge
      params: {amount: "${{inputs.amount}}"}
    on_failure: retry
    retry_config: {max_attempts: 3, initial_delay: 0.01}
  - step_id: approve
    step_type: decision
    dependencies: [charge]
    parameters:
      prompt: "Send it?"
      options: [{id: "yes"}, {id: "no"}]
  - step_id: pack
    name: Pack the box
    step_type: agent
    dependencies: [approve]
    condition: steps.approve.choice == "yes"
    parameters:
      task_type: pack
      params: {receipt: "${{steps.charge.receipt}}"}
)";

void add_work(pawl::Engine& engine) {
  engine.register_capability(
      "shop.charge",
      R"({"type":"object","required":["amount"],"properties":{"amount":{"type":"number"}}})",
      [failed = false](const pawl::CapabilityCall& call) mutable {
        if (!failed) {
          failed = true;
          return pawl::CapabilityResult::fail("the bank did not answer");
        }
        std::printf("charging %s under %s\n", call.params.c_str(), call.idempotency_key.c_str());
        return pawl::CapabilityResult::ok(R"({"receipt":"R-1"})");
      });
  engine.register_agent(
      {.agent_id = "packer", .task_types = {"pack"}, .execute = [](const pawl::AgentTask& task) {
         std::printf("%s: %s\n", task.description.c_str(), task.parameters.c_str());
         return pawl::AgentResult::ok(R"({"boxes":1})");
       }});
  engine.add_listener([](const pawl::WorkflowEvent& event) {
    std::printf("  %s %s\n", event.type.c_str(), event.step_id.c_str());
  });
}

// Places the order, and leaves before anybody has approved it.
void place(const pawl::EngineOptions& options) {
  pawl::Engine engine(options);
  add_work(engine);
  engine.register_workflow(kOrder);
  std::string order =
      engine.execute_workflow("order", R"({"amount":12.5})", {.instance_id = "order-1"});
  pawl::WorkflowStatus status =
      engine.wait(order, std::chrono::seconds(30), pawl::Engine::Until::Idle);
  std::printf("%s is %s at %s\n", order.c_str(), status.status.c_str(),
              status.current_step.value_or("-").c_str());
}

int finish(const pawl::EngineOptions& options) {
  pawl::Engine engine(options);
  add_work(engine);
  std::string decisions = engine.pending_decisions("order-1");
  size_t begin = decisions.find("\"id\":\"");
  if (begin == std::string::npos) return 1;
  begin += 6;
  std::string decision = decisions.substr(begin, decisions.find('"', begin) - begin);
  engine.resolve_decision(decision, {.choice = "yes", .resolved_by = "the shop"});
  pawl::WorkflowStatus status = engine.wait("order-1", std::chrono::seconds(30));
  std::printf("order-1 is %s, %.0f%%\n", status.status.c_str(), status.progress * 100);
  std::printf("%s\n", engine.get_workflow_instance("order-1").c_str());
  return status.status == "completed" ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  pawl::EngineOptions options;
  options.data_dir = argc > 1 ? argv[1] : "./data/workflows";
  options.monitoring.log_executions = false;
  try {
    place(options);
    return finish(options);
  } catch (const pawl::WorkflowError& error) {
    std::fprintf(stderr, "%s: %s\n", error.code().c_str(), error.what());
    return 1;
  }
}
