#include "worlds/retention.h"

#include <gtest/gtest.h>

#include "worlds/testing/test_world.h"

namespace pawl::worlds {
namespace {

constexpr int64_t kMsPerCommand = 1000;

void complete(TestWorld& world, std::string_view id) {
  world.host.set("flow", [](std::string_view) { return StepSaid().call(); });
  world.post("t/Start@1", R"({"id":")" + std::string(id) + R"(","n":1})");
}

TEST(Retention, RemovesKeyedInstancesThatEndedWithoutState) {
  TestWorld world;
  complete(world, "a");
  complete(world, "b");
  const int64_t after_b = world.now_ns / 1'000'000 + 1;
  complete(world, "c");
  EXPECT_EQ(world.forget(after_b - kMsPerCommand), R"(instance flow["a"] forgotten dropped=0)");
  ASSERT_EQ(world.changed.size(), 1u);
  EXPECT_FALSE(world.changed.begin()->second.after);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "none");
  EXPECT_EQ(world.forget(after_b), R"(instance flow["b"] forgotten dropped=0)");
  EXPECT_EQ(world.forget(after_b), "nothing");
  EXPECT_EQ(world.instance(kFlow, R"("c")"), "completed without state");
  EXPECT_EQ(world.world().head().totals.instances, 1u);
  EXPECT_EQ(world.world().head().totals.completed, 1u);
  // A later event makes a new one.
  world.host.set("flow", saying_at_first([](StepSaid&) {}));
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "running Start");
}

TEST(Retention, KeepsWhatSomebodyMayStillAskFor) {
  TestWorld world;
  world.post("t/Start@1", kStartA);  // running
  world.host.set("flow", [](std::string_view) {
    return StepSaid().state(log_state({})).status("completed").call();
  });
  world.post("t/Start@1", R"({"id":"state","n":1})");
  world.host.set("flow",
                 saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(1), "work"); }));
  world.post("t/Start@1", R"({"id":"waits","n":1})");
  const std::string intent = world.opened.at(0);
  world.host.set("plain", [](std::string_view) { return StepSaid().call(); });
  world.host.set("deaf", [](std::string_view) { return StepSaid().call(); });
  world.post("t/Note@1", R"({"text":"unkeyed"})");
  world.host.set("flow", [](std::string_view) { return ModuleCall{.end = CallEnd::Trap}; });
  world.post("t/Poke@1", R"({"id":"waits"})");
  const int64_t later = world.now_ns / 1'000'000 + 3'600'000;
  EXPECT_EQ(world.forget(later), "nothing");
  // The state of a failed one is kept too; one without state goes when its last intent has settled.
  world.host.set("flow", [](std::string_view input) {
    if (StepSeen(input).arm == "Poke") return ModuleCall{.end = CallEnd::Trap};
    return StepSaid().effect("work.do", work_params(1), "work").call();
  });
  world.post("t/Start@1", R"({"id":"bare","n":1})");
  const std::string bare = world.opened.at(0);
  world.post("t/Poke@1", R"({"id":"bare"})");
  EXPECT_EQ(world.instance(kFlow, R"("bare")"), "failed step.trap without state");
  EXPECT_EQ(world.forget(later), "nothing");
  world.receipt(bare, "ok", R"({"text":"done"})");
  EXPECT_EQ(world.forget(later),
            R"(instance flow["bare"] forgotten dropped=0 | instance  forgotten dropped=1)");
  EXPECT_FALSE(world.world().intent(bare));
  EXPECT_TRUE(world.world().intent(intent));
}

TEST(Retention, AnInstanceThatIsSteppedAgainIsNoLongerOld) {
  TestWorld world;
  complete(world, "a");
  const int64_t first_end = world.now_ns / 1'000'000 + 1;
  complete(world, "a");
  EXPECT_EQ(world.forget(first_end), "nothing");
  EXPECT_EQ(world.forget(first_end + kMsPerCommand), R"(instance flow["a"] forgotten dropped=0)");
}

// Their receipts are unknown then, as of an intent that never was.
TEST(Retention, RemovesSettledIntentsInTheOrderOfTheirEmission) {
  TestWorld world;
  std::vector<std::string> intents;
  for (int i = 0; i < 3; ++i) {
    world.system_effect("work.do", R"({"n":1})", "cap_work");
    intents.push_back(world.opened.at(0));
  }
  const std::string_view done = R"({"text":"done"})";
  world.receipt(intents[1], "ok", done);
  const int64_t after_second = world.now_ns / 1'000'000 + 1;
  world.receipt(intents[0], "ok", done);
  // The first was settled last, and is in front of the second.
  EXPECT_EQ(world.forget(after_second), "nothing");
  EXPECT_EQ(world.forget(after_second + kMsPerCommand), "instance  forgotten dropped=2");
  EXPECT_EQ(world.receipt(intents[0], "ok", done), "refused receipt.unknown_intent");
  EXPECT_EQ(world.receipt(intents[2], "ok", done), "effect_receipt ok hand");
}

TEST(Retention, TakesNoMoreThanItIsTold) {
  TestWorld world;
  for (const std::string_view id : {"a", "b", "c"}) complete(world, id);
  world.system_effect("work.do", R"({"n":1})", "cap_work");
  world.receipt(world.opened.at(0), "ok", R"({"text":"done"})");
  const int64_t later = world.now_ns / 1'000'000 + 3'600'000;
  EXPECT_EQ(world.forget(later, 2),
            R"(instance flow["a"] forgotten dropped=0 | instance flow["b"] forgotten dropped=0)");
  EXPECT_EQ(world.forget(later, 2),
            R"(instance flow["c"] forgotten dropped=0 | instance  forgotten dropped=1)");
  EXPECT_EQ(world.forget(later, 2), "nothing");
  EXPECT_EQ(world.forget(later, 0), "nothing");
}

// A replay is told by the records what went.
TEST(Retention, IsRepeatedFromWhatItsRecordsSay) {
  auto play = [](bool from_records) {
    TestWorld world;
    complete(world, "a");
    world.system_effect("work.do", R"({"n":1})", "cap_work");
    world.receipt(world.opened.at(0), "ok", R"({"text":"done"})");
    world.run([&](Deciding& deciding) {
      if (from_records) {
        forget(deciding, {.instances = {{std::string(kFlow), cbor_text(kKeyA)}}, .settled = 1});
      } else {
        EXPECT_EQ(forget_old(deciding, INT64_MAX, 10), 2u);
      }
      return ok_status();
    });
    return world.items();
  };
  EXPECT_EQ(play(true), play(false));
}

}  // namespace
}  // namespace pawl::worlds
