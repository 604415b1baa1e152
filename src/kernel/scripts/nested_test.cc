// A child run that waits for people: its parent runs are suspended too.
#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/scripts/admission.h"
#include "kernel/state_config.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

class NestedRuns : public ScriptStory {
 protected:
  // The child run of a step of the current run.
  RunId child_of(const std::string& step) {
    return RunId(child_id(world.run(), world.effect_of(step)));
  }
  std::string how(const RunId& run) {
    world.look_at(run);
    return world.how();
  }
};
PAWL_TELL_TWICE(NestedRuns);

constexpr const char* kAsks =
    "steps: [{id: w, type: wait, config: {signal: go}}, {id: a, action: x, depends_on: [w]}]";
constexpr const char* kCalls = "steps: [{id: c, type: subworkflow, config: {definition: asks}}]";

TEST_P(NestedRuns, WhatHoldsTheInnermostHoldsAllAround) {
  world.define("asks", kAsks, "v1");
  world.define("calls", kCalls, "v1");
  EXPECT_EQ(world.begin("steps: [{id: o, action: workflow.run, params: {definition: calls}}]"),
            "suspended waiting");
  RunId outer = world.run_id();
  EXPECT_EQ(world.steps(), "o=suspended");
  RunId middle = child_of("o");
  EXPECT_EQ(how(middle), "suspended waiting");
  RunId inner = child_of("c");
  EXPECT_EQ(how(inner), "suspended waiting");
  EXPECT_EQ(world.signal("go"), "active");
  EXPECT_EQ(how(middle), "active");
  EXPECT_EQ(how(outer), "active");
  EXPECT_EQ(world.steps(), "o=running");
  world.look_at(inner);
  EXPECT_EQ(world.done("a", "7"), "completed");
  EXPECT_EQ(how(outer), "completed");
}

TEST_P(NestedRuns, OneStepAtWorkIsEnoughToBeActive) {
  world.define("asks", kAsks, "v1");
  EXPECT_EQ(
      world.begin(
          "steps: [{id: c, type: subworkflow, config: {definition: asks}}, {id: b, action: x}]"),
      "active");
  EXPECT_EQ(world.steps(), "c=suspended b=running");
  EXPECT_EQ(world.done("b"), "suspended waiting");
  RunId outer = world.run_id();
  world.look_at(child_of("c"));
  EXPECT_EQ(world.cancel(), "cancelled");
  EXPECT_EQ(how(outer), "failed CANCELLED at c");
}

// The parent run has already taken its failure: if it was retried alone, no step would wait for it.
TEST_P(NestedRuns, OneThatHasFailedIsNotTakenUpAgainBySignals) {
  world.define("works", "steps: [{id: a, action: x}]", "v1");
  world.begin(
      "steps: [{id: c, type: subworkflow, config: {definition: works}}, {id: b, action: x}]");
  const std::string part =
      "rejected conflict: Run " + child_of("c").text() + " is part of r1; retry that one";
  world.look_at(child_of("c"));
  EXPECT_EQ(world.fail("a", "E", false), "failed E at a");
  EXPECT_EQ(world.signal("retry"), part);
  EXPECT_EQ(world.signal("skip", "a"), part);
  EXPECT_EQ(world.how(), "failed E at a");
}

TEST_P(NestedRuns, APauseInsideHoldsTheOutsideAndAPauseOutsideDoesNotHideTheInside) {
  world.define("works", "steps: [{id: a, action: x}]", "v1");
  EXPECT_EQ(world.begin("steps: [{id: c, type: subworkflow, config: {definition: works}}]"),
            "active");
  RunId outer = world.run_id();
  RunId inner = child_of("c");
  world.look_at(inner);
  EXPECT_EQ(world.pause(true), "suspended paused");
  EXPECT_EQ(how(outer), "suspended waiting");
  EXPECT_EQ(world.pause(), "suspended waiting");  // nothing of it moves: it stays what it is
  world.look_at(inner);
  EXPECT_EQ(world.resume(), "active");
  EXPECT_EQ(how(outer), "active");  // paused, and its effects are running
  world.look_at(inner);
  EXPECT_EQ(world.done("a"), "completed");
  EXPECT_EQ(how(outer), "completed");  // nothing new had to begin
}

// The step's timeout runs while the child run waits; the end of the step ends the child run.
TEST_P(NestedRuns, ATimeoutEndsWhatWaitsInside) {
  world.define("asks", kAsks, "v1");
  EXPECT_EQ(
      world.begin("steps: [{id: c, type: subworkflow, timeout: 10s, retry: {max: 1, delay: 1s}, "
                  "config: {definition: asks}}]"),
      "suspended waiting");
  RunId outer = world.run_id();
  RunId first = child_of("c");
  EXPECT_EQ(world.wait(10'000), "active");
  EXPECT_EQ(how(first), "cancelled");
  world.look_at(outer);
  EXPECT_EQ(world.wait(1'000), "suspended waiting");
  EXPECT_EQ(world.pause(true), "suspended waiting");
  EXPECT_EQ(world.steps(), "c=pending");
  EXPECT_EQ(world.resume(), "suspended waiting");
  EXPECT_EQ(world.signal("skip", "c"), "completed");
}

TEST_P(NestedRuns, ARunThatWaitsForPeopleGivesItsPlaceAway) {
  world.define("asks", kAsks, "v1");
  world.define("calls", std::string("max_concurrent: 1\n") + kCalls, "v1");
  StartScript command;
  command.definition = "calls";
  EXPECT_EQ(world.start(command), "suspended waiting");
  EXPECT_EQ(runs_at_work(world.state(), definition_gate("calls")), 0u);
  EXPECT_EQ(world.start(command), "suspended waiting");
}

// One step at a time: a child run that waits for people still counts as the active step.
TEST(NestedRunsInTurn, NobodyGoesBeforeARunThatWaits) {
  StateConfig config;
  config.scripts.parallel_steps = false;
  ScriptWorld world(true, config);
  world.define("asks", kAsks, "v1");
  EXPECT_EQ(
      world.begin("steps: [{id: c, type: subworkflow, config: {definition: asks}}, {id: b, action: "
                  "x}]"),
      "suspended waiting");
  EXPECT_EQ(world.steps(), "c=suspended b=pending");
}

}  // namespace
}  // namespace pawl
