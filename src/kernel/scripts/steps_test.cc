// Runs of definitions step by step: lists, conditions, loops, parallels.
#include <gtest/gtest.h>

#include "base/value.h"
#include "kernel/cold.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/computations.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

class ScriptSteps : public ScriptStory {};
PAWL_TELL_TWICE(ScriptSteps);

// --- lists

// Upstream holds every step of a level until the slowest of the level before it has ended.
TEST_P(ScriptSteps, AStepStartsAsSoonAsItsOwnDependenciesAreOver) {
  world.begin(
      "steps:\n"
      "- {id: slow, action: x}\n"
      "- {id: quick, action: x}\n"
      "- {id: next, action: x, depends_on: [quick]}\n"
      "- {id: last, action: x, depends_on: [slow, next]}\n");
  EXPECT_EQ(world.asked(), "slow quick");
  EXPECT_EQ(world.done("quick", "1"), "active");
  EXPECT_EQ(world.asked(), "slow next");
  world.done("next", "2");
  EXPECT_EQ(world.asked(), "slow");
  world.done("slow", "3");
  EXPECT_EQ(world.done("last", R"({"n":4})"), "completed");
  EXPECT_EQ(world.output(), R"({"last":{"n":4}})");
}

TEST_P(ScriptSteps, OutputsAreWhatIsAskedForOrWhatTheLastStepsGave) {
  world.begin(
      "outputs: {sum: 'steps.a.n + steps.b.n', text: 'n is ${{steps.a.n}}', list: "
      "['${{inputs.x}}', "
      "2]}\n"
      "steps: [{id: a, action: x}, {id: b, action: x}]\n",
      R"({"x":[true]})");
  world.done("a", R"({"n":1})");
  EXPECT_EQ(world.done("b", R"({"n":2})"), "completed");
  EXPECT_EQ(world.output(), R"({"sum":3,"text":"n is 1","list":[[true],2]})");

  world.begin(
      "steps: [{id: a, action: x}, {id: b, action: x}, {id: c, action: x, depends_on: [a]}]");
  world.done("a", "1");
  world.done("b", "2");
  world.done("c", "3");
  EXPECT_EQ(world.output(), R"({"b":2,"c":3})");

  world.begin("outputs: {bad: steps.nobody.n}\nsteps: [{id: a, action: x}]");
  EXPECT_EQ(world.done("a"), "failed INTERPOLATION_ERROR");
}

TEST_P(ScriptSteps, AnAnswerThatNobodyWaitsForChangesNothing) {
  world.begin("steps: [{id: a, action: x}, {id: b, action: x, depends_on: [a]}]");
  uint32_t effect = world.effect_of("a");
  world.done("a", "1");
  StepOutcome late;
  late.ok = true;
  late.output = "2";
  world.answer_effect(effect, late);
  world.answer_effect(99, late);
  EXPECT_EQ(world.output("a"), "1");
  EXPECT_EQ(world.asked(), "b");
}

TEST_P(ScriptSteps, GuardsSkipAndDependentsOfASkippedStepRun) {
  world.begin(
      "steps:\n"
      "- {id: a, action: x, condition: inputs.go}\n"
      "- {id: b, action: x, depends_on: [a]}\n"
      "- {id: c, action: x, depends_on: [a], trigger: all_success}\n"
      "- {id: d, action: x, condition: '${{ size(inputs.name) > 100 }}'}\n",
      R"({"go":false,"name":"n"})");
  EXPECT_EQ(world.asked(), "b");
  EXPECT_EQ(world.steps(),
            "a=skipped(condition) b=running c=skipped(upstream_failed) d=skipped(condition)");
  EXPECT_EQ(world.done("b"), "completed");
  EXPECT_EQ(world.begin("steps: [{id: e, action: x, condition: inputs.nothing.here}]"),
            "failed EXPRESSION_ERROR at e");
}

