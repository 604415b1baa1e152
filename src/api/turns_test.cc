// Lists must not delay quick calls: only a few are in the engine at a time.
#include "api/turns.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "api/testing/api_world.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

constexpr int kClients = 30;

// Blocks the engine until go().
class Standstill {
 public:
  explicit Standstill(EngineLoop& engine) {
    auto go = go_.get_future();
    auto task = std::make_shared<TestTask>(
        [this, shared = go.share()](Frame&, bool, std::string&) -> std::optional<Parking> {
          stands_.set_value();
          shared.wait();
          return std::nullopt;
        });
    PAWL_CHECK(engine.submit(task).ok());
    stands_.get_future().wait();
  }
  void go() { go_.set_value(); }

 private:
  std::promise<void> stands_;
  std::promise<void> go_;
};

TEST(Turns, AQuickCallWaitsForFewListsOnly) {
  ApiWorld world;
  Standstill standstill(*world.engine);
  std::vector<std::unique_ptr<http::LoopbackClient>> readers;
  for (int i = 0; i < kClients; ++i) {
    readers.push_back(std::make_unique<http::LoopbackClient>(world.server->port()));
    readers.back()->send(http::get(i % 2 ? "/ojs/v1/jobs?limit=1000" : "/v1/runs?limit=1000"));
  }
  while (world.app->turns().waiting() < kClients - Turns::kAtOnce) std::this_thread::yield();
  http::LoopbackClient quick(world.server->port());
  quick.send(http::get("/v1/runs/none"));
  while (world.engine->stats().inputs_waiting <= Turns::kAtOnce) std::this_thread::yield();
  EXPECT_EQ(world.engine->stats().inputs_waiting, Turns::kAtOnce + 1);
  standstill.go();
  EXPECT_EQ(http::status_of(quick.read_response()), "404");
  for (auto& reader : readers) EXPECT_EQ(http::status_of(reader->read_response()), "200");
  EXPECT_EQ(world.app->turns().waiting(), 0U);
}

// Every turn must be returned, or lists would stop for ever.
TEST(Turns, AreGivenBack) {
  ApiWorld world;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/jobs")), "200");
    EXPECT_EQ(http::status_of(world.call("GET", "/ojs/v1/jobs?cursor=none")), "400");
  }
}

TEST(Turns, WhoWaitsWhenTheEngineStopsIsRefused) {
  ApiWorld world;
  Standstill standstill(*world.engine);
  std::vector<std::unique_ptr<http::LoopbackClient>> readers;
  for (int i = 0; i < kClients; ++i) {
    readers.push_back(std::make_unique<http::LoopbackClient>(world.server->port()));
    readers.back()->send(http::get("/ojs/v1/jobs"));
  }
  while (world.app->turns().waiting() < kClients - Turns::kAtOnce) std::this_thread::yield();
  std::thread stopping([&] { world.engine->stop(); });
  auto probe = [] {
    return std::make_shared<TestTask>(
        [](Frame&, bool, std::string&) -> std::optional<Parking> { return std::nullopt; });
  };
  while (world.engine->submit(probe()).ok()) std::this_thread::yield();
  standstill.go();
  stopping.join();
  int refused = 0;
  for (auto& reader : readers) {
    if (http::status_of(reader->read_response()) == "503") ++refused;
  }
  EXPECT_EQ(refused, kClients - static_cast<int>(Turns::kAtOnce));
}

}  // namespace
}  // namespace pawl::api
