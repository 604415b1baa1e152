// Retrying runs of definitions: which steps run again, and which are kept.
#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/scripts/expression_names.h"
#include "kernel/state_config.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

class ScriptRetry : public ScriptStory {};
PAWL_TELL_TWICE(ScriptRetry);

TEST_P(ScriptRetry, GoesOnFromWhatFailed) {
  world.begin(
      "on_error: {id: tell, action: x}\n"
      "steps: [{id: a, action: x}, {id: b, action: x, depends_on: [a], params: {v: "
      "'${{inputs.v}}'}}, {id: c, action: x, depends_on: [b]}]",
      R"({"v":1})");
  world.done("a", "1");
  EXPECT_EQ(world.fail("b"), "active");
  world.done("on_error.tell");
  EXPECT_EQ(world.preview(), "again b c; kept a on_error.tell");
  EXPECT_EQ(world.retry("", R"({"v":2})"), "active");
  EXPECT_EQ(world.asked(), "b");
  EXPECT_EQ(world.params("b"), R"({"v":2})");
  world.done("b");
  EXPECT_EQ(world.done("c", "3"), "completed");
  EXPECT_EQ(world.attempts("a"), 1u);
  EXPECT_EQ(world.retry(), "rejected conflict: the run completed; name a step to retry from");
  EXPECT_EQ(world.retry("nobody").substr(0, 8), "rejected");
  EXPECT_EQ(world.preview("b"), "again b c; kept a");
  EXPECT_EQ(world.retry("b"), "active");
  EXPECT_EQ(world.asked(), "b");
  EXPECT_EQ(world.retry().substr(0, 8), "rejected");  // it is active
}

TEST_P(ScriptRetry, ALoopGoesOnWithTheIterationThatFailed) {
  world.begin(
      "steps:\n- {id: l, type: loop, config: {over: [1, 2, 3], body: [{id: a, action: x}, {id: b, "
      "action: x}]}}\n- {id: z, action: x, depends_on: [l]}");
  world.done("l.iter_0.a", "1");
  world.done("l.iter_0.b", "2");
  world.done("l.iter_1.a", "3");
  EXPECT_EQ(world.fail("l.iter_1.b"), "failed EXECUTION_ERROR at l.iter_1.b");
  EXPECT_EQ(world.preview(), "again l.iter_1.b z; kept l.iter_0.a l.iter_0.b l.iter_1.a");
  EXPECT_EQ(world.retry(), "active");
  EXPECT_EQ(world.asked(), "l.iter_1.b");
  world.done("l.iter_1.b", "4");
  world.done("l.iter_2.a", "5");
  world.done("l.iter_2.b", "6");
  EXPECT_EQ(world.output("l"), R"({"iterations":3,"results":[2,4,6]})");
  EXPECT_EQ(world.done("z"), "completed");

  // From a step of the first iteration: it, and the iterations after it.
  EXPECT_EQ(world.retry("l.iter_0.b"), "active");
  EXPECT_EQ(world.asked(), "l.iter_0.b");
  world.done("l.iter_0.b", "20");
  EXPECT_EQ(world.asked(), "l.iter_1.a");
  EXPECT_EQ(world.fail("l.iter_1.a"), "failed EXECUTION_ERROR at l.iter_1.a");
  // From before the failed step: the failed iteration is dropped.
  EXPECT_EQ(world.retry("l.iter_0.a"), "active");
  EXPECT_EQ(world.asked(), "l.iter_0.a");
  for (const char* step :
       {"l.iter_0.a", "l.iter_0.b", "l.iter_1.a", "l.iter_1.b", "l.iter_2.a", "l.iter_2.b", "z"})
    world.done(step, "7");
  EXPECT_EQ(world.how(), "completed");
  EXPECT_EQ(world.output("l"), R"({"iterations":3,"results":[7,7,7]})");
}

TEST_P(ScriptRetry, BranchesThatWereDoneStayDone) {
  world.begin(
      "steps:\n"
      "- {id: p, type: parallel, config: {branches: [{id: a, action: x}, [{id: b, action: x}, {id: "
      "c, action: x}]]}}\n");
  world.done("p.branch_0.a", "1");
  world.done("p.branch_1.b", "2");
  world.fail("p.branch_1.c");
  EXPECT_EQ(world.retry(), "active");
  EXPECT_EQ(world.asked(), "p.branch_1.c");
  EXPECT_EQ(world.done("p.branch_1.c", "3"), "completed");
  EXPECT_EQ(world.output("p"), R"({"mode":"all","branches":[1,3]})");
}

// An interrupted step continues where it was: completed sub-steps do not run again.
TEST_P(ScriptRetry, ACancelledRunGoesOnInTheMiddle) {
  world.begin(
      "steps:\n"
      "- {id: l, type: loop, config: {over: [1, 2], body: [{id: c, type: condition, config: "
      "{expression: 'true', branches: {'true': [{id: a, action: x}, {id: b, action: x}]}}}]}}\n");
  world.done("l.iter_0.c.true.a");
  world.done("l.iter_0.c.true.b", "1");
  world.done("l.iter_1.c.true.a");
  EXPECT_EQ(world.cancel(), "cancelled");
  EXPECT_EQ(world.retry(), "active");
  EXPECT_EQ(world.asked(), "l.iter_1.c.true.b");
  EXPECT_EQ(world.done("l.iter_1.c.true.b", "2"), "completed");
  EXPECT_EQ(
      world.output("l"),
      R"({"iterations":2,"results":[{"branch":"true","output":1},{"branch":"true","output":2}]})");
}

