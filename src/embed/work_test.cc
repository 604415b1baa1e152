// Capabilities and agents: calls, failures, and the assignment of tasks.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "embed/testing/embed_fixture.h"

namespace pawl::embed {
namespace {

const char* const kQuickRetry =
    R"("on_failure":"retry","retry_config":{"max_attempts":3,"initial_delay":0.001})";

std::string agent_step(const std::string& workflow, const std::string& type,
                       const std::string& more = "") {
  return R"({"workflow_id":")" + workflow +
         R"(","steps":[{"step_id":"task","name":"Do it","step_type":"agent",)" +
         R"("parameters":{"task_type":")" + type + R"(","params":{"x":"${{inputs.x}}"}})" +
         (more.empty() ? "" : "," + more) + "}]}";
}

Value step_result(Engine& engine, const std::string& instance, const char* step) {
  Value state = parsed(engine.get_workflow_instance(instance));
  const Value* found = state.find("step_results")->find(step);
  return found == nullptr ? Value() : *found;
}

// --- capabilities

TEST_F(EmbedTest, ACapabilityIsTriedAgainUnderAKeyOfEachAttempt) {
  Engine engine(in_memory());
  std::mutex mutex;
  std::vector<std::string> keys;
  engine.register_capability("own.flaky", "", [&](const CapabilityCall& call) {
    std::lock_guard lock(mutex);
    keys.push_back(call.idempotency_key);
    EXPECT_EQ(call.instance_id, "chosen");
    EXPECT_EQ(call.step_id, "only");
    if (keys.size() == 1) return CapabilityResult::fail("not yet");
    if (keys.size() == 2) throw std::runtime_error("thrown");
    return CapabilityResult::ok("[1,2]");
  });
  engine.register_workflow(one_step("w", "own.flaky", kQuickRetry));
  std::string instance = engine.execute_workflow("w", "{}", {.instance_id = "chosen"});
  EXPECT_EQ(engine.wait(instance, kLong).status, "completed");
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 3u);
  EXPECT_EQ(step_result(engine, instance, "only").find("result")->json(), "[1,2]");
  const Value metrics = parsed(engine.metrics());
  const Value& tally = *metrics.find("capabilities")->find("own.flaky");
  EXPECT_EQ(tally.find("total_executions")->as_int(), 3);
  EXPECT_EQ(tally.find("failures")->as_int(), 2);
}

TEST_F(EmbedTest, FailuresReachTheInstance) {
  Engine engine(in_memory());
  std::atomic<int> calls{0};
  engine.register_capability("own.final", "", [&](const CapabilityCall&) {
    ++calls;
    return CapabilityResult::fail("never", false);
  });
  engine.register_capability("own.garbage", "",
                             [](const CapabilityCall&) { return CapabilityResult::ok("{oops"); });
  engine.register_workflow(one_step("final", "own.final", kQuickRetry));
  engine.register_workflow(one_step("garbage", "own.garbage"));
  engine.register_workflow(one_step("skip", "own.final", R"("on_failure":"skip")"));

  std::string instance = engine.execute_workflow("final");
  WorkflowStatus status = engine.wait(instance, kLong);
  EXPECT_EQ(status.status, "failed");
  EXPECT_EQ(status.error, "never");
  EXPECT_EQ(calls, 1);  // the failure was not retryable
  EXPECT_EQ(step_result(engine, instance, "only").json(),
            R"({"step_id":"only","success":false,"result":null,"error":"never"})");
  EXPECT_EQ(engine.wait(engine.execute_workflow("garbage"), kLong).status, "failed");

  instance = engine.execute_workflow("skip");
  EXPECT_EQ(engine.wait(instance, kLong).status, "completed");
  EXPECT_EQ(step_result(engine, instance, "only").json(),
            R"({"step_id":"only","success":false,"result":null,"error":"never"})");
}

TEST_F(EmbedTest, AFailedInstanceIsRetried) {
  Engine engine(in_memory());
  std::atomic<bool> broken{true};
  engine.register_capability("own.mended", "", [&](const CapabilityCall&) {
    return broken ? CapabilityResult::fail("broken", false) : CapabilityResult::ok();
  });
  engine.register_workflow(one_step("w", "own.mended"));
  std::string instance = engine.execute_workflow("w");
  EXPECT_EQ(engine.wait(instance, kLong).status, "failed");
  broken = false;
  engine.retry_workflow(instance);
  EXPECT_EQ(engine.wait(instance, kLong).status, "completed");
}

TEST_F(EmbedTest, ParametersAreCheckedBeforeTheCall) {
  Engine engine(in_memory());
  std::atomic<int> calls{0};
  engine.register_capability(
      "own.sum", R"({"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}})",
      [&](const CapabilityCall&) {
        ++calls;
        return CapabilityResult::ok();
      });
  engine.register_workflow(one_step("w", "own.sum"));
  EXPECT_EQ(engine.wait(engine.execute_workflow("w"), kLong).status, "failed");
  EXPECT_EQ(calls, 0);
}

