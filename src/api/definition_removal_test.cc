// Removing a definition on a server with two partitions: runs of both count.
#include <gtest/gtest.h>

#include <future>

#include "api/testing/two_apps.h"

namespace pawl::api {
namespace {

class DefinitionRemoval : public TwoApps {
 protected:
  DefinitionRemoval() {
    const std::string put = worlds[0]->call(
        "POST", "/v1/definitions",
        R"({"name":"d","version":"1.0.0","steps":[{"id":"w","type":"wait","config":{"duration":"1h"}}]})");
    EXPECT_EQ(status(put), "201") << put;
    wait_for_copies();
  }
  void wait_for_copies() {
    std::promise<Status> told;
    couriers[0]->when_all_taken(600'000, [&](Status taken) { told.set_value(taken); });
    ASSERT_TRUE(told.get_future().get().ok());
  }
  std::string start(size_t at) {
    return worlds[at]->call("POST", "/v1/runs", R"({"definition":"d"})");
  }
  std::string remove() { return worlds[0]->call("DELETE", "/v1/definitions/d"); }
};

TEST_F(DefinitionRemoval, ARunOfAnotherPartitionKeepsIt) {
  const std::string begun = start(1);
  ASSERT_EQ(status(begun), "201") << begun;
  const std::string refused = remove();
  EXPECT_EQ(status(refused), "409") << refused;
  EXPECT_NE(refused.find("with 1 running instances"), std::string::npos) << refused;
  wait_for_copies();
  EXPECT_EQ(status(start(1)), "201");  // it was reopened
}

TEST_F(DefinitionRemoval, WithoutRunsItIsGoneEverywhere) {
  const std::string removed = remove();
  EXPECT_EQ(status(removed), "200") << removed;
  wait_for_copies();
  for (size_t at : {0u, 1u}) EXPECT_EQ(status(start(at)), "404");
}

TEST_F(DefinitionRemoval, ByForceRunsAreNotAsked) {
  ASSERT_EQ(status(start(1)), "201");
  EXPECT_EQ(status(worlds[0]->call("DELETE", "/v1/definitions/d?force=true")), "200");
}

TEST_F(DefinitionRemoval, ASilentPartitionKeepsIt) {
  way.close(1);
  std::string answer;
  std::thread caller([&] { answer = remove(); });
  while (worlds[0]->engine->stats().parked == 0) worlds[0]->advance(1);
  EXPECT_EQ(status(start(0)), "409");
  worlds[0]->advance(10'000);
  caller.join();
  EXPECT_EQ(status(answer), "503");
  EXPECT_EQ(status(start(0)), "201");
}

}  // namespace
}  // namespace pawl::api