TEST_P(ScriptRetry, ARaceIsRunAgainAsAWhole) {
  world.begin(
      "steps:\n"
      "- {id: p, type: parallel, config: {mode: race, branches: [{id: a, action: x}, {id: b, "
      "action: x}]}}\n"
      "- {id: z, action: x, depends_on: [p]}\n");
  world.done("p.branch_1.b", "1");
  EXPECT_EQ(world.fail("z"), "failed EXECUTION_ERROR at z");
  EXPECT_EQ(world.retry("p.branch_1.b"), "active");
  EXPECT_EQ(world.asked(), "p.branch_0.a p.branch_1.b");
  world.done("p.branch_0.a", "2");
  EXPECT_EQ(world.output("p"), R"({"mode":"race","winner":0,"output":2})");
}

TEST_P(ScriptRetry, AFailedStepCanBeSkippedInstead) {
  world.begin(
      "steps:\n"
      "- {id: s, type: sequence, config: {steps: [{id: a, action: x}, {id: b, action: x}]}}\n");
  world.fail("s.seq.a");
  EXPECT_EQ(world.signal("skip", "s.seq.b").substr(0, 8), "rejected");
  EXPECT_EQ(world.signal("skip", "s.seq.a"), "active");
  EXPECT_EQ(world.asked(), "s.seq.b");
  EXPECT_EQ(world.done("s.seq.b"), "completed");
}

TEST_P(ScriptRetry, AFallbackThatFailedIsTriedAgain) {
  world.begin(
      "steps: [{id: a, action: x, on_error: {strategy: fallback_step, fallback_step: f}}, {id: f, "
      "action: x}]");
  world.fail("a");
  EXPECT_EQ(world.fail("f"), "failed EXECUTION_ERROR at f");
  EXPECT_EQ(world.retry(), "active");
  EXPECT_EQ(world.asked(), "f");
  EXPECT_EQ(world.done("f", "1"), "completed");
}

TEST_P(ScriptRetry, HooksAndCompensationAreNoPlaceToStartFrom) {
  world.begin(
      "on_error: {id: tell, action: x}\nsteps: [{id: a, action: x, compensate: {action: undo}}, "
      "{id: "
      "b, action: x, depends_on: [a], on_failure: rollback}]");
  world.done("a");
  world.fail("b");
  world.done("a.compensate.undo");
  EXPECT_EQ(world.done("on_error.tell"), "failed ROLLED_BACK at b");
  EXPECT_EQ(world.retry("on_error.tell").substr(0, 8), "rejected");
  EXPECT_EQ(world.retry("a.compensate.undo").substr(0, 8), "rejected");
}

TEST_P(ScriptRetry, AFailedHookIsNoStepToSkip) {
  world.begin("on_error: {id: alarm, action: x}\nsteps: [{id: a, action: x}]");
  world.fail("a", "E", false);
  EXPECT_EQ(world.fail("on_error.alarm", "E", false), "failed E at a");
  EXPECT_EQ(world.signal("skip", "on_error.alarm").substr(0, 8), "rejected");
  EXPECT_EQ(world.signal("skip", "alarm").substr(0, 8), "rejected");
  EXPECT_EQ(world.signal("skip", "a"), "completed");
}

