#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

const std::string kWorker = "/ojs/v1/admin/workers/w1";

std::string fetch(ApiWorld& world) {
  return world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"],"worker_id":"w1"})");
}
std::string state_of(ApiWorld& world, const std::string& job) {
  return text_of(world.body("GET", "/ojs/v1/jobs/" + job), "state");
}

// After deregistering a worker that has gone, its jobs need not wait for their leases to expire.
TEST(Deregistration, WhatAWorkerHeldThatHasGoneWaitsAgain) {
  ApiWorld world;
  std::string job = push(world);
  fetch(world);
  EXPECT_EQ(http::status_of(world.call("DELETE", kWorker)), "409") << "it may be at work";
  EXPECT_EQ(state_of(world, job), "active");
  world.advance(61'000);
  EXPECT_NE(world.body("DELETE", kWorker).find(R"("jobs_requeued":1)"), std::string::npos);
  EXPECT_EQ(state_of(world, job), "available");
  EXPECT_EQ(http::status_of(world.call("GET", kWorker)), "404");
  EXPECT_NE(fetch(world).find(job), std::string::npos) << "it may come back";
}

// A maintenance that was on before a restart is on after it.
TEST(Maintenance, IsReadBackWhenTheServerStarts) {
  auto disk = std::make_shared<MemoryDisk>();
  {
    ApiWorld world(disk);
    push(world);
    world.call("POST", "/ojs/v1/admin/system/maintenance", R"({"enabled":true})");
    EXPECT_EQ(fetch(world), R"({"jobs":[]})");
  }
  ApiWorld world(disk);
  world.app->load();
  EXPECT_EQ(fetch(world), R"({"jobs":[]})");
  world.call("POST", "/ojs/v1/admin/system/maintenance", R"({"enabled":false})");
  EXPECT_NE(fetch(world), R"({"jobs":[]})");
}

}  // namespace
}  // namespace pawl::api