TEST_F(EmbedTest, NamesOfCapabilitiesAreTakenOnce) {
  Engine engine(in_memory());
  auto add = [&](const std::string& name, const std::string& schema) {
    return refusal([&] {
      engine.register_capability(name, schema,
                                 [](const CapabilityCall&) { return CapabilityResult::ok(); });
    });
  };
  EXPECT_EQ(add("own.a", ""), "");
  EXPECT_EQ(add("own.a", ""), "there is an action \"own.a\" already");
  EXPECT_EQ(add("http.get", ""), "there is an action \"http.get\" already");
  EXPECT_NE(add("own.b", "{\"type\":17}"), "");
  EXPECT_NE(refusal([&] { engine.register_capability("own.c", "", nullptr); }), "");
  EXPECT_EQ(engine.list_capabilities(), std::vector<std::string>{"own.a"});
  EXPECT_TRUE(engine.unregister_capability("own.a"));
  EXPECT_FALSE(engine.unregister_capability("own.a"));
}

TEST_F(EmbedTest, ACapabilityMayCallTheEngine) {
  Engine engine(in_memory());
  engine.register_capability("own.inner", "",
                             [](const CapabilityCall&) { return CapabilityResult::ok("7"); });
  engine.register_capability("own.outer", "", [&](const CapabilityCall&) {
    std::string inner = engine.execute_workflow("inner");
    return CapabilityResult::ok("\"" + engine.wait(inner, kLong).status + "\"");
  });
  engine.register_workflow(one_step("inner", "own.inner"));
  engine.register_workflow(one_step("outer", "own.outer"));
  std::string outer = engine.execute_workflow("outer");
  EXPECT_EQ(engine.wait(outer, kLong).status, "completed");
  EXPECT_EQ(step_result(engine, outer, "only").find("result")->json(), "\"completed\"");
}

TEST_F(EmbedTest, SecretsNeedADisk) {
  {
    Engine engine(in_memory());
    EXPECT_EQ(refusal([&] { engine.set_secret("token", "x"); }), "secrets need persistence");
  }
  Engine engine(durable());
  std::string seen;
  engine.register_capability("own.use", "", [&](const CapabilityCall& call) {
    seen = call.params;
    return CapabilityResult::ok(call.params);
  });
  engine.set_secret("token", "hush-hush");
  engine.register_workflow(R"(
workflow_id: w
steps: [{id: only, action: own.use, params: {key: "${{secrets.token}}"}}]
)");
  std::string instance = engine.execute_workflow("w");
  EXPECT_EQ(engine.wait(instance, kLong).status, "completed");
  EXPECT_EQ(seen, R"({"key":"hush-hush"})");
  EXPECT_EQ(engine.describe(instance).find("hush-hush"), std::string::npos);
}

// --- agents

TEST_F(EmbedTest, AnAgentTakesTheTasksOfItsTypes) {
  Engine engine(in_memory());
  AgentTask seen;
  engine.register_agent(
      {.agent_id = "writer", .task_types = {"write"}, .execute = [&](const AgentTask& task) {
         seen = task;
         return AgentResult::ok(R"({"by":"writer"})");
       }});
  engine.register_agent(
      {.agent_id = "reader", .task_types = {"read"}, .execute = [](const AgentTask&) {
         return AgentResult::ok(R"({"by":"reader"})");
       }});
  engine.register_workflow(agent_step("w", "write"));
  engine.register_workflow(agent_step("r", "read"));
  std::string written = engine.execute_workflow("w", R"({"x":5})", {.instance_id = "w-1"});
  std::string read = engine.execute_workflow("r", R"({"x":6})");
  EXPECT_EQ(engine.wait(written, kLong).status, "completed");
  EXPECT_EQ(engine.wait(read, kLong).status, "completed");
  EXPECT_EQ(step_result(engine, written, "task").find("result")->json(), R"({"by":"writer"})");
  EXPECT_EQ(step_result(engine, read, "task").find("result")->json(), R"({"by":"reader"})");
  EXPECT_EQ(seen.task_id, "w-1-task");
  EXPECT_EQ(seen.instance_id, "w-1");
  EXPECT_EQ(seen.step_id, "task");
  EXPECT_EQ(seen.task_type, "write");
  EXPECT_EQ(seen.description, "Do it");
  EXPECT_EQ(seen.parameters, R"({"x":5})");
  EXPECT_EQ(seen.attempt, 1u);
}