// After a retry a step with inner lists gets its full timeout again, however it ended.
TEST_P(ScriptRetry, AStepWithListsIsTimedAgain) {
  for (const char* around :
       {"{id: s, type: sequence, timeout: 10s, config: {steps: [{id: a, action: x}]}}",
        "{id: s, type: loop, timeout: 10s, config: {over: [1], body: [{id: a, action: x}]}}",
        "{id: s, type: parallel, timeout: 10s, config: {branches: [{id: a, action: x}]}}",
        "{id: s, type: condition, timeout: 10s, config: {expression: 'true', branches: {'true': "
        "[{id: a, action: x}]}}}"}) {
    world.begin("steps: [" + std::string(around) + "]");
    world.wait(4'000);
    EXPECT_EQ(world.fail(world.asked()).substr(0, 22), "failed EXECUTION_ERROR") << around;
    world.wait(60'000);
    EXPECT_EQ(world.retry(), "active") << around;
    EXPECT_EQ(world.wait(9'999), "active") << around;
    EXPECT_EQ(world.wait(1), "failed TIMEOUT_ERROR at s") << around;
    EXPECT_EQ(world.retry(), "active") << around;  // the steps that it interrupted continue as well
    EXPECT_EQ(world.wait(9'999), "active") << around;
    EXPECT_EQ(world.wait(1), "failed TIMEOUT_ERROR at s") << around;
    EXPECT_EQ(world.retry(), "active") << around;
    EXPECT_EQ(world.done(world.asked()), "completed") << around;
  }
}

// Each enclosing step of the failed one has its own timeout, and its attempts continue to count.
TEST_P(ScriptRetry, StepsAroundEachOtherAreTimedAgain) {
  world.begin(
      "steps: [{id: s, type: sequence, timeout: 30s, config: {steps: [{id: l, type: loop, timeout: "
      "10s, retry: {max: 1, delay: 1s}, config: {over: [1], body: [{id: a, action: x}]}}]}}]");
  EXPECT_EQ(world.cancel(), "cancelled");
  EXPECT_EQ(world.retry(), "active");
  EXPECT_EQ(world.wait(10'000), "active");
  EXPECT_EQ(world.step("s.seq.l"), "retrying");
  world.wait(1'000);
  EXPECT_EQ(world.asked(), "s.seq.l.iter_0.a");
  EXPECT_EQ(world.wait(10'000), "failed TIMEOUT_ERROR at s.seq.l");
}

// From a step inside a loop that timed out: earlier iterations stay, later ones are dropped.
TEST_P(ScriptRetry, FromAStepInALoopThatFailedByItself) {
  world.begin(
      "steps:\n- {id: l, type: loop, timeout: 15s, config: {mode: until, condition: iter.index == "
      "3, "
      "body: [{id: a, action: x}]}}\n");
  world.done("l.iter_0.a", "1");
  world.done("l.iter_1.a", "2");
  EXPECT_EQ(world.wait(15'000), "failed TIMEOUT_ERROR at l");
  EXPECT_EQ(world.retry("l.iter_1.a"), "active");
  EXPECT_EQ(world.asked(), "l.iter_1.a");
  EXPECT_EQ(world.steps(), "l=running l.iter_0.a=completed l.iter_1.a=running");
}

// All entered iterations are done when the time is up: no inner step is incomplete.
TEST_P(ScriptRetry, FromAStepInALoopThatFailedBetweenIterations) {
  world.begin(
      "steps:\n- {id: l, type: loop, timeout: 15s, config: {mode: until, condition: iter.index == "
      "3, "
      "body: [{id: a, type: wait, config: {duration: 5s}}]}}\n");
  EXPECT_EQ(world.wait(50'000), "failed TIMEOUT_ERROR at l");
  EXPECT_EQ(world.steps(), "l=failed l.iter_0.a=completed");
  EXPECT_EQ(world.retry("l.iter_0.a"), "active");
  EXPECT_EQ(world.steps(), "l=running l.iter_0.a=running");
  world.wait(5'000);
  EXPECT_EQ(world.steps(), "l=running l.iter_0.a=completed l.iter_1.a=running");
}

// The run ended while paused, so the retry ends the pause: timers apply again.
TEST_P(ScriptRetry, OfARunThatEndedInAPauseIsTimedAgain) {
  world.begin(
      "steps: [{id: s, type: sequence, timeout: 10s, config: {steps: [{id: a, action: x}]}}]");
  world.pause();
  EXPECT_EQ(world.done("s.seq.a"), "completed");
  EXPECT_EQ(world.retry("s.seq.a"), "active");
  EXPECT_EQ(world.wait(9'999), "active");
  EXPECT_EQ(world.wait(1), "failed TIMEOUT_ERROR at s");
}

// Expressions must not see the old output of a sequence whose step runs again.
TEST_P(ScriptRetry, FromWithinAStepLeavesItNoOutputUntilItIsDoneAnew) {
  world.begin(R"(steps:
- {id: s, type: sequence, config: {steps: [{id: a, action: x}]}}
- {id: b, action: x, depends_on: [s]}
outputs: {seen: "${{ steps.s.n }}"}
)");
  world.done("s.seq.a", R"({"n":1})");
  EXPECT_EQ(world.fail("b", "E", false), "failed E at b");
  EXPECT_EQ(world.retry("s.seq.a"), "active");
  ExpressionNames names(world.state(), world.run(), "", "has(steps.s)", world.now_ms);
  EXPECT_EQ(evaluate_expression(names, "has(steps.s)")->json(), "false");
  world.done("s.seq.a", R"({"n":2})");
  EXPECT_EQ(world.done("b"), "completed");
  EXPECT_EQ(world.output(), R"({"seen":2})");
}

TEST(ScriptRetryFold, EndsWhereAListCannotBeRead) {
  ScriptWorld world;
  world.begin(R"({"steps": [{"id": "a", "action": "x"}]})");
  EXPECT_EQ(world.fail("a", "E", false), "failed E at a");
  world.collect(SIZE_MAX);
  world.commit_rows();
  uint64_t before = world.journal().size();
  EXPECT_EQ(world.retry(), "active");
  MutableState state(world.cold, StateConfig{});
  ASSERT_TRUE(state.load().ok());
  ASSERT_NE(state.find_run(world.run_id()), nullptr);
  world.cold.broken = true;  // its lists are only on disk
  EXPECT_EQ(world.fold(state, before + 1).error().code, ErrorCode::StoreFailed);
}

}  // namespace
}  // namespace pawl
