// Failures in runs of definitions: attempts, timeouts, error handling, hooks, rollback.
#include <gtest/gtest.h>

#include "base/value.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "kernel/state.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

class ScriptErrors : public ScriptStory {
 protected:
  // The waits before each further attempt of the one step, until it fails for good.
  std::string delays(const std::string& policy) {
    world.begin("steps: [{id: a, action: x, retry: {" + policy + "}}]");
    std::string line;
    while (world.fail("a") == "active") {
      int64_t due = world.state().find_step(world.run(), "a")->due_ms - world.now_ms;
      line += (line.empty() ? "" : " ") + std::to_string(due);
      if (due > 1) world.wait(due - 1);
      if (due > 0) {
        EXPECT_EQ(world.asked(), "") << "too early";
      }
      world.wait(due > 0 ? 1 : 0);
      EXPECT_EQ(world.asked(), "a");
    }
    return line;
  }
};
PAWL_TELL_TWICE(ScriptErrors);

// --- attempts

TEST_P(ScriptErrors, BackoffsSurviveRestartsAndAreExact) {
  EXPECT_EQ(delays("max: 3, backoff: constant, delay: 100ms"), "100 100 100");
  EXPECT_EQ(delays("max: 3, backoff: linear, delay: 100ms"), "100 200 300");
  EXPECT_EQ(delays("max: 4, backoff: exponential, delay: 100ms, max_delay: 500ms"),
            "100 200 400 500");
  EXPECT_EQ(delays("max: 2"), "0 0");
  EXPECT_EQ(delays("max: 3, backoff: exponential, delay: 10ms, multiplier: 3"), "10 30 90");
  EXPECT_EQ(world.how(), "failed EXECUTION_ERROR at a");
  EXPECT_EQ(world.attempts("a"), 4u);
}

TEST_P(ScriptErrors, WhatCannotHelpIsNotRetried) {
  world.begin("steps: [{id: a, action: x, retry: {max: 5}}]");
  EXPECT_EQ(world.fail("a", "NON_RETRYABLE", false), "failed NON_RETRYABLE at a");
}

// Upstream retries every step as if it were an action.
TEST_P(ScriptErrors, ACompositeIsRetriedAsAWhole) {
  world.begin(
      "steps:\n"
      "- {id: l, type: loop, retry: {max: 1, delay: 1s}, config: {over: [1, 2], body: [{id: b, "
      "action: x}]}}\n");
  world.done("l.iter_0.b", "1");
  EXPECT_EQ(world.fail("l.iter_1.b"), "active");
  EXPECT_EQ(world.step("l"), "retrying");
  world.wait(1000);
  EXPECT_EQ(world.asked(), "l.iter_0.b");
  EXPECT_EQ(world.steps(), "l=running l.iter_0.b=running");
  world.done("l.iter_0.b", "3");
  EXPECT_EQ(world.done("l.iter_1.b", "4"), "completed");
  EXPECT_EQ(world.output("l"), R"({"iterations":2,"results":[3,4]})");
}

// --- times

// Upstream hands the handler a deadline that is over: nothing after a timeout works.
TEST_P(ScriptErrors, AStepThatTimesOutIsStoppedAndTriedAgain) {
  world.begin("steps: [{id: a, action: x, timeout: 5s, retry: {max: 1, delay: 1s}}]");
  uint32_t effect = world.effect_of("a");
  EXPECT_EQ(world.request("a")->timeout_ms, 5000);
  world.wait(4999);
  EXPECT_EQ(world.asked(), "a");
  world.wait(1);
  EXPECT_EQ(world.asked(), "");
  EXPECT_EQ(world.take_cancelled(), std::vector<uint32_t>{effect});
  world.wait(1000);
  EXPECT_EQ(world.asked(), "a");
  EXPECT_EQ(world.wait(5000), "failed TIMEOUT_ERROR at a");
}

TEST_P(ScriptErrors, ACompositeThatTimesOutStopsWhatIsInside) {
  world.begin(
      "steps:\n"
      "- {id: s, type: sequence, timeout: 5s, on_error: ignore, config: {steps: [{id: a, action: "
      "x}, {id: b, action: x}]}}\n");
  world.done("s.seq.a");
  EXPECT_EQ(world.wait(5000), "completed");
  EXPECT_EQ(world.steps(), "s=completed s.seq.a=completed s.seq.b=skipped(step_failed)");
}