TEST_P(ScriptSteps, Triggers) {
  world.begin(
      "steps:\n"
      "- {id: good, action: x}\n"
      "- {id: bad, action: x}\n"
      "- {id: none, action: x, condition: 'false'}\n"
      "- {id: all, action: x, depends_on: [good, bad], trigger: all_success}\n"
      "- {id: done, action: x, depends_on: [good, bad], trigger: all_done}\n"
      "- {id: one, action: x, depends_on: [good, bad], trigger: one_success}\n"
      "- {id: onenone, action: x, depends_on: [none], trigger: one_success}\n"
      "- {id: behind, action: x, depends_on: [all]}\n");
  world.done("good");
  EXPECT_EQ(world.asked(), "bad one");  // one success is enough
  world.fail("bad");
  EXPECT_EQ(world.asked(), "one done");
  world.done("one");
  EXPECT_EQ(world.done("done"), "failed EXECUTION_ERROR at bad");
  EXPECT_EQ(world.steps(),
            "good=completed bad=failed none=skipped(condition) all=skipped(upstream_failed) "
            "done=completed one=completed onenone=skipped(upstream_failed) "
            "behind=skipped(upstream_failed)");
}

// --- conditions

TEST_P(ScriptSteps, AConditionChoosesByTheValueOfItsExpression) {
  const std::string definition =
      "steps:\n"
      "- id: c\n"
      "  type: condition\n"
      "  config:\n"
      "    expression: inputs.v\n"
      "    branches:\n"
      "      'true': [{id: t, action: x}]\n"
      "      'false': [{id: f, action: x}]\n"
      "      red: [{id: r, action: x}]\n"
      "      '7': [{id: seven, action: x}]\n"
      "      '1e+06': [{id: million, action: x}]\n"
      "      '0.5': [{id: half, action: x}]\n"
      "      empty: []\n"
      "    default: [{id: d, action: x}]\n";
  const std::pair<const char*, const char*> cases[] = {
      {"true", "c.true.t"},    {"false", "c.false.f"},           {R"("red")", "c.red.r"},
      {"7", "c.7.seven"},      {"1e6", "c.1e+06.million"},       {"0.5", "c.0.5.half"},
      {"null", "c.default.d"}, {R"("nobody's")", "c.default.d"},
  };
  for (const auto& [value, step] : cases) {
    world.begin(definition, std::string(R"({"v":)") + value + "}");
    EXPECT_EQ(world.asked(), step) << value;
    EXPECT_EQ(world.done(step, "5"), "completed") << value;
  }
  EXPECT_EQ(world.output("c"), R"({"branch":"default","output":5})");
  EXPECT_EQ(world.begin(definition, R"({"v":"empty"})"), "completed");
  EXPECT_EQ(world.output("c"), R"({"branch":"empty"})");
}

TEST_P(ScriptSteps, AConditionWithoutAFittingBranchIsANoOp) {
  EXPECT_EQ(world.begin("steps:\n"
                        "- {id: c, type: condition, config: {expression: inputs.v, branches: {a: "
                        "[{id: b, action: x}]}}}\n",
                        R"({"v":"z"})"),
            "completed");
  EXPECT_EQ(world.output("c"), R"({"branch":"z","skipped":true})");
  EXPECT_EQ(world.begin("steps:\n"
                        "- {id: c, type: condition, config: {expression: inputs.v.w.x, branches: "
                        "{a: [{id: b, action: x}]}}}\n"),
            "failed EXPRESSION_ERROR at c");
}

TEST_P(ScriptSteps, ATestAnswersTrueOrFalse) {
  EXPECT_EQ(world.begin("steps: [{id: t, type: decision, parameters: {condition: inputs.n > 2}}]",
                        R"({"n":3})"),
            "completed");
  EXPECT_EQ(world.output("t"), R"({"result":true})");
}

// Inner lists run in their order, honour guards and depends_on, and fail as one.
TEST_P(ScriptSteps, InnerListsRunInOrder) {
  world.begin(
      "steps:\n"
      "- id: s\n"
      "  type: sequence\n"
      "  config:\n"
      "    steps:\n"
      "    - {id: a, action: x}\n"
      "    - {id: b, action: x, condition: steps.a == 2}\n"
      "    - {id: c, action: x}\n"
      "    - {id: d, action: x, depends_on: [a]}\n");
  EXPECT_EQ(world.asked(), "s.seq.a");
  world.done("s.seq.a", "1");
  EXPECT_EQ(world.asked(), "s.seq.d s.seq.c");  // b is skipped
  world.done("s.seq.c", "3");
  EXPECT_EQ(world.fail("s.seq.d"), "failed EXECUTION_ERROR at s.seq.d");
  EXPECT_EQ(world.steps(),
            "s=failed s.seq.a=completed s.seq.b=skipped(condition) s.seq.c=completed "
            "s.seq.d=failed");
}

TEST_P(ScriptSteps, NamesResolveFromTheInnermostListOutwards) {
  world.begin(
      "steps:\n"
      "- {id: a, action: x}\n"
      "- {id: top, action: x}\n"
      "- id: s\n"
      "  type: sequence\n"
      "  depends_on: [a, top]\n"
      "  config:\n"
      "    steps:\n"
      "    - {id: a, action: x}\n"
      "    - {id: b, action: x, params: {own: '${{steps.a.output}}', outer: "
      "'${{steps.top.output}}'}}\n"
      "- {id: after, action: x, depends_on: [s], params: {root: '${{steps.a.output}}', inner: "
      "\"${{steps['s.seq.a'].n}}\", dotted: '${{steps.s.seq.a.n}}'}}\n");
  world.done("a", R"("outer a")");
  world.done("top", R"("the top")");
  world.done("s.seq.a", R"({"n":1})");
  EXPECT_EQ(world.params("s.seq.b"), R"({"own":{"n":1},"outer":"the top"})");
  world.done("s.seq.b");
  EXPECT_EQ(world.params("after"), R"({"root":"outer a","inner":1,"dotted":1})");
}

// --- loops

TEST_P(ScriptSteps, ForEachRunsItsBodyOncePerItem) {
  world.begin(
      "steps:\n"
      "- id: l\n"
      "  type: loop\n"
      "  config:\n"
      "    over: inputs.items\n"
      "    body:\n"
      "    - {id: a, action: x, params: {item: '${{loop.item}}', index: '${{loop.index}}'}}\n"
      "    - {id: b, action: x, params: {a: '${{steps.a.output}}'}, condition: iter.index != 1}\n",
      R"({"items":["x",{"k":2}]})");
  EXPECT_EQ(world.params("l.iter_0.a"), R"({"item":"x","index":0})");
  world.done("l.iter_0.a", "10");
  EXPECT_EQ(world.params("l.iter_0.b"), R"({"a":10})");
  world.done("l.iter_0.b", "11");
  EXPECT_EQ(world.params("l.iter_1.a"), R"({"item":{"k":2},"index":1})");
  EXPECT_EQ(world.done("l.iter_1.a", "20"), "completed");
  EXPECT_EQ(world.output("l"), R"({"iterations":2,"results":[11,20]})");
}

TEST_P(ScriptSteps, WhatALoopMayGoOver) {
  const auto over = [&](const std::string& text, const std::string& inputs) {
    std::string how = world.begin(
        "steps:\n- {id: l, type: loop, config: {over: " + text +
            ", body: [{id: b, action: workflow.log, params: {message: '${{loop.item}}'}}]}}\n",
        inputs);
    std::string line;
    for (const std::string& note : world.notes("workflow_log"))
      line += Value::parse(note)->find("message")->json();
    return how + " " + line;
  };
  EXPECT_EQ(over("[1, two]", ""), R"(completed "1""two")");
  EXPECT_EQ(over("inputs.o", R"({"o":{"a":1,"b":[2]}})"),
            R"(completed "{\"key\":\"a\",\"value\":1}""{\"key\":\"b\",\"value\":[2]}")");
  EXPECT_EQ(over("'.inputs.list[] | select(. > 1)'", R"({"list":[1,2,3]})"), R"(completed "2""3")");
  EXPECT_EQ(over("'${{inputs.list}}'", R"({"list":[4]})"), R"(completed "4")");
  EXPECT_EQ(over("'[7, 8]'", ""), R"(completed "7""8")");
  EXPECT_EQ(over("inputs.list", R"({"list":[]})"), "completed ");
  EXPECT_EQ(world.output("l"), R"({"iterations":0,"results":[]})");
  EXPECT_EQ(over("inputs.list", R"({"list":5})"), "failed EXPRESSION_ERROR at l ");
}

TEST_P(ScriptSteps, MaxIterIsNeverExceededAndWhatIsLeftOutIsSaid) {
  const std::string body = "body: [{id: b, action: workflow.log, params: {message: m}}]";
  world.begin("steps:\n- {id: l, type: loop, config: {over: [1, 2, 3], max_iter: 2, " + body +
              "}}");
  EXPECT_EQ(world.output("l"), R"({"iterations":2,"results":[{"logged":true},{"logged":true}]})");
  EXPECT_EQ(world.notes("loop_started")[0], R"({"items_left_out":1,"items":2})");
  for (std::string mode : {"while", "until"}) {
    std::string condition = mode == "while" ? "'true'" : "'false'";
    EXPECT_EQ(world.begin("steps:\n- {id: l, type: loop, config: {mode: " + mode +
                          ", condition: " + condition + ", max_iter: 3, " + body + "}}"),
              "completed");
    EXPECT_EQ(Value::parse(world.output("l"))->find("iterations")->json(), "3") << mode;
  }
}

TEST_P(ScriptSteps, WhileAsksBeforeAndUntilAfterWithIndexAndBodyOutputs) {
  const auto loop = [&](const std::string& mode, const std::string& condition) {
    world.begin("steps:\n- {id: l, type: loop, config: {mode: " + mode + ", condition: '" +
                condition + "', body: [{id: b, action: x}]}}");
    int asked = 0;
    for (; !world.asked().empty() && asked < 9; ++asked)
      world.done("l.iter_" + std::to_string(asked) + ".b", std::to_string(asked * 10));
    return std::to_string(asked) + " " + world.how();
  };
  EXPECT_EQ(loop("while", "iter.index < 2"), "2 completed");
  EXPECT_EQ(loop("while", "false"), "0 completed");
  EXPECT_EQ(loop("until", "iter.index == 2"), "3 completed");
  EXPECT_EQ(loop("until", "true"), "1 completed");
  EXPECT_EQ(loop("until", "steps.b >= 30"), "4 completed");
  EXPECT_EQ(loop("while", "iter.index == 0 || steps.b < 20"), "3 completed");
  EXPECT_EQ(loop("while", "steps.b < 20"), "0 failed EXPRESSION_ERROR at l");
}

TEST_P(ScriptSteps, IterationsRunAtOnceUpToTheConcurrency) {
  world.begin(
      "steps:\n- {id: l, type: loop, config: {over: [0, 1, 2, 3], concurrency: 2, body: [{id: b, "
      "action: x}]}}");
  EXPECT_EQ(world.asked(), "l.iter_0.b l.iter_1.b");
  world.done("l.iter_1.b", "1");
  EXPECT_EQ(world.asked(), "l.iter_0.b l.iter_2.b");
  world.done("l.iter_2.b", "2");
  world.done("l.iter_3.b", "3");
  EXPECT_EQ(world.asked(), "l.iter_0.b");
  EXPECT_EQ(world.done("l.iter_0.b", "0"), "completed");
  EXPECT_EQ(world.output("l"), R"({"iterations":4,"results":[0,1,2,3]})");

  world.begin("steps:\n- {id: m, type: map, config: {over: [0, 1, 2], body: {id: b, action: x}}}");
  EXPECT_EQ(world.asked(), "m.iter_0.b m.iter_1.b m.iter_2.b");
  EXPECT_EQ(world.fail("m.iter_1.b"), "failed EXECUTION_ERROR at m.iter_1.b");
  EXPECT_EQ(world.step("m.iter_2.b"), "skipped(step_failed)");
  EXPECT_EQ(world.take_cancelled().size(), 2u);
}

TEST_P(ScriptSteps, LoopsWithinLoopsSeeTheirOwnItem) {
  world.begin(
      "steps:\n"
      "- id: o\n"
      "  type: loop\n"
      "  config:\n"
      "    over: [[1, 2], [3]]\n"
      "    body:\n"
      "    - id: i\n"
      "      type: loop\n"
      "      config: {over: iter.item, body: [{id: b, action: x, params: {v: "
      "'${{loop.item}}'}}]}\n"
      "    - {id: after, action: x, params: {v: '${{loop.item}}'}}\n");
  EXPECT_EQ(world.params("o.iter_0.i.iter_0.b"), R"({"v":1})");
  world.done("o.iter_0.i.iter_0.b", "1");
  EXPECT_EQ(world.params("o.iter_0.i.iter_1.b"), R"({"v":2})");
  world.done("o.iter_0.i.iter_1.b", "2");
  EXPECT_EQ(world.params("o.iter_0.after"), R"({"v":[1,2]})");
  world.done("o.iter_0.after", "12");
  EXPECT_EQ(world.params("o.iter_1.i.iter_0.b"), R"({"v":3})");
}

TEST_P(ScriptSteps, TenThousandIterationsTakeMoreThanOneFrame) {
  if (GetParam()) GTEST_SKIP() << "the same in memory";
  std::string items = "[";
  for (int i = 0; i < 10'000; ++i) items += (i == 0 ? "" : ",") + std::to_string(i);
  EXPECT_EQ(world.begin("steps:\n- {id: l, type: loop, config: {over: inputs.items, body: [{id: b, "
                        "action: workflow.log, params: {message: m}}]}}",
                        R"({"items":)" + items + "]}"),
            "active");
  while (world.how() == "active") world.wait(1);
  EXPECT_EQ(world.how(), "completed");
  EXPECT_EQ(Value::parse(world.output("l"))->find("iterations")->json(), "10000");
}

// --- parallels

TEST_P(ScriptSteps, ParallelWaitsForAllBranches) {
  world.begin(
      "steps:\n"
      "- {id: p, type: parallel, config: {branches: [[{id: a, action: x}, {id: b, action: x}], "
      "{id: c, action: x}, []]}}\n");
  EXPECT_EQ(world.asked(), "p.branch_0.a p.branch_1.c");
  world.done("p.branch_1.c", "3");
  world.done("p.branch_0.a", "1");
  EXPECT_EQ(world.done("p.branch_0.b", "2"), "completed");
  EXPECT_EQ(world.output("p"), R"({"mode":"all","branches":[2,3,null]})");
}

TEST_P(ScriptSteps, AFailedBranchFailsTheParallelAfterTheOthers) {
  world.begin(
      "steps:\n"
      "- {id: p, type: parallel, config: {branches: [{id: a, action: x}, {id: b, action: x}, {id: "
      "c, action: x}]}}\n");
  EXPECT_EQ(world.fail("p.branch_2.c", "LATE"), "active");
  EXPECT_EQ(world.fail("p.branch_1.b", "EARLY"), "active");
  EXPECT_EQ(world.done("p.branch_0.a"), "failed EARLY at p.branch_1.b");  // the lowest branch's
}

TEST_P(ScriptSteps, RaceLosersAreStoppedAwaitedAndSkipped) {
  world.begin(
      "steps:\n"
      "- id: p\n"
      "  type: parallel\n"
      "  config:\n"
      "    mode: race\n"
      "    branches:\n"
      "    - [{id: a, action: x}]\n"
      "    - [{id: b, action: x}, {id: b2, action: x}]\n"
      "    - [{id: q, type: reasoning, config: {prompt_context: which, options: [y]}}]\n"
      "    - [{id: w, type: wait, config: {duration: 1h}}]\n"
      "- {id: next, action: x, depends_on: [p]}\n");
  uint32_t loser = world.effect_of("p.branch_1.b");
  EXPECT_EQ(world.fail("p.branch_0.a"), "active");
  EXPECT_EQ(world.done("p.branch_1.b", "1"), "active");
  std::string decision = world.state().find_step(world.run(), "p.branch_2.q")->decision;
  uint32_t second = world.effect_of("p.branch_1.b2");
  EXPECT_NE(loser, second);
  EXPECT_EQ(world.decide("p.branch_2.q", "y"), "active");
  EXPECT_EQ(world.steps(),
            "p=completed next=running p.branch_0.a=failed p.branch_1.b=completed "
            "p.branch_1.b2=skipped(race_lost) p.branch_2.q=completed "
            "p.branch_3.w=skipped(race_lost)");
  EXPECT_EQ(world.take_cancelled(), std::vector<uint32_t>{second});
  StepOutcome late;
  late.ok = true;
  world.answer_effect(second, late);
  EXPECT_EQ(world.step("p.branch_1.b2"), "skipped(race_lost)");
  EXPECT_EQ(world.asked(), "next");
}

TEST_P(ScriptSteps, ADecisionOfARaceLoserIsCancelled) {
  world.begin(
      "steps:\n"
      "- {id: p, type: parallel, config: {mode: race, branches: [{id: a, action: x}, {id: q, type: "
      "reasoning, config: {prompt_context: which}}]}}\n");
  std::string decision = world.state().find_step(world.run(), "p.branch_1.q")->decision;
  EXPECT_EQ(world.done("p.branch_0.a", "7"), "completed");
  EXPECT_EQ(world.output("p"), R"({"mode":"race","winner":0,"output":7})");
  StoredDecision stored;
  ASSERT_TRUE(codec::decode(world.state().find_doc(DocKind::Decision, decision)->value, stored));
  EXPECT_EQ(stored.status, "cancelled");
}

TEST_P(ScriptSteps, ARaceThatAllLoseFailsWithTheFirstError) {
  world.begin(
      "steps:\n"
      "- {id: p, type: parallel, config: {mode: race, branches: [{id: a, action: x}, {id: b, "
      "action: x}]}}\n");
  EXPECT_EQ(world.fail("p.branch_1.b", "FIRST"), "active");
  EXPECT_EQ(world.fail("p.branch_0.a", "SECOND"), "failed FIRST at p.branch_1.b");
}

// --- actions

class CountsWords : public Computations {
 public:
  bool knows(std::string_view action) const override { return action == "count"; }
  std::optional<StepOutcome> compute(EffectRequest request, Meter&) const override {
    StepOutcome outcome;
    outcome.ok = true;
    outcome.output = request.params.find("of")->json();
    return outcome;
  }
};

// Only a job or a run can fill a step's place: no other step asks the disk whether it is there.
TEST(Computed, NeitherAComputationNorAnActionReadsTheDisk) {
  const CountsWords computations;
  StateConfig config;
  config.scripts.computations = &computations;
  ScriptWorld world(false, config);
  EXPECT_EQ(
      world.begin("steps:\n"
                  "- {id: a, action: count, params: {of: [1]}}\n"
                  "- {id: b, action: count, params: {of: '${{ steps.a }}'}, depends_on: [a]}\n"
                  "outputs: {all: '${{ steps.b }}'}\n"),
      "completed");
  EXPECT_EQ(world.output(), R"({"all":[1]})");
  EXPECT_EQ(world.cold.gets[Space::Job], 0u);
  world.begin("steps: [{id: c, action: x, params: {of: 2}}]");
  const size_t before = world.cold.gets[Space::Job];  // by the world's own checks
  const auto request = world.request("c");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->params.json(), R"({"of":2})");
  EXPECT_EQ(world.cold.gets[Space::Job], before);
}

}  // namespace
}  // namespace pawl
