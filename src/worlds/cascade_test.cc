// What one input brings about is bounded, however it multiplies.
#include <gtest/gtest.h>

#include "worlds/drain.h"
#include "worlds/testing/test_world.h"

namespace pawl::worlds {
namespace {

TEST(Cascade, EndsAtItsSteps) {
  TestWorld world;
  world.host.set("flow", [](std::string_view) {
    return StepSaid().state(log_state({})).event("t/Poke@1", cbor_text(R"({"id":"b"})")).call();
  });
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.records_of("step"), "1000");
  EXPECT_EQ(world.records_of("delivery_skipped"), "1");
  const auto frame = world.world().frame(2);
  EXPECT_EQ(journal_line(2, frame->records.back()),
            R"(delivery_skipped flow["b"] <2000 step.cascade_limit)");
  EXPECT_EQ(world.world().head().totals.steps, 1000u);
}

// Frames stay small enough to be written: states and records have a bound together.
TEST(Cascade, OfLargeStatesEndsAtItsBytes) {
  TestWorld world;
  const std::string large(900'000, 'x');
  world.host.set("flow", [&](std::string_view) {
    return StepSaid()
        .state(log_state({large}))
        .event("t/Poke@1", cbor_text(R"({"id":"b"})"))
        .call();
  });
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.records_of("step"), std::to_string(kFrameBytesMax / 900'000 + 1));
  EXPECT_EQ(world.records_of("delivery_skipped"), "1");
}

TEST(Cascade, EndsAtItsFuel) {
  TestWorld world;
  world.host.set("flow", [](std::string_view) {
    ModuleCall call =
        StepSaid().state(log_state({})).event("t/Poke@1", cbor_text(R"({"id":"b"})")).call();
    call.fuel = 50'000'000;
    return call;
  });
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.records_of("step"), std::to_string(kFrameCallsFuelMax + 1));
}

// What little calls use together is nothing to bound.
TEST(Cascade, OfCallsOfLittleFuelEndsAtItsSteps) {
  TestWorld world(
      WorldText().with(R"("air_version":"1")", R"("air_version":"1","limits":{"fuel":1000})"));
  world.host.set("flow", [](std::string_view) {
    ModuleCall call =
        StepSaid().state(log_state({})).event("t/Poke@1", cbor_text(R"({"id":"b"})")).call();
    call.fuel = 1000;
    return call;
  });
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.records_of("step"), "1000");
}

// Deliveries that wait are bounded as records are: each is one, if it is skipped.
TEST(Cascade, EndsAtTheDeliveriesThatWait) {
  const std::string_view once = R"({"event":"t/Note@1","module":"t/plain@1"})";
  std::string often(once);
  for (int i = 0; i < 1000; ++i) often.append(",").append(once);
  TestWorld world(WorldText().with(once, often));
  world.host.set("plain", [](std::string_view) {
    StepSaid said;
    said.state(log_state({}));
    for (int i = 0; i < 10; ++i) said.event("t/Note@1", cbor_text(R"({"text":"x"})"));
    return said.call();
  });
  world.post("t/Note@1", R"({"text":"x"})");
  EXPECT_LT(world.world().head().totals.steps, 100u);
  const auto frame = world.world().frame(2);
  size_t bytes = 0;
  for (const JournalRecord& record : frame->records) bytes += record.bytes.size();
  EXPECT_LT(bytes, 2 * kFrameBytesMax);
}

}  // namespace
}  // namespace pawl::worlds
