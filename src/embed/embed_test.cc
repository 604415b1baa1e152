// The library from outside: registering, running, steering and showing instances.
#include <gtest/gtest.h>

#include <atomic>

#include "embed/testing/embed_fixture.h"

namespace pawl::embed {
namespace {

CapabilityResult done(const CapabilityCall&) { return CapabilityResult::ok("{\"n\":1}"); }

// --- configuration

TEST(EngineOptionsParse, TheKeysOfTheConfigurationFile) {
  EngineOptions options = EngineOptions::parse(R"(
workflow:
  max_concurrent: 3
  persistence: false
  state_backend: "db"
  data_dir: "/tmp/x"
  execution: {parallel_steps: false, step_timeout: 20}
  retry: {default_max_attempts: 5, default_backoff: 1.5, default_initial_delay: 0.25}
  monitoring: {track_metrics: false, log_executions: false}
)");
  EXPECT_EQ(options.max_concurrent, 3u);
  EXPECT_FALSE(options.persistence);
  EXPECT_EQ(options.state_backend, "db");
  EXPECT_EQ(options.data_dir, "/tmp/x");
  EXPECT_FALSE(options.execution.parallel_steps);
  EXPECT_EQ(options.execution.step_timeout, 20u);
  EXPECT_EQ(options.retry.default_max_attempts, 5u);
  EXPECT_EQ(options.retry.default_backoff, 1.5);
  EXPECT_EQ(options.retry.default_initial_delay, 0.25);
  EXPECT_FALSE(options.monitoring.track_metrics);
}

TEST(EngineOptionsParse, RefusesWhatItDoesNotKnow) {
  auto parse = [](const char* text) { return refusal([&] { EngineOptions::parse(text); }); };
  EXPECT_EQ(parse(R"({"max_concurent":1})"), "\"max_concurent\" is no key of the configuration");
  EXPECT_EQ(parse(R"({"retry":{"attempts":1}})"),
            "\"retry.attempts\" is no key of the configuration");
  EXPECT_EQ(parse(R"({"max_concurrent":-1})"),
            "max_concurrent must be a whole number that is not negative");
  EXPECT_EQ(parse(R"({"state_backend":"mongodb"})"),
            "state_backend must be json or sqlite, not \"mongodb\"");
  EXPECT_EQ(parse(R"({"retry":{"default_backoff":0.5}})"),
            "retry.default_backoff must be 1 to 1000");
  EXPECT_NE(parse("{"), "");
  EXPECT_NE(parse("[1]"), "");
}

// --- workflows

TEST(WorkflowValidate, SaysWhatIsWrong) {
  Workflow workflow{.workflow_id = "w"};
  workflow.steps = {{.step_id = "a", .parameters = R"({"capability_id":"c"})"},
                    {.step_id = "b", .parameters = R"({"capability_id":"c"})"}};
  EXPECT_EQ(workflow.validate(), std::make_pair(true, std::string()));
  workflow.steps[0].dependencies = {"zzz"};
  EXPECT_EQ(workflow.validate(),
            std::make_pair(false, std::string("Step 'a' has invalid dependency 'zzz'")));
  workflow.steps[0].dependencies = {"b"};
  workflow.steps[1].dependencies = {"a"};
  auto [valid, message] = workflow.validate();
  EXPECT_FALSE(valid);
  EXPECT_EQ(message.rfind("Workflow contains cycles", 0), 0u) << message;
  workflow.steps[0].parameters = "[1]";
  EXPECT_EQ(workflow.validate(),
            std::make_pair(false, std::string("Step 'a': parameters must be a JSON object")));
}

TEST_F(EmbedTest, RegistersRunsAndUnregisters) {
  Engine engine(in_memory());
  engine.register_capability("own.greet", "", [](const CapabilityCall& call) {
    return CapabilityResult::ok("{\"text\":\"hello " +
                                parsed(call.params).find("name")->as_string() + "\"}");
  });
  Workflow workflow{.workflow_id = "welcome", .name = "Welcome", .version = "1.0"};
  workflow.steps = {
      {.step_id = "greet",
       .parameters = R"({"capability_id":"own.greet","params":{"name":"${{inputs.name}}"}})"}};
  EXPECT_EQ(engine.register_workflow(workflow), "1.0");
  EXPECT_EQ(engine.list_workflows(), std::vector<std::string>{"welcome"});

  std::string instance = engine.execute_workflow("welcome", R"({"name":"Ada"})");
  WorkflowStatus status = engine.wait(instance, kLong);
  EXPECT_EQ(status.status, "completed");
  EXPECT_EQ(status.progress, 1.0);
  EXPECT_EQ(status.metadata.completed_steps, 1u);
  EXPECT_EQ(status.metadata.total_steps, 1u);
  EXPECT_FALSE(status.current_step.has_value());
  Value state = parsed(engine.get_workflow_instance(instance));
  EXPECT_EQ(state.find("step_results")->json(),
            R"({"greet":{"step_id":"greet","success":true,"result":{"text":"hello Ada"},)"
            R"("error":null}})");
  EXPECT_EQ(state.find("context")->json(), R"({"name":"Ada"})");

  EXPECT_TRUE(engine.unregister_workflow("welcome"));
  EXPECT_FALSE(engine.unregister_workflow("welcome"));
  EXPECT_EQ(refusal([&] { engine.execute_workflow("welcome"); }), "Workflow 'welcome' not found");
  EXPECT_EQ(engine.get_workflow_status(instance).status, "completed");
}

TEST_F(EmbedTest, AnotherTextUnderAVersionIsAnotherVersion) {
  Engine engine(in_memory());
  engine.register_capability("own.a", "", done);
  engine.register_capability("own.b", "", done);
  auto text = [](const char* capability) {
    return R"({"version":"1.0",)" + one_step("w", capability).substr(1);
  };
  EXPECT_EQ(engine.register_workflow(text("own.a")), "1.0");
  EXPECT_EQ(engine.register_workflow(text("own.a")), "1.0");
  EXPECT_EQ(engine.register_workflow(text("own.b")), "1.0+2");
  EXPECT_NE(engine.get_workflow("w").find("own.b"), std::string::npos);
  EXPECT_EQ(engine.register_workflow(text("own.a")), "1.0");  // and back
  EXPECT_NE(engine.get_workflow("w").find("own.a"), std::string::npos);
  EXPECT_EQ(engine.register_workflow(one_step("v", "own.a")), "v1");
  EXPECT_EQ(engine.register_workflow(one_step("v", "own.b")), "v2");
}

TEST_F(EmbedTest, RefusesInvalidWorkflows) {
  Engine engine(in_memory());
  auto put = [&](const std::string& text) {
    return refusal([&] { engine.register_workflow(text); });
  };
  EXPECT_EQ(put("steps: [{id: a, action: noop.x, depends_on: [b]}]")
                .rfind("Workflow validation failed: ", 0),
            0u);
  EXPECT_NE(put(one_step("w", "own.missing")).find("own.missing"), std::string::npos);
  EXPECT_NE(put(""), "");
  EXPECT_NE(put("{\"steps\":"), "");
  engine.register_capability("own.a", "", done);
  EXPECT_NE(put(one_step("", "own.a")).find("workflow_id is required"), std::string::npos);
  EXPECT_TRUE(engine.list_workflows().empty());
}

// Steps without timeout and attempts get the engine's defaults; others keep theirs.
TEST_F(EmbedTest, FillsInTheEnginesDefaults) {
  EngineOptions options = in_memory();
  options.execution.step_timeout = 77;
  options.retry = {.default_max_attempts = 4, .default_backoff = 3, .default_initial_delay = 0.5};
  Engine engine(options);
  engine.register_capability("own.a", "", done);
  engine.register_workflow(R"(
workflow_id: w
steps:
  - {step_id: a, step_type: capability, parameters: {capability_id: own.a}, on_failure: retry}
  - {step_id: b, step_type: capability, parameters: {capability_id: own.a}, timeout: 5}
  - {step_id: p, step_type: parallel, parameters: {branches: [[{id: c, action: own.a}]]}}
)");
  Value definition = parsed(engine.get_workflow("w"));
  const Value::Array& steps = definition.find("steps")->as_array();
  EXPECT_EQ(steps[0].find("timeout")->as_string(), "77s");
  EXPECT_EQ(steps[0].find("retry")->find("max")->json(), "3");
  EXPECT_EQ(steps[0].find("retry")->find("multiplier")->as_double(), 3.0);
  EXPECT_EQ(steps[0].find("retry")->find("delay")->as_string(), "500ms");
  EXPECT_EQ(steps[1].find("timeout")->as_string(), "5s");
  EXPECT_EQ(steps[2].find("timeout"), nullptr);
  EXPECT_NE(steps[2].json().find("77s"), std::string::npos);
}

// --- instances

TEST_F(EmbedTest, RefusesBadInstances) {
  Engine engine(in_memory());
  engine.register_capability("own.a", "", done);
  engine.register_workflow(one_step("w", "own.a"));
  auto run = [&](const std::string& context, const std::string& id) {
    return refusal([&] { engine.execute_workflow("w", context, {.instance_id = id}); });
  };
  EXPECT_EQ(run("[]", ""), "the context must be a JSON object");
  EXPECT_NE(run("{", ""), "");
  EXPECT_NE(run("{}", "../etc/passwd"), "");
  EXPECT_NE(run("{}", ".hidden"), "");
  EXPECT_EQ(run("{}", "workflow-0a1b2c3d"), "");
  EXPECT_NE(run("{}", "workflow-0a1b2c3d"), "");  // taken
  EXPECT_EQ(refusal([&] { engine.get_workflow_status("nobody"); }),
            "Workflow instance 'nobody' not found");
  EXPECT_THROW(engine.cancel_workflow("nobody"), WorkflowNotFoundError);
  EXPECT_THROW(engine.signal("nobody", "go"), WorkflowNotFoundError);
  EXPECT_THROW(engine.get_workflow_events("nobody"), WorkflowNotFoundError);
  EXPECT_THROW(engine.execute_workflow("nothing"), WorkflowNotFoundError);
  EXPECT_THROW(engine.resolve_decision("nothing", {.choice = "yes"}), WorkflowError);
  engine.wait("workflow-0a1b2c3d", kLong);
  EXPECT_EQ(refusal([&] { engine.cancel_workflow("workflow-0a1b2c3d"); }),
            "Cannot cancel workflow in status 'completed'");
  EXPECT_FALSE(engine.pause_workflow("workflow-0a1b2c3d"));
  EXPECT_FALSE(engine.resume_workflow("workflow-0a1b2c3d"));
}

TEST_F(EmbedTest, NoMoreThanMaxConcurrentRun) {
  EngineOptions options = in_memory();
  options.max_concurrent = 1;
  Engine engine(options);
  Gate gate;
  engine.register_capability("own.slow", "", [&](const CapabilityCall&) {
    return gate.pass() ? CapabilityResult::ok() : CapabilityResult::fail("shut");
  });
  engine.register_workflow(one_step("w", "own.slow"));
  std::string first = engine.execute_workflow("w");
  EXPECT_EQ(refusal([&] { engine.execute_workflow("w"); }),
            "Maximum concurrent workflow limit (1) reached");
  EXPECT_EQ(refusal([&] { engine.unregister_workflow("w"); }),
            "Cannot unregister workflow with 1 running instances");
  EXPECT_EQ(engine.get_workflow_status(first).current_step, "only");
  EXPECT_EQ(engine.wait(first, std::chrono::milliseconds(0)).status, "running");
  gate.open();
  EXPECT_EQ(engine.wait(first, kLong).status, "completed");
  EXPECT_EQ(engine.wait(engine.execute_workflow("w"), kLong).status, "completed");
}

TEST_F(EmbedTest, PausesAndResumes) {
  Engine engine(in_memory());
  Gate begun, gate;
  std::atomic<int> calls{0};
  engine.register_capability("own.a", "", [&](const CapabilityCall&) {
    begun.open();
    ++calls;
    return gate.pass() ? CapabilityResult::ok() : CapabilityResult::fail("shut");
  });
  engine.register_workflow(R"(
workflow_id: w
steps:
  - {step_id: a, step_type: capability, parameters: {capability_id: own.a}}
  - {step_id: b, step_type: capability, parameters: {capability_id: own.a}, dependencies: [a]}
)");
  std::string instance = engine.execute_workflow("w");
  ASSERT_TRUE(begun.pass());
  EXPECT_TRUE(engine.pause_workflow(instance));
  EXPECT_FALSE(engine.pause_workflow(instance));
  EXPECT_EQ(engine.get_workflow_status(instance).status, "paused");
  gate.open();
  // The running step ends, and no other starts.
  while (engine.get_workflow_status(instance).metadata.completed_steps == 0) {
  }
  EXPECT_EQ(calls, 1);
  WorkflowStatus status = engine.wait(instance, kLong, Engine::Until::Idle);
  EXPECT_EQ(status.status, "paused");
  EXPECT_EQ(status.progress, 0.5);
  EXPECT_TRUE(engine.resume_workflow(instance));
  EXPECT_FALSE(engine.resume_workflow(instance));
  EXPECT_EQ(engine.wait(instance, kLong).status, "completed");
  EXPECT_EQ(calls, 2);
}

TEST_F(EmbedTest, CancelsAndTellsIt) {
  Engine engine(in_memory());
  engine.register_workflow("workflow_id: w\nsteps: [{id: s, type: wait, config: {signal: go}}]");
  std::string instance = engine.execute_workflow("w");
  EXPECT_EQ(engine.wait(instance, kLong, Engine::Until::Idle).status, "paused");
  engine.cancel_workflow(instance, "changed my mind");
  WorkflowStatus status = engine.wait(instance, kLong);
  EXPECT_EQ(status.status, "canceled");
  EXPECT_EQ(status.error, "changed my mind");
}

TEST_F(EmbedTest, SignalsReachTheWaitAndDecisionsAreAnswered) {
  Engine engine(in_memory());
  engine.register_workflow(R"(
workflow_id: w
steps:
  - {id: s, type: wait, config: {signal: go}}
  - {id: ask, type: decision, depends_on: [s],
     config: {prompt: "Shall we?", options: [{id: "yes"}, {id: "no"}]}}
)");
  std::string instance = engine.execute_workflow("w", "{}", {.instance_id = "mine"});
  EXPECT_EQ(engine.pending_decisions(), "[]");
  EXPECT_NE(refusal([&] { engine.signal(instance, "go", "{"); }), "");
  engine.signal(instance, "go", R"({"speed":9})");
  engine.wait(instance, kLong, Engine::Until::Idle);
  Value pending = parsed(engine.pending_decisions(instance));
  ASSERT_EQ(pending.as_array().size(), 1u);
  const Value& question = pending.as_array()[0];
  EXPECT_EQ(question.find("instance_id")->as_string(), "mine");
  EXPECT_EQ(question.find("step_id")->as_string(), "ask");
  std::string id = question.find("id")->as_string();
  EXPECT_NE(refusal([&] { engine.resolve_decision(id, {.choice = "maybe"}); }), "");
  engine.resolve_decision(id, {.choice = "yes", .resolved_by = "Ada"});
  EXPECT_EQ(engine.wait(instance, kLong).status, "completed");
  EXPECT_EQ(engine.pending_decisions(), "[]");
  EXPECT_NE(engine.describe(instance).find("\"speed\":9"), std::string::npos);
}

TEST_F(EmbedTest, HistoryIsNewestFirstAndPaged) {
  Engine engine(in_memory());
  engine.register_capability("own.a", "", done);
  engine.register_workflow(one_step("w", "own.a"));
  engine.register_workflow(one_step("other", "own.a"));
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(engine.execute_workflow(
        "w", "{}", i == 1 ? ExecuteOptions{.instance_id = "a-name"} : ExecuteOptions{}));
    engine.wait(ids.back(), kLong);
  }
  engine.wait(engine.execute_workflow("other"), kLong);
  auto page = [&](size_t limit, const std::string& before) {
    std::vector<std::string> found;
    Value history = parsed(engine.get_workflow_history("w", limit, before));
    for (const Value& each : history.as_array())
      found.push_back(each.find("instance_id")->as_string());
    return found;
  };
  EXPECT_EQ(page(2, ""), (std::vector<std::string>{ids[2], ids[1]}));
  EXPECT_EQ(page(2, ids[1]), (std::vector<std::string>{ids[0]}));
  EXPECT_TRUE(parsed(engine.get_workflow_history("nothing")).as_array().empty());
}

// --- events

TEST_F(EmbedTest, ListenersAndTheEventListTellTheSame) {
  Engine engine(in_memory());
  engine.register_capability("own.a", "", done);
  engine.register_workflow(one_step("w", "own.a"));
  std::mutex mutex;
  std::vector<std::string> heard;
  Gate over;
  engine.add_listener([](const WorkflowEvent&) { throw std::runtime_error("a bad listener"); });
  uint64_t listener = engine.add_listener([&](const WorkflowEvent& event) {
    std::lock_guard lock(mutex);
    heard.push_back(event.instance_id + " " + event.type + " " + event.step_id);
    if (event.type == "workflow_completed") over.open();
  });
  engine.execute_workflow("w", "{}", {.instance_id = "one"});
  ASSERT_TRUE(over.pass());
  engine.remove_listener(listener);
  std::vector<WorkflowEvent> listed = engine.get_workflow_events("one");
  std::vector<std::string> told;
  for (const WorkflowEvent& event : listed)
    told.push_back(event.instance_id + " " + event.type + " " + event.step_id);
  EXPECT_EQ(told, heard);
  EXPECT_EQ(told.front(), "one workflow_started ");
  EXPECT_EQ(told.back(), "one workflow_completed ");
  std::vector<WorkflowEvent> rest = engine.get_workflow_events("one", listed[0].sequence, 1);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].sequence, listed[1].sequence);
  EXPECT_EQ(parsed(engine.metrics()).find("workflows")->json(),
            R"({"started":1,"completed":1,"failed":0,"canceled":0})");
}

TEST_F(EmbedTest, LogsWhatItDoes) {
  EngineOptions options = in_memory();
  options.monitoring.log_executions = true;
  std::vector<std::string> lines;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  {
    Engine engine(options);
    engine.register_capability("own.a", "", done);
    engine.register_workflow(R"({"name":"My flow",)" + one_step("w", "own.a").substr(1));
  }
  EXPECT_EQ(lines, std::vector<std::string>{"Registered workflow: My flow (w)"});
}

}  // namespace
}  // namespace pawl::embed