// A task without an agent blocks no other task, and is done once an agent is added.
TEST_F(EmbedTest, TasksWaitForTheirAgent) {
  Engine engine(in_memory());
  auto ok = [](const AgentTask&) { return AgentResult::ok(); };
  engine.register_workflow(agent_step("early", "late-type"));
  engine.register_workflow(agent_step("w", "known"));
  std::string early = engine.execute_workflow("early", R"({"x":1})");
  engine.register_agent({.agent_id = "a", .task_types = {"known"}, .execute = ok});
  EXPECT_EQ(engine.wait(engine.execute_workflow("w", R"({"x":1})"), kLong).status, "completed");
  EXPECT_EQ(engine.get_workflow_status(early).status, "running");
  engine.register_agent({.agent_id = "b", .task_types = {"late-type"}, .execute = ok});
  EXPECT_EQ(engine.wait(early, kLong).status, "completed");
  EXPECT_TRUE(engine.unregister_agent("a"));
  EXPECT_FALSE(engine.unregister_agent("a"));
}

// An agent's failure is retried by the step's policy, not by the queue's.
TEST_F(EmbedTest, AgentsFailAsTheStepSays) {
  Engine engine(in_memory());
  std::atomic<int> calls{0};
  engine.register_agent(
      {.agent_id = "a", .task_types = {"*"}, .execute = [&](const AgentTask& task) -> AgentResult {
         ++calls;
         if (task.attempt == 1) throw std::runtime_error("tripped");
         return AgentResult::fail("gave up in attempt " + std::to_string(task.attempt));
       }});
  engine.register_workflow(agent_step("once", "t"));
  engine.register_workflow(agent_step("thrice", "t", kQuickRetry));
  WorkflowStatus once = engine.wait(engine.execute_workflow("once", R"({"x":1})"), kLong);
  EXPECT_EQ(once.status, "failed");
  EXPECT_EQ(once.error, "tripped");
  EXPECT_EQ(calls, 1);
  WorkflowStatus thrice = engine.wait(engine.execute_workflow("thrice", R"({"x":1})"), kLong);
  EXPECT_EQ(thrice.error, "gave up in attempt 3");
  EXPECT_EQ(calls, 4);
}

TEST_F(EmbedTest, AnAgentLearnsThatNobodyWaits) {
  Engine engine(in_memory());
  Gate begun;
  std::atomic<bool> noticed{false};
  engine.register_agent(
      {.agent_id = "a", .task_types = {"t"}, .execute = [&](const AgentTask& task) {
         begun.open();
         while (!task.canceled()) std::this_thread::yield();
         noticed = true;
         return AgentResult::ok();
       }});
  engine.register_workflow(agent_step("w", "t"));
  std::string instance = engine.execute_workflow("w", R"({"x":1})");
  ASSERT_TRUE(begun.pass());
  engine.cancel_workflow(instance);
  EXPECT_EQ(engine.wait(instance, kLong).status, "canceled");
  EXPECT_TRUE(engine.unregister_agent("a"));  // waits for it
  EXPECT_TRUE(noticed);
}

TEST_F(EmbedTest, RefusesAgentsThatCannotWork) {
  Engine engine(in_memory());
  auto ok = [](const AgentTask&) { return AgentResult::ok(); };
  auto add = [&](Agent agent) { return refusal([&] { engine.register_agent(agent); }); };
  EXPECT_EQ(add({.agent_id = "a", .task_types = {"t"}, .execute = ok}), "");
  EXPECT_EQ(add({.agent_id = "a", .task_types = {"t"}, .execute = ok}),
            "there is an agent \"a\" already");
  EXPECT_NE(add({.agent_id = "b", .task_types = {}, .execute = ok}), "");
  EXPECT_NE(add({.agent_id = "c", .task_types = {"t"}, .execute = nullptr}), "");
  EXPECT_NE(add({.agent_id = "d", .task_types = {"t"}, .execute = ok, .concurrency = 0}), "");
}

}  // namespace
}  // namespace pawl::embed
