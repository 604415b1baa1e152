// Effects are prepared alike for a server and a rehearsal.
#include "effects/prepare_effect.h"

#include <gtest/gtest.h>

#include "actions/computations.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/breakers.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

constexpr const char* kAsk =
    R"(steps: [{id: ask, action: http.get, params: {url: "http://x/", headers: {A: "${{ secrets.TOKEN }}"}}}])";

class PrepareEffectTest : public ::testing::Test {
 protected:
  std::optional<ReadyEffect> prepared(const std::string& step) {
    Meter meter(1'000'000);
    EffectNote note;
    note.run = world_.run_id();
    note.effect = world_.effect_of(step);
    return prepare_effect(world_.state(), note, secrets_, world_.now_ms, meter);
  }
  std::string key(const std::string& step) { return idempotency_key(prepared(step)->request); }
  std::string key_of(const std::string& rest) { return world_.run_id().text() + rest; }

  ScriptWorld world_;
  TestSecrets secrets_;
};

// A service that remembers keys must treat each attempt, and each retry of the run, as new.
TEST_F(PrepareEffectTest, TheKeyTellsAttemptsAndRoundsApart) {
  world_.begin(
      R"(steps: [{id: a, action: http.get, params: {url: "http://x/"}, retry: {max: 1, delay: 1s}}])");
  EXPECT_EQ(key("a"), key_of("/a/1"));
  EXPECT_EQ(key("a"), key_of("/a/1"));
  world_.fail("a");
  world_.wait(1'000);
  EXPECT_EQ(key("a"), key_of("/a/2"));
  EXPECT_EQ(world_.fail("a"), "failed EXECUTION_ERROR at a");
  world_.retry();
  EXPECT_EQ(key("a"), key_of("/a/1-1"));
}

TEST_F(PrepareEffectTest, SecretsGoToTheActionAndNotIntoTheReceipt) {
  world_.begin(kAsk);
  ReadyEffect effect = *prepared("ask");
  actions::ActionRequest request = action_request(effect.request, "/w");
  EXPECT_EQ(request.params.json(), R"({"url":"http://x/","headers":{"A":"hunter2"}})");
  EXPECT_EQ(request.name + " " + request.step_id + " " + request.work_directory, "http.get ask /w");
  EXPECT_EQ(request.idempotency_key, key_of("/ask/1"));
  StepOutcome done = receipt_of(effect, actions::ActionOutcome::success("got hunter2"));
  EXPECT_EQ(done.output + " " + done.breaker, R"("got ***" http.get x)");
  StepOutcome failed =
      receipt_of(effect, actions::ActionOutcome::failure("EXECUTION_ERROR", "no hunter2", true));
  EXPECT_EQ(failed.error.code + " " + failed.error.message, "EXECUTION_ERROR no ***");
  EXPECT_TRUE(failed.retryable);
}

TEST_F(PrepareEffectTest, AnOpenBreakerRefusesAndThenLetsOneProbeThrough) {
  for (uint32_t i = 0; i < kBreakerFailures; ++i) {
    world_.begin(kAsk);
    ReadyEffect effect = *prepared("ask");
    EXPECT_FALSE(effect.refusal || effect.probe);
    world_.answer(
        "ask", receipt_of(effect, actions::ActionOutcome::failure("EXECUTION_ERROR", "", false)));
  }
  world_.begin(kAsk);
  ReadyEffect refused = *prepared("ask");
  EXPECT_EQ(refused.refusal->error.code + " " + refused.refusal->error.message,
            "CIRCUIT_OPEN the circuit breaker of 'http.get x' is open after 5 failures");
  world_.advance(kBreakerOpenMs);
  ReadyEffect probe = *prepared("ask");
  EXPECT_TRUE(probe.probe && !probe.refusal);
  EXPECT_EQ(probe_refusal(probe).error.message,
            "the circuit breaker of 'http.get x' lets one attempt through at a time");
}

TEST_F(PrepareEffectTest, WhatCannotBeFilledInIsRefusedAndWhatNobodyWaitsForIsNothing) {
  world_.begin(
      R"(steps: [{id: a, action: http.get, params: {url: "http://x/", headers: {A: "${{ secrets.NONE }}"}}}])");
  ReadyEffect refused = *prepared("a");
  EXPECT_EQ(refused.refusal->error.code, "INTERPOLATION_ERROR");
  EXPECT_EQ(refused.request.run.text(), world_.run_id().text());
  Meter meter(1'000'000);
  EffectNote note{world_.run_id(), 99};
  EXPECT_FALSE(prepare_effect(world_.state(), note, secrets_, world_.now_ms, meter));
  note.cancel = true;
  EXPECT_TRUE(prepare_effect(world_.state(), note, secrets_, world_.now_ms, meter)->cancel);
}

// What needs nothing of the outside is done where it is decided: ten such steps are one commit.
TEST_F(PrepareEffectTest, PureStepsAreOneFrameAndNobodyIsAsked) {
  StateConfig config;
  config.scripts.computations = &actions::computations();
  ScriptWorld world(false, config);
  std::string text = "steps:\n";
  for (int i = 0; i < 10; ++i) {
    const std::string id = "s" + std::to_string(i);
    text += "- {id: " + id + ", action: crypto.hash, params: {data: x}";
    text += i == 0 ? "}\n" : ", depends_on: [s" + std::to_string(i - 1) + "]}\n";
  }
  world.frame([&](Frame& frame) -> std::string {
    StartScript command;
    command.source = plan::read_definition(text).canonical;
    auto started = start_script(frame, command);
    EXPECT_TRUE(started.ok());
    world.look_at(*started);
    return "";
  });
  EXPECT_EQ(world.how(), "completed");
  EXPECT_EQ(world.journal().size(), 1u);
  EXPECT_FALSE(world.state().has_effects());
}

}  // namespace
}  // namespace pawl
