// Compiling a client's text must delay neither an I/O thread nor another client.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "api/testing/api_world.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

constexpr const char* kDefinition = R"({"name":"d","steps":[{"id":"a","action":"workflow.log",)"
                                    R"("params":{"message":"m"},"condition":"1 < 2"}]})";

// Blocks both threads of the pool until go().
class BusyPool {
 public:
  explicit BusyPool(WorkPool& pool) {
    auto go = go_.get_future().share();
    for (const char* lane : {"one", "two"}) {
      std::promise<void> entered;
      std::function<void()> work = [&entered, go] {
        entered.set_value();
        go.wait();
      };
      PAWL_CHECK(pool.run(work, lane).ok());
      entered.get_future().wait();
    }
  }
  void go() { go_.set_value(); }

 private:
  std::promise<void> go_;
};

std::string post(const std::string& path, const std::string& body,
                 const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

void wait_for(WorkPool& pool, size_t waiting) {
  while (pool.waiting() < waiting) std::this_thread::yield();
}

TEST(Checks, WhatCompilesWaitsForThePoolAndNothingElseDoes) {
  ApiWorld world;
  ASSERT_EQ(http::status_of(world.call("POST", "/v1/definitions", kDefinition)), "201");
  const std::string run = text_of(world.body("POST", "/v1/runs", R"({"definition":"d"})"), "id");
  BusyPool busy(world.app->checks());
  const std::pair<std::string, std::string> calls[] = {
      {"/v1/definitions/validate", kDefinition},
      {"/v1/definitions", kDefinition},
      {"/v1/runs", std::string(R"({"definition":)") + kDefinition + "}"},
      {"/v1/runs", std::string(R"({"d\u0065finition":)") + kDefinition + "}"},
      {"/v1/runs/" + run + "/extend",
       R"({"steps":[{"id":"b","action":"workflow.log","params":{"message":"m"}}]})"},
      {"/ojs/v1/workflows", R"({"type":"chain","steps":[{"type":"a","args":[]},)"
                            R"({"type":"b","args":[],"when":"1 < 2"}]})"},
  };
  std::vector<std::unique_ptr<http::LoopbackClient>> clients;
  for (const auto& [path, body] : calls) {
    clients.push_back(std::make_unique<http::LoopbackClient>(world.server->port()));
    clients.back()->send(post(path, body));
    wait_for(world.app->checks(), clients.size());
  }
  // Meanwhile all other clients are served.
  EXPECT_EQ(http::status_of(world.call("GET", "/health")), "200");
  EXPECT_FALSE(push(world).empty());
  EXPECT_EQ(http::status_of(world.call("POST", "/v1/runs", R"({"definition":"d"})")), "201");
  EXPECT_EQ(world.app->checks().waiting(), clients.size());
  busy.go();
  std::string story;
  for (auto& client : clients) story += http::status_of(client->read_response()) + " ";
  EXPECT_EQ(story, "200 201 201 201 409 201 ");  // the run to be extended has ended
}

// Drawing may take as long as compiling.
TEST(Checks, DiagramsAreDrawnOnThePoolToo) {
  ApiWorld world;
  ASSERT_EQ(http::status_of(world.call("POST", "/v1/definitions", kDefinition)), "201");
  const std::string run = text_of(world.body("POST", "/v1/runs", R"({"definition":"d"})"), "id");
  BusyPool busy(world.app->checks());
  std::vector<std::unique_ptr<http::LoopbackClient>> clients;
  for (const std::string& path : {std::string("/v1/definitions/d"), "/v1/runs/" + run}) {
    clients.push_back(std::make_unique<http::LoopbackClient>(world.server->port()));
    clients.back()->send("GET " + path + "/diagram?format=svg HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(world.app->checks(), clients.size());
  }
  EXPECT_FALSE(push(world).empty());
  busy.go();
  for (auto& client : clients) EXPECT_EQ(http::status_of(client->read_response()), "200");
}

TEST(Checks, TheLineIsBoundedByClient) {
  ApiWorld world;
  world.app->keys().add_fixed("key-of-a");
  world.app->keys().add_fixed("key-of-b");
  const std::string a = "Authorization: Bearer key-of-a\r\n",
                    b = "Authorization: Bearer key-of-b\r\n";
  BusyPool busy(world.app->checks());
  std::vector<std::unique_ptr<http::LoopbackClient>> flood;
  for (size_t i = 1; i <= 32; ++i) {
    flood.push_back(std::make_unique<http::LoopbackClient>(world.server->port()));
    flood.back()->send(post("/v1/definitions/validate", kDefinition, a));
    wait_for(world.app->checks(), i);
  }
  const std::string refused = world.call("POST", "/v1/definitions/validate", kDefinition, a);
  EXPECT_EQ(http::status_of(refused), "429");
  EXPECT_NE(refused.find("Retry-After: "), std::string::npos);
  http::LoopbackClient other(world.server->port());
  other.send(post("/v1/definitions/validate", kDefinition, b));
  wait_for(world.app->checks(), 33);
  busy.go();
  EXPECT_EQ(http::status_of(other.read_response()), "200");
  for (auto& client : flood) EXPECT_EQ(http::status_of(client->read_response()), "200");
}

// Millions of small values take long to parse: not on the I/O thread.
TEST(Checks, LargeBodiesAreHandledOnAPoolOfTheirOwn) {
  ApiWorld world;
  BusyPool busy(world.app->large_calls());
  http::LoopbackClient client(world.server->port());
  std::string ones = "[1";
  while (ones.size() <= ServerParts::kHandledHereBytesMax) ones += ",1";
  client.send(post("/ojs/v1/jobs", R"({"type":"t","args":)" + ones + "]}"));
  wait_for(world.app->large_calls(), 1);
  EXPECT_EQ(http::status_of(world.call("GET", "/health")), "200");
  EXPECT_FALSE(push(world).empty());
  busy.go();
  EXPECT_EQ(http::status_of(client.read_response()), "201");
}

// Thousands of patterns are refused when the compile budget is spent, with the place.
TEST(Checks, ADefinitionIsRefusedByWhatItCostsToCompile) {
  ApiWorld world;
  std::string definition = R"({"name":"d","steps":[)";
  for (int i = 0; i < 600; ++i) {
    definition += i > 0 ? "," : "";
    definition += R"({"id":"s)" + std::to_string(i);
    definition += R"(","action":"workflow.log","params":{"message":"m"},"condition":)";
    definition += R"("inputs.a.matches('[^x]{6)" + std::to_string(10 + i % 90) + R"x(}')"})x";
  }
  definition += "]}";
  const std::string answer = world.body("POST", "/v1/definitions/validate", definition);
  EXPECT_NE(answer.find(R"("valid":false)"), std::string::npos) << answer;
  EXPECT_NE(answer.find(R"("code":"too_large")"), std::string::npos) << answer;
  EXPECT_NE(answer.find(R"("path":"steps[)"), std::string::npos) << answer;
  EXPECT_EQ(http::status_of(world.call("POST", "/v1/definitions", definition)), "422");
}

}  // namespace
}  // namespace pawl::api
