// What clients and steps see when a disk fails and recovers.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "api/testing/api_world.h"
#include "effects/effect_dispatcher.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

struct FailingDisk {
  std::atomic<bool> fails = false;
  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();

  FailingDisk() {
    disk->fault = [this](uint64_t) { return fails ? CommitFault::FailBefore : CommitFault::Ok; };
  }
};

std::string status_of(const std::string& answer) { return answer.substr(9, 3); }

TEST(Outage, NewWorkIsRefusedReadsAreNotAndItEndsByItself) {
  FailingDisk failing;
  ApiWorld world(failing.disk);
  std::string job = push(world);
  failing.fails = true;
  const std::string body = R"({"type":"a.b","args":[]})";
  std::string refused = world.call("POST", "/ojs/v1/jobs", body);
  EXPECT_EQ(status_of(refused) + " " + text_of(refused, "code"), "503 store_failed");
  EXPECT_NE(refused.find("Retry-After: "), std::string::npos);
  EXPECT_EQ(text_of(world.body("GET", "/ojs/v1/jobs/" + job), "state"), "available");
  EXPECT_EQ(status_of(world.call("GET", "/v1/system")), "200");
  std::string health = world.call("GET", "/health");
  EXPECT_EQ(status_of(health) + " " + text_of(health, "status"), "503 unhealthy");
  EXPECT_EQ(text_of(health, "error"), "the memory disk failed; reopen the store");
  EXPECT_EQ(status_of(world.call("GET", "/ready")), "503");
  failing.fails = false;
  while (status_of(world.call("GET", "/health")) != "200") std::this_thread::yield();
  EXPECT_EQ(status_of(world.call("POST", "/ojs/v1/jobs", body)), "201");
}

// The action runs when the disk fails, and ends meanwhile. Its answer is kept, and the action does
// not run again when open effects are requested again.
TEST(Outage, AnActionAtWorkIsDoneOnce) {
  FailingDisk failing;
  std::atomic<int> begun = 0;
  std::latch let_go(1);
  auto runner = std::make_unique<actions::ActionRunner>(actions::ActionPolicy{}, 2);
  actions::ActionInfo info;
  info.name = "test.hold";
  ASSERT_TRUE(runner
                  ->add(info,
                        [&](const actions::ActionRequest&) {
                          ++begun;
                          let_go.wait();
                          actions::ActionOutcome outcome;
                          outcome.ok = true;
                          return outcome;
                        })
                  .ok());
  EffectDispatcher effects(*runner, nullptr, WorkRoot{});
  AppConfig config;
  config.action_names = {"test.hold"};
  {
    ApiWorld world(config, failing.disk, &effects);
    effects.attach(*world.engine);
    std::string started = world.body(
        "POST", "/v1/runs",
        R"({"id":"r","definition":{"name":"d","steps":[{"id":"a","action":"test.hold"}]}})");
    while (begun == 0) std::this_thread::yield();
    failing.fails = true;
    EXPECT_EQ(status_of(world.call("POST", "/ojs/v1/jobs", R"({"type":"a.b","args":[]})")), "503");
    let_go.count_down();
    EXPECT_EQ(text_of(world.body("GET", "/v1/runs/r"), "status"), "active") << started;
    failing.fails = false;
    while (text_of(world.body("GET", "/v1/runs/r"), "status") != "completed")
      std::this_thread::yield();
    EXPECT_EQ(begun, 1);
    effects.stop();
  }
  runner.reset();
}

}  // namespace
}  // namespace pawl::api
