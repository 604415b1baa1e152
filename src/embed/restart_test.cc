// Restarts: instances continue where they were, and files show their state.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "embed/definition_text.h"
#include "embed/testing/embed_fixture.h"

namespace pawl::embed {
namespace {

const char* const kTwoSteps = R"(
workflow_id: w
steps:
  - {step_id: a, step_type: capability, parameters: {capability_id: own.a}}
  - {step_id: s, type: wait, config: {signal: go}, dependencies: [a]}
  - {step_id: b, step_type: capability, parameters: {capability_id: own.b}, dependencies: [s]}
)";

void add_capabilities(Engine& engine, std::atomic<int>& a, std::atomic<int>& b) {
  engine.register_capability("own.a", "", [&](const CapabilityCall&) {
    ++a;
    return CapabilityResult::ok("\"first\"");
  });
  engine.register_capability("own.b", "", [&](const CapabilityCall&) {
    ++b;
    return CapabilityResult::ok("\"second\"");
  });
}

TEST_F(EmbedTest, AnInstanceGoesOnInTheNextEngine) {
  std::atomic<int> a{0}, b{0};
  {
    Engine engine(durable());
    add_capabilities(engine, a, b);
    engine.register_workflow(kTwoSteps);
    engine.execute_workflow("w", R"({"k":1})", {.instance_id = "long-lived"});
    EXPECT_EQ(engine.wait("long-lived", kLong, Engine::Until::Idle).status, "paused");
    // Another engine cannot have the same data.
    Engine second(durable());
    EXPECT_NE(refusal([&] { second.start(); }), "");
  }
  EXPECT_EQ(parsed(file_of("long-lived")).find("status")->as_string(), "paused");
  Engine engine(durable());
  add_capabilities(engine, a, b);
  engine.start();
  EXPECT_EQ(engine.list_workflows(), std::vector<std::string>{"w"});
  engine.signal("long-lived", "go");
  EXPECT_EQ(engine.wait("long-lived", kLong).status, "completed");
  EXPECT_EQ(a, 1);  // not again
  EXPECT_EQ(b, 1);
  EXPECT_EQ(engine.get_workflow_events("long-lived").front().type, "workflow_started");
}

// A process dies inside a capability: the next one calls it again, under the same key.
TEST_F(EmbedTest, WorkThatACrashCutOffIsDoneAgain) {
  std::string key_file = directory_ + "/key";
  pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    Engine engine(durable());
    engine.register_capability("own.deadly", "", [&](const CapabilityCall& call) {
      std::ofstream(key_file) << call.idempotency_key << std::flush;
      ::_exit(0);
      return CapabilityResult::ok();
    });
    engine.register_workflow(one_step("w", "own.deadly"));
    engine.execute_workflow("w", "{}", {.instance_id = "cut"});
    engine.wait("cut", kLong);
    ::_exit(1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  std::string first_key, second_key;
  std::getline(std::ifstream(key_file) >> std::ws, first_key);
  ASSERT_NE(first_key, "");
  Engine engine(durable());
  engine.register_capability("own.deadly", "", [&](const CapabilityCall& call) {
    second_key = call.idempotency_key;
    return CapabilityResult::ok("2");
  });
  EXPECT_EQ(engine.wait("cut", kLong).status, "completed");
  EXPECT_EQ(second_key, first_key);
}

TEST_F(EmbedTest, AnAgentsTaskIsDoneByTheNextEngine) {
  const char* definition = R"({"workflow_id":"w","steps":[{"step_id":"t","step_type":"agent",
    "parameters":{"task_type":"t","params":{}}}]})";
  auto ok = [](const AgentTask&) { return AgentResult::ok("3"); };
  {
    Engine engine(durable());
    // It cannot do this type, so the task is held, and returned at the end.
    engine.register_agent({.agent_id = "other", .task_types = {"other"}, .execute = ok});
    engine.register_workflow(definition);
    engine.execute_workflow("w", "{}", {.instance_id = "handed-on"});
  }
  Engine engine(durable());
  engine.register_agent({.agent_id = "a", .task_types = {"t"}, .execute = ok});
  EXPECT_EQ(engine.wait("handed-on", kLong).status, "completed");
}