TEST_P(ScriptErrors, TheTimeoutOfTheRunFailsItAndTheErrorHookRuns) {
  world.begin(
      "timeout: 10s\n"
      "on_error: {id: tell, action: x, params: {why: '${{error.code}}'}}\n"
      "steps: [{id: a, action: x}, {id: b, action: x, depends_on: [a]}]\n");
  world.done("a");
  EXPECT_EQ(world.wait(10'000), "active");
  EXPECT_EQ(world.params("on_error.tell"), R"({"why":"TIMEOUT_ERROR"})");
  EXPECT_EQ(world.wait(60'000), "active");  // the hook has its own time
  EXPECT_EQ(world.done("on_error.tell"), "failed TIMEOUT_ERROR");
  EXPECT_EQ(world.step("b"), "skipped(run_failed)");
}

TEST_P(ScriptErrors, OnTimeoutCancelCancels) {
  world.begin("timeout: 10s\non_timeout: cancel\nsteps: [{id: a, action: x}]");
  EXPECT_EQ(world.wait(10'000), "cancelled TIMEOUT_ERROR");
  EXPECT_EQ(world.step("a"), "skipped(cancelled)");
}

// Upstream can never resume such a run.
TEST_P(ScriptErrors, OnTimeoutSuspendHoldsTheRunUntilItIsResumed) {
  world.begin(
      "timeout: 10s\non_timeout: suspend\nsteps: [{id: a, action: x}, {id: b, action: x, "
      "depends_on: [a]}]");
  uint32_t effect = world.effect_of("a");
  EXPECT_EQ(world.wait(10'000), "suspended timeout");  // what is at work is stopped
  EXPECT_EQ(world.take_cancelled(), std::vector<uint32_t>{effect});
  EXPECT_EQ(world.asked(), "");
  EXPECT_EQ(world.done("a", "1"), "nobody asked for a");
  EXPECT_EQ(world.wait(100'000), "suspended timeout");
  EXPECT_EQ(world.resume(), "active");
  EXPECT_EQ(world.done("a", "1"), "active");
  EXPECT_EQ(world.wait(100'000), "active");  // without a limit now
  EXPECT_EQ(world.done("b"), "completed");
}

TEST_P(ScriptErrors, OnTimeoutSuspendWithdrawsJobsAndStopsChildren) {
  world.define("inner", "steps: [{id: x, action: x}]", "v1");
  world.begin(
      "timeout: 10s\non_timeout: suspend\nsteps:\n"
      "- {id: j, type: job, config: {type: t, args: []}}\n"
      "- {id: s, type: subworkflow, config: {definition: inner}}\n"
      "- {id: q, type: reasoning, config: {prompt_context: p}}\n");
  JobId job(child_id(world.run(), world.effect_of("j")));
  RunId child(child_id(world.run(), world.effect_of("s")));
  EXPECT_EQ(world.wait(10'000), "suspended timeout");
  const Job* withdrawn = world.state().find_job(job);
  EXPECT_TRUE(withdrawn == nullptr || withdrawn->state == JobState::Cancelled);
  EXPECT_EQ(world.state().find_run(child)->state, RunState::Cancelled);
  EXPECT_EQ(world.steps(), "j=pending s=pending q=suspended");
  EXPECT_EQ(world.decide("q", "yes"), "suspended timeout");  // an answer does not end a pause
  EXPECT_EQ(world.resume(), "active");
  EXPECT_EQ(world.steps(), "j=running s=running q=completed");
}

// --- error handling

TEST_P(ScriptErrors, IgnoredFailuresCompleteWithoutOutput) {
  world.begin(
      "steps: [{id: a, action: x, on_error: ignore}, {id: b, action: x, depends_on: [a], params: "
      "{a: '${{steps.a.output}}'}}]");
  world.fail("a");
  EXPECT_EQ(world.params("b"), R"({"a":null})");
  EXPECT_EQ(world.state().find_step(world.run(), "a")->error.code, "EXECUTION_ERROR");
  EXPECT_EQ(world.done("b"), "completed");
  EXPECT_EQ(world.notes("step_ignored").size(), 1u);
}

TEST_P(ScriptErrors, SkippedFailuresLetDependentsRun) {
  world.begin("steps: [{id: a, action: x, on_failure: skip}, {id: b, action: x, depends_on: [a]}]");
  world.fail("a");
  EXPECT_EQ(world.step("a"), "skipped(on_failure)");
  EXPECT_EQ(world.done("b"), "completed");
}

TEST_P(ScriptErrors, FailWorkflowEndsEverythingAtOnceWhereverItStands) {
  world.begin(
      "steps:\n"
      "- {id: other, action: x}\n"
      "- {id: s, type: sequence, on_error: ignore, config: {steps: [{id: a, action: x, on_error: "
      "fail_workflow}]}}\n");
  EXPECT_EQ(world.fail("s.seq.a"), "failed EXECUTION_ERROR at s.seq.a");
  EXPECT_EQ(world.step("other"), "skipped(run_failed)");
}

// Upstream runs fallback steps always, and twice.
TEST_P(ScriptErrors, AFallbackSleepsUnlessItIsCalledAndGivesTheOutput) {
  const char* definition =
      "steps:\n"
      "- {id: a, action: x, on_error: {strategy: fallback_step, fallback_step: f}}\n"
      "- {id: f, action: x, on_error: {strategy: fallback_step, fallback_step: g}}\n"
      "- {id: g, action: x}\n"
      "- {id: b, action: x, depends_on: [a], params: {a: '${{steps.a.output}}'}}\n";
  world.begin(definition);
  world.done("a", "1");
  EXPECT_EQ(world.asked(), "b");
  EXPECT_EQ(world.done("b"), "completed");
  EXPECT_EQ(world.steps(), "a=completed f=pending g=pending b=completed");

  world.begin(definition);
  world.fail("a");
  EXPECT_EQ(world.asked(), "f");
  world.fail("f");
  EXPECT_EQ(world.asked(), "g");
  world.done("g", "3");
  EXPECT_EQ(world.params("b"), R"({"a":3})");
  EXPECT_EQ(world.done("b"), "completed");

  world.begin(definition);
  world.fail("a");
  world.fail("f");
  EXPECT_EQ(world.fail("g", "LAST"), "failed LAST at g");
  EXPECT_EQ(world.step("b"), "skipped(upstream_failed)");
}

TEST_P(ScriptErrors, WhoWaitsForAFallbackThatNobodyCallsGoesOn) {
  world.begin(
      "steps:\n"
      "- {id: a, action: x, on_error: {strategy: fallback_step, fallback_step: f}}\n"
      "- {id: f, action: x, on_error: {strategy: fallback_step, fallback_step: g}}\n"
      "- {id: g, action: x}\n"
      "- {id: b, action: x, depends_on: [g]}\n");
  EXPECT_EQ(world.asked(), "a");
  world.done("a");
  EXPECT_EQ(world.asked(), "b");
  EXPECT_EQ(world.done("b"), "completed");
}

TEST_P(ScriptErrors, AFallbackAtWorkIsPausedLikeAnyStep) {
  world.begin(
      "steps: [{id: a, action: x, on_error: {strategy: fallback_step, fallback_step: f}}, {id: f, "
      "action: x}]");
  world.fail("a");
  EXPECT_EQ(world.pause(true), "suspended paused");
  EXPECT_EQ(world.asked(), "");
  EXPECT_EQ(world.resume(), "active");
  EXPECT_EQ(world.asked(), "f");
  EXPECT_EQ(world.done("f", "5"), "completed");
  EXPECT_EQ(world.output(), R"({"a":5})");
}

// --- hooks

TEST_P(ScriptErrors, HooksRunAfterTheStepsAndCannotChangeTheOutcome) {
  const char* definition =
      "on_complete: {id: good, action: x}\n"
      "on_error: {id: bad, action: x, on_error: fail_workflow}\n"
      "steps: [{id: a, action: x}]\n";
  world.begin(definition);
  EXPECT_EQ(world.done("a"), "active");
  EXPECT_EQ(world.fail("on_complete.good"), "completed");
  world.begin(definition);
  EXPECT_EQ(world.fail("a"), "active");
  EXPECT_EQ(world.fail("on_error.bad", "WORSE"), "failed EXECUTION_ERROR at a");
  EXPECT_EQ(world.attempts("on_error.bad"), 1u);
}

// --- rollback

constexpr const char* kTrip =
    "steps:\n"
    "- {id: hotel, action: x, compensate: {action: undo, params: {what: "
    "'${{compensating.output.id}}', step: '${{compensating.step}}', why: '${{error.code}}'}}}\n"
    "- {id: note, action: x, depends_on: [hotel]}\n"
    "- {id: l, type: loop, depends_on: [note], config: {over: [1, 2], body: [{id: leg, action: x, "
    "compensate: {action: undo}}]}}\n"
    "- {id: pay, action: x, depends_on: [l], on_failure: rollback}\n";

std::string first_asked(const ScriptWorld& world) {
  return world.asked().substr(0, world.asked().find(' '));
}

TEST_P(ScriptErrors, RollbackUndoesInReverseOrder) {
  world.begin(kTrip);
  world.done("hotel", R"({"id":"h1"})");
  for (const char* step : {"note", "l.iter_0.leg", "l.iter_1.leg"}) world.done(step);
  EXPECT_EQ(world.fail("pay", "DECLINED"), "active");
  std::string order;
  while (world.how() == "active") {
    std::string next = first_asked(world);
    order += next + " ";
    if (next.find("hotel") == 0) {
      EXPECT_EQ(world.params(next), R"({"what":"h1","step":"hotel","why":"DECLINED"})");
    }
    world.done(next);
  }
  EXPECT_EQ(order,
            "l.iter_1.leg.compensate.undo l.iter_0.leg.compensate.undo "
            "hotel.compensate.undo ");
  EXPECT_EQ(world.how(), "failed ROLLED_BACK at pay");
  EXPECT_EQ(Value::parse(world.notes("rollback_started")[0])->find("uncompensated")->json(),
            R"(["note"])");
  EXPECT_EQ(world.script().compensated.size(), 3u);

  // A retry runs undone steps again and keeps the rest; a second rollback undoes them.
  EXPECT_EQ(world.preview(), "again hotel l.iter_0.leg l.iter_1.leg pay; kept note");
  EXPECT_EQ(world.retry(), "active");
  EXPECT_EQ(world.asked(), "hotel l.iter_0.leg l.iter_1.leg");
  for (const char* step : {"hotel", "l.iter_0.leg", "l.iter_1.leg"}) world.done(step);
  EXPECT_EQ(world.asked(), "pay");
  EXPECT_EQ(world.done("pay"), "completed");
  EXPECT_EQ(world.script().compensated.size(), 0u);
}

TEST_P(ScriptErrors, AFailedRollbackWaitsToBeRetriedOrSkipped) {
  world.begin(
      "steps: [{id: a, action: x, compensate: {action: undo, retry: {max: 1}}}, {id: b, action: x, "
      "depends_on: [a], compensate: {action: undo, retry: {max: 1}}}, {id: c, action: x, "
      "depends_on: [b], on_failure: rollback}]");
  world.done("a");
  world.done("b");
  world.fail("c", "CAUSE");
  const std::string undo_b = "b.compensate.undo";
  const std::string undo_a = "a.compensate.undo";
  world.fail(undo_b);
  world.wait(0);
  EXPECT_EQ(world.fail(undo_b), "failed ROLLBACK_FAILED at b");
  EXPECT_EQ(world.preview(), "again b a; kept");
  EXPECT_EQ(world.retry(), "active");
  EXPECT_EQ(world.asked(), undo_b);
  world.fail(undo_b);
  world.wait(0);
  EXPECT_EQ(world.fail(undo_b), "failed ROLLBACK_FAILED at b");
  EXPECT_EQ(world.signal("skip", "b"), "active");  // leaves it out
  EXPECT_EQ(world.asked(), undo_a);
  EXPECT_EQ(world.done(undo_a), "failed ROLLED_BACK at c");
  EXPECT_EQ(world.script().compensated, std::vector<std::string>{"a"});
  EXPECT_EQ(Value::parse(world.script().error.details)->find("cause")->find("code")->json(),
            R"("CAUSE")");
}

TEST_P(ScriptErrors, CompensationIsTriedFiveTimesMoreUnlessItSaysOtherwise) {
  world.begin(
      "on_failure: rollback\nsteps: [{id: a, action: x, compensate: {action: undo}}, {id: b, "
      "action: x, depends_on: [a], on_error: fail_workflow}]");
  world.done("a");
  world.fail("b");
  int attempts = 0;
  while (world.how() == "active") {
    if (world.asked().empty()) {
      world.wait(1000);
    } else {
      world.fail("a.compensate.undo");
      ++attempts;
    }
  }
  EXPECT_EQ(attempts, 6);
  EXPECT_EQ(world.how(), "failed ROLLBACK_FAILED at a");
}

TEST_P(ScriptErrors, CancelWithRollbackUndoesAndIsCancelled) {
  world.begin(
      "steps: [{id: a, action: x, compensate: {action: undo}}, {id: b, action: x, depends_on: "
      "[a]}]");
  world.done("a");
  EXPECT_EQ(world.cancel(true), "active");
  EXPECT_EQ(world.asked(), "a.compensate.undo");
  EXPECT_EQ(world.done("a.compensate.undo"), "cancelled");
}

// --- breakers

TEST_P(ScriptErrors, ABreakerOpensAfterFiveFailuresAndRemembersItAcrossRestarts) {
  world.begin("steps: [{id: a, action: x, retry: {max: 9}}]");
  StepOutcome outcome;
  outcome.error = {"HTTP_ERROR", "no", "", ""};
  outcome.retryable = true;
  outcome.breaker = "x host";
  for (int i = 0; i < 4; ++i) {
    world.answer("a", outcome);
    world.wait(0);
  }
  EXPECT_TRUE(world.notes("circuit_breaker_open").empty());
  world.answer("a", outcome);
  EXPECT_EQ(world.notes("circuit_breaker_open").size(), 1u);
  world.wait(30'000);
  StepOutcome good;
  good.ok = true;
  good.breaker = "x host";
  EXPECT_EQ(world.answer("a", good), "completed");
  EXPECT_EQ(world.notes("circuit_breaker_half_open").size(), 1u);
  EXPECT_EQ(world.notes("circuit_breaker_closed").size(), 1u);
}

}  // namespace
}  // namespace pawl
