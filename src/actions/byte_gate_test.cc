#include "actions/byte_gate.h"

#include <gtest/gtest.h>

#include <thread>

#include "actions/action.h"

namespace pawl::actions {
namespace {

TEST(ByteGate, OpensWhenWhatIsHeldGoes) {
  auto gate = std::make_shared<ByteGate>(100);
  ByteGate::Held small = ByteGate::hold(gate, 60);
  EXPECT_TRUE(gate->open());
  ByteGate::Held large = ByteGate::hold(gate, 1'000);
  EXPECT_FALSE(gate->open());
  small = nullptr;
  EXPECT_FALSE(gate->open());
  std::thread waiting([&] { gate->wait_until_open(); });
  large = nullptr;
  waiting.join();
  EXPECT_TRUE(gate->open());
}

TEST(ByteGate, IsOpenForGoodOnceItIsStopped) {
  auto gate = std::make_shared<ByteGate>(1);
  ByteGate::Held held = ByteGate::hold(gate, 5);
  std::thread waiting([&] { gate->wait_until_open(); });
  gate->stop();
  waiting.join();
  EXPECT_TRUE(gate->open());
}

// A runner whose answers wait begins nothing on its threads; afterwards it begins the waiting
// actions.
TEST(ByteGate, ActionsWaitForIt) {
  ActionRunner runner(ActionPolicy{}, 2);
  std::atomic<int> begun{0};
  ActionInfo info;
  info.name = "own.count";
  ASSERT_TRUE(runner
                  .add(info,
                       [&](const ActionRequest&) {
                         ++begun;
                         return ActionOutcome{};
                       })
                  .ok());
  ByteGate::Held held = ByteGate::hold(runner.gate(), ActionRunner::kAnswerBytesMax);
  std::atomic<int> answered{0};
  std::atomic<bool> all{false};
  auto start = [&] {
    ActionRequest request;
    request.name = "own.count";
    runner.start(std::move(request), [&](ActionOutcome) {
      if (++answered == 3) all = true, all.notify_all();
    });
  };
  for (int i = 0; i < 3; ++i) start();
  EXPECT_EQ(begun, 0);
  held = nullptr;
  all.wait(false);
  EXPECT_EQ(begun, 3);
}

}  // namespace
}  // namespace pawl::actions