TEST_F(EmbedTest, TheFileHasTheStateAndNothingElse) {
  std::string id;
  {
    Engine engine(durable());
    engine.register_capability("own.a", "",
                               [](const CapabilityCall&) { return CapabilityResult::ok("[1]"); });
    engine.register_workflow(R"(
workflow_id: w
steps:
  - {step_id: a, step_type: capability, parameters: {capability_id: own.a}}
  - {step_id: never, step_type: capability, parameters: {capability_id: own.a}, condition: "1 == 2"}
)");
    id = engine.execute_workflow("w", R"({"k":[true,null]})");
    engine.wait(id, kLong);
  }
  std::string text = file_of(id);
  Value state = parsed(text);
  std::vector<std::string> keys;
  for (const Value::Member& member : state.as_object()) keys.push_back(member.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"instance_id", "workflow_id", "status", "started_at",
                                            "completed_at", "result", "context", "step_results"}));
  EXPECT_EQ(state.find("instance_id")->as_string(), id);
  EXPECT_EQ(state.find("workflow_id")->as_string(), "w");
  EXPECT_EQ(state.find("status")->as_string(), "completed");
  EXPECT_EQ(state.find("context")->json(), R"({"k":[true,null]})");
  EXPECT_EQ(state.find("started_at")->as_string().substr(23), "+00:00");
  EXPECT_EQ(state.find("completed_at")->as_string().size(), 29u);
  EXPECT_EQ(state.find("step_results")->json(),
            R"({"a":{"step_id":"a","success":true,"result":[1],"error":null},)"
            R"("never":{"step_id":"never","success":true,"result":"skipped","error":null}})");
  EXPECT_EQ(text.substr(0, 20), "{\n  \"instance_id\": \"");
  // It contains the instance's inputs: not readable by other users, like the log beside it.
  EXPECT_EQ(std::filesystem::status(directory_ + "/data/" + id + ".json").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/data"))
    EXPECT_NE(entry.path().extension(), ".tmp");
}

// Missing files, and files that a crash prevented, are written by the next engine.
TEST_F(EmbedTest, FilesAreCaughtUp) {
  {
    Engine engine(durable());
    engine.register_capability("own.a", "",
                               [](const CapabilityCall&) { return CapabilityResult::ok(); });
    engine.register_workflow(one_step("w", "own.a"));
    engine.execute_workflow("w", "{}", {.instance_id = "seen"});
    engine.wait("seen", kLong);
  }
  ASSERT_NE(file_of("seen"), "");
  std::filesystem::remove(directory_ + "/data/seen.json");
  std::filesystem::remove(directory_ + "/data/.exported");
  {
    Engine engine(durable());
    engine.start();
  }
  EXPECT_EQ(parsed(file_of("seen")).find("status")->as_string(), "completed");
}

TEST_F(EmbedTest, OtherBackendsWriteNoFiles) {
  EngineOptions options = durable();
  options.state_backend = "sqlite";
  {
    Engine engine(options);
    engine.register_capability("own.a", "",
                               [](const CapabilityCall&) { return CapabilityResult::ok(); });
    engine.register_workflow(one_step("w", "own.a"));
    engine.execute_workflow("w", "{}", {.instance_id = "unseen"});
    engine.wait("unseen", kLong);
  }
  EXPECT_EQ(file_of("unseen"), "");
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/data/pawl.db"));
}

TEST(FillDefaults, LeavesParametersAlone) {
  Value definition =
      parsed(R"({"steps":[{"id":"a","action":"x","params":{"steps":[{"id":"b","action":"y"}]}}]})");
  EngineOptions options;
  fill_defaults(definition, options);
  EXPECT_EQ(definition.json(),
            R"({"steps":[{"id":"a","action":"x","params":{"steps":[{"id":"b","action":"y"}]},)"
            R"("timeout":300}]})");
}

}  // namespace
}  // namespace pawl::embed
