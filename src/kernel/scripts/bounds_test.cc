// Bounds of one run: evaluations per frame, sizes of assembled values, bytes held.
#include <gtest/gtest.h>

#include "kernel/fire_timers.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/expression_names.h"
#include "kernel/scripts/json_fits.h"
#include "kernel/scripts/run_parts.h"
#include "kernel/testing/run_world.h"
#include "kernel/testing/script_world.h"
#include "plan/definition.h"

namespace pawl {
namespace {

StateConfig with_allowance(uint64_t units) {
  StateConfig config;
  config.scripts.frame_allowance = units;
  return config;
}

class Bounds : public testing::TestWithParam<bool> {
 protected:
  // Starts it and gives it turns, a millisecond each, until it no longer yields.
  static std::string live(ScriptWorld& world, const std::string& text,
                          const std::string& inputs = "") {
    world.begin(text, inputs);
    return go_on(world);
  }
  static std::string go_on(ScriptWorld& world) {
    for (int i = 0; i < 2'000 && world.script().yielded_ms != 0; ++i) world.wait(1);
    return world.how();
  }
  static size_t count(const ScriptWorld& world, EventType type) {
    size_t found = 0;
    world.each_event(
        [&](const journal::EventBytes& event) { found += event.type == type ? 1 : 0; });
    return found;
  }
  // A run ends the same with a large and with a small allowance per frame.
  static void expect_same(const std::string& text, uint64_t allowance, size_t yields_min,
                          const std::string& inputs = "") {
    ScriptWorld rich;
    live(rich, text, inputs);
    EXPECT_EQ(count(rich, EventType::ScriptYielded), 0u);
    ScriptWorld poor(GetParam(), with_allowance(allowance));
    live(poor, text, inputs);
    EXPECT_GE(count(poor, EventType::ScriptYielded), 2 * yields_min) << text;
    EXPECT_EQ(poor.how(), rich.how());
    EXPECT_EQ(poor.steps(), rich.steps());
    EXPECT_EQ(poor.output(), rich.output());
  }
};
INSTANTIATE_TEST_SUITE_P(Told, Bounds, testing::Bool(), [](const auto& told) {
  return std::string(told.param ? "WithCrashes" : "InMemory");
});

// Some hundred steps.
constexpr const char* kDear =
    "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, a + b > 0))";

TEST_P(Bounds, ALoopOfDearConditionsGoesOnInLaterFrames) {
  expect_same(std::string("steps: [{id: l, type: loop, config: {mode: while, condition: '") +
                  kDear +
                  " && iter.index < 12', body: [{id: b, action: workflow.log, params: {message: "
                  "hi}}]}}]",
              250, 6);
}

TEST_P(Bounds, EachFrameDoesSomethingHoweverLittleItMay) {
  expect_same(std::string("steps: [{id: l, type: loop, config: {over: [1, 2, 3], body: [{id: b, "
                          "condition: '") +
                  kDear + "', action: workflow.log, params: {message: hi}}]}}]",
              20, 4);
}

// A step that fails at once must not prevent others that were ready at the same time.
TEST_P(Bounds, StepsThatWereReadyTogetherBeginThoughFramesLieBetween) {
  std::string text = "steps:\n- {id: a, condition: nobody.knows, action: workflow.log}\n";
  for (int i = 0; i < 10; ++i)
    text += "- {id: s" + std::to_string(i) + ", condition: '" + kDear +
            "', action: workflow.log, params: {message: hi}}\n";
  expect_same(text, 250, 4);
}

TEST_P(Bounds, OutputsOfManyExpressionsAreMadeBitByBit) {
  std::string text = "outputs:\n";
  for (int i = 0; i < 12; ++i)
    text += "  o" + std::to_string(i) + ": '${{ [" + std::to_string(i) + ", " + kDear + "] }}'\n";
  text += "steps: [{id: b, action: workflow.log, params: {message: hi}}]";
  expect_same(text, 250, 4);
}

TEST_P(Bounds, WhatADecisionIsToldIsMadeBitByBit) {
  std::string text =
      "steps: [{id: q, type: reasoning, config: {prompt_context: 'n is ${{ 1 + 1 }}', "
      "data_inject: {";
  for (int i = 0; i < 12; ++i)
    text += (i == 0 ? "" : ", ") + std::string("d") + std::to_string(i) + ": '[" +
            std::to_string(i) + ", " + kDear + "]'";
  text += "}, options: [y, n]}}]";
  ScriptWorld rich;
  ScriptWorld poor(GetParam(), with_allowance(250));
  EXPECT_EQ(live(rich, text), live(poor, text));
  EXPECT_GE(count(poor, EventType::PartsMade), 3u);
  auto told = [](const ScriptWorld& world) {
    Value context = stored_value(world.notes("decision_requested").at(0));
    return context.find("prompt_context")->json() + context.find("data")->json();
  };
  EXPECT_EQ(told(poor), told(rich));
  EXPECT_EQ(poor.decide("q", "y"), "completed");
}

TEST_P(Bounds, TheResultsOfALongLoopAreReadBitByBit) {
  expect_same(
      "steps: [{id: l, type: loop, config: {over: [1,2,3,4,5,6,7,8,9,10,11,12], body: [{id: s, "
      "type: "
      "sequence, config: {steps: [{id: b, action: workflow.log, params: {message: hi}}]}}]}}]",
      300, 3);
}

// Receipts do not give a turn to a run that has yielded: their consequences wait.
TEST_P(Bounds, AnswersToARunThatHasYieldedWaitForItsTurn) {
  ScriptWorld world(GetParam(), with_allowance(2'000));
  std::string text =
      "steps:\n- {id: a, action: x}\n- {id: b, action: x}\n"
      "- {id: next, depends_on: [a, b], action: x}\n";
  for (int i = 0; i < 60; ++i)
    text += "- {id: s" + std::to_string(i) + ", condition: '" + kDear + "', action: x}\n";
  world.begin(text);
  for (int i = 0; i < 100 && world.step("b") != "running"; ++i) world.wait(1);
  ASSERT_NE(world.script().yielded_ms, 0);
  world.done("a");
  world.done("b");
  EXPECT_EQ(world.step("a") + " " + world.step("b"), "completed completed");
  EXPECT_NE(world.step("next"), "running");
  EXPECT_NE(world.script().yielded_ms, 0);
  go_on(world);
  EXPECT_EQ(world.step("next"), "running");
}

// Providing every step as a name is charged, and so is searching a text for them.
TEST_P(Bounds, TheNamesThatAnExpressionSeesArePaidFor) {
  std::string text = "steps:\n";
  for (int i = 0; i < 300; ++i) text += "- {id: s" + std::to_string(i) + ", action: x}\n";
  std::string quiet = text, all = text, long_text = text;
  for (int i = 0; i < 4; ++i) {
    std::string id = "- {id: q" + std::to_string(i) + ", depends_on: [s0], condition: '";
    quiet += id + "1 == 1', action: x}\n";
    all += id + "size(steps) > 0', action: x}\n";
    long_text +=
        id + "steps.s0 == null || \"" + std::string(10'000, 'y') + "\" == \"\"', action: x}\n";
  }
  auto yields = [&](const std::string& definition) {
    ScriptWorld world(GetParam(), with_allowance(5'000));
    world.begin(definition);
    go_on(world);
    const size_t before = count(world, EventType::ScriptYielded);
    world.done("s0");
    go_on(world);
    EXPECT_EQ(world.step("q3").substr(0, 7), "running");
    return count(world, EventType::ScriptYielded) - before;
  };
  EXPECT_EQ(yields(quiet), 0u);
  EXPECT_GE(yields(all), 4u);
  EXPECT_GE(yields(long_text), 4u);
}

// A timer that fires when the frame is used up is not lost.
TEST_P(Bounds, WhatIsDueWaitsForTheRunsTurn) {
  ScriptWorld world(GetParam(), with_allowance(100));
  world.begin("steps: [{id: w, type: wait, config: {duration: 1s}}]");
  go_on(world);
  world.now_ms += 1000;
  world.frame([&](Frame& f) {
    f.meter().charge(1'000);
    while (fire_timers(f, 7)) {
    }
    return std::string();
  });
  EXPECT_NE(world.script().yielded_ms, 0);
  EXPECT_EQ(world.step("w"), "running");
  go_on(world);
  EXPECT_EQ(world.how(), "completed");
}

// --- sizes

StateConfig small_outputs() {
  StateConfig config;
  config.scripts.output_bytes_max = 1'000;
  return config;
}

TEST_P(Bounds, WhatIsPutTogetherIsNoLargerThanAnOutputMayBe) {
  ScriptWorld world(GetParam(), small_outputs());
  std::string big = "\"" + std::string(600, 'x') + "\"";
  world.begin("steps: [{id: l, type: loop, config: {over: [1, 2], body: [{id: b, action: x}]}}]");
  world.done("l.iter_0.b", big);
  EXPECT_EQ(world.done("l.iter_1.b", big), "failed NON_RETRYABLE at l");
  EXPECT_NE(world.script().error.message.find("1000 bytes"), std::string::npos);

  world.begin(
      "steps: [{id: p, type: parallel, config: {branches: [{id: a, action: x}, {id: b, action: "
      "x}]}}]");
  world.done("p.branch_0.a", big);
  EXPECT_EQ(world.done("p.branch_1.b", big), "failed NON_RETRYABLE at p");

  world.begin("steps: [{id: a, action: x}, {id: b, action: x}]");
  world.done("a", big);
  EXPECT_EQ(world.done("b", big), "failed NON_RETRYABLE");

  world.begin("outputs: {a: '${{steps.a}}', b: '${{steps.a}}'}\nsteps: [{id: a, action: x}]");
  EXPECT_EQ(world.done("a", big), "failed NON_RETRYABLE");

  constexpr const char* kTwice = "'${{ steps.a + steps.a }}'";
  for (std::string step :
       {"{id: b, depends_on: [a], action: workflow.emit, params: {event_type: e, payload: ",
        "{id: b, depends_on: [a], action: workflow.log, params: {message: ",
        "{id: b, depends_on: [a], action: workflow.context, params: {action: update, intent: "}) {
    world.begin("steps: [{id: a, action: x}, " + step + kTwice + "}}]");
    EXPECT_EQ(world.done("a", big), "failed NON_RETRYABLE at b") << step;
  }
  world.begin(
      "steps: [{id: a, action: x}, {id: b, depends_on: [a], type: reasoning, config: "
      "{prompt_context: p, data_inject: {m: steps.a, n: steps.a}}}]");
  EXPECT_EQ(world.done("a", big), "failed NON_RETRYABLE at b");

  world.begin(
      "steps: [{id: a, action: x}, {id: b, depends_on: [a], type: loop, config: {over: "
      "'${{[steps.a, steps.a]}}', body: [{id: c, action: x}]}}]");
  EXPECT_EQ(world.done("a", big), "failed NON_RETRYABLE at b");
}

TEST_P(Bounds, ARunHoldsSoMuchAndNoMore) {
  StateConfig config;
  config.scripts.run_bytes_max = 2'000;
  ScriptWorld world(GetParam(), config);
  std::string big = "\"" + std::string(900, 'x') + "\"";
  world.begin(
      "on_error: {id: tell, action: x}\nsteps: [{id: a, action: x}, {id: b, action: x, "
      "depends_on: [a]}, {id: c, action: x, depends_on: [b]}]");
  world.done("a", big);
  world.done("b", big);
  EXPECT_EQ(world.done("c", big), "active");  // the hook has its chance
  EXPECT_EQ(world.done("on_error.tell"), "failed RUN_TOO_LARGE at c");
  EXPECT_NE(world.script().error.message.find("2000"), std::string::npos);

  world.begin("steps: [{id: w, type: wait, config: {signal: go}}]");
  EXPECT_EQ(world.signal("early", "", big), "suspended waiting");
  EXPECT_EQ(world.signal("early", "", big), "suspended waiting");
  EXPECT_NE(world.signal("early", "", big).find("RUN_TOO_LARGE"), std::string::npos);
  EXPECT_NE(world.signal("data", "", R"({"k":)" + big + "}").find("RUN_TOO_LARGE"),
            std::string::npos);
  EXPECT_EQ(world.signal("go"), "completed");
}

TEST_P(Bounds, AnErrorOfManyBytesIsCutAndSaysSo) {
  ScriptWorld world(GetParam());
  world.begin("steps: [{id: a, action: x}]");
  StepOutcome outcome;
  outcome.error = {"E", std::string(200'000, 'm'), "\"" + std::string(2'000'000, 'd') + "\"", ""};
  EXPECT_EQ(world.answer("a", outcome), "failed E at a");
  EXPECT_LT(world.script().held_bytes, 300'000u);
  EXPECT_NE(world.script().error.message.find("left out"), std::string::npos);
}

// --- what is written

TEST(Parts, ALargeTextIsWrittenOnceAndGoesWithWhatHeldIt) {
  ScriptWorld world;
  std::string big = "\"" + std::string(100'000, 'x') + "\"";
  // Bytes of the rows that are written.
  auto flush = [&] {
    auto& state = world.mutable_state();
    std::vector<Row> rows;
    state.collect_rows(SIZE_MAX, rows);
    world.cold.write(rows);
    state.rows_durable();
    size_t bytes = 0;
    for (const Row& row : rows) bytes += row.size();
    return bytes;
  };
  world.begin(
      "steps: [{id: w, type: wait, config: {signal: go}}, {id: a, action: x, depends_on: [w]}]");
  for (int i = 0; i < 5; ++i) {
    world.signal("early", "", big);
    EXPECT_LT(flush(), big.size() + 3'000) << i;
  }
  auto& parts = world.cold.rows[Space::Part];
  EXPECT_EQ(parts.size(), 5u);
  world.signal("go", "", big);
  world.done("a", big);
  flush();
  EXPECT_EQ(world.how(), "completed");
  EXPECT_EQ(parts.size(), 8u);  // and the wait's output, the step, and the run
  world.crash();
  EXPECT_EQ(world.output(), R"({"a":)" + big + "}");
  world.frame([&](Frame& f) {
    RunId cursor;
    forget_runs(f, f.now_ms() + 1, 1000, cursor);
    return std::string();
  });
  flush();
  EXPECT_EQ(parts.size(), 0u);
  EXPECT_EQ(world.cold.rows[Space::Run].size(), 0u);
}

// Millions of small values cost the engine more than their size suggests.
TEST(Values, TextsOfTooManyAreRefusedWhereTheyComeIn) {
  std::string many = "[1";
  for (size_t i = 1; i < kValuesMax + 10; ++i) many += ",1";
  many += "]";
  EXPECT_EQ(json_values(R"({"a":"[,{\\\",","b":[1,{}]})"), 6u);
  ScriptWorld world;
  world.begin("steps: [{id: w, type: wait, config: {signal: go}}, {id: a, action: x}]");
  EXPECT_EQ(world.signal("go", "", many),
            "rejected payload_too_large: a signal's payload must hold at most 500000 values");
  world.done("a", many);
  EXPECT_EQ(world.step("a"), "failed(NON_RETRYABLE)");
  world.frame([&](Frame& f) {
    StartScript command;
    command.source = plan::read_definition("steps: [{id: a, action: x}]").canonical;
    command.inputs = R"({"l":)" + many + "}";
    auto begun = start_script(f, command);
    EXPECT_EQ(begun.ok() ? "begun" : begun.error().message,
              "inputs must hold at most 500000 values");
    return std::string();
  });
}

// The data of one run may be too large for a batch: it is written in pieces, and a crash between
// two of them loses nothing.
TEST(Parts, LargeTextsAreWrittenInPiecesBeforeTheirRun) {
  ScriptWorld world;
  std::string big = "\"" + std::string(100'000, 'x') + "\"";
  world.begin("steps: [{id: w, type: wait, config: {signal: go}}]");
  for (int i = 0; i < 5; ++i) world.signal("early", "", big);
  auto& state = world.mutable_state();
  std::vector<Row> rows;
  state.collect_rows(SIZE_MAX, rows, 250'000);
  EXPECT_EQ(rows.size(), 2u);
  for (const Row& row : rows) EXPECT_EQ(row.space, Space::Part);
  world.cold.write(rows);
  state.rows_durable();
  world.crash();
  auto& again = world.mutable_state();
  size_t pieces = 0;
  while (again.dirty_count() > 0) {
    rows.clear();
    again.collect_rows(SIZE_MAX, rows, 250'000);
    size_t bytes = 0;
    for (const Row& row : rows) bytes += row.size();
    EXPECT_LT(bytes, 350'000u);
    world.cold.write(rows);
    again.rows_durable();
    ++pieces;
  }
  EXPECT_GT(pieces, 1u);
  EXPECT_EQ(world.cold.rows[Space::Part].size(), 5u);
  world.crash();
  EXPECT_EQ(world.script().signals.size(), 5u);
  for (const KeptSignal& signal : world.script().signals) EXPECT_EQ(signal.payload.str(), big);
}

// Large texts cost time only where they are used: a signal to a run with many of them reads none.
TEST(Parts, LargeTextsAreReadWhenTheyAreAskedFor) {
  ScriptWorld world;
  std::string big = "\"" + std::string(100'000, 'x') + "\"";
  world.begin("steps: [{id: w, type: wait, config: {signal: go}}]");
  for (int i = 0; i < 5; ++i) world.signal("early", "", big);
  world.collect(SIZE_MAX);
  world.commit_rows();
  world.crash();
  world.cold.gets.clear();
  world.frame([&](Frame& f) {
    EXPECT_TRUE(signal_script(f, world.run().id, {"late", "", "1", "", ""}).ok());
    return std::string();
  });
  world.collect(SIZE_MAX);
  world.commit_rows();
  EXPECT_EQ(world.cold.gets[Space::Part], 0u);
  EXPECT_EQ(world.script().signals[2].payload.size(), big.size());
  EXPECT_EQ(world.script().signals[2].payload.str(), big);
  EXPECT_EQ(world.cold.gets[Space::Part], 1u);
  world.crash();
  EXPECT_EQ(world.script().signals[5].payload.str(), "1");
  EXPECT_EQ(world.script().signals[4].payload.str(), big);
}

// Regression: a run that always changes never equals its row, and so never leaves memory: 180 such
// runs held two gigabytes.
TEST(Parts, LargeTextsWithDurableRowsLeaveMemoryThoughTheirRunHasChanged) {
  StateConfig config;
  config.resident_text_bytes_max = 250'000;
  ScriptWorld world(false, config);
  std::string big = "\"" + std::string(100'000, 'x') + "\"";
  auto in_memory = [&] {
    std::string line;
    for (const KeptSignal& signal : world.script().signals)
      line += signal.payload.on_disk() ? '-' : 'x';
    return line;
  };
  // The run is newer than its row at once.
  auto write_rows_and_add_one = [&] {
    world.collect(SIZE_MAX);
    world.signal("early", "", big);
    world.commit_rows();
    world.mutable_state().release_texts();
  };
  world.begin("steps: [{id: w, type: wait, config: {signal: go}}]");
  world.signal("early", "", big);
  write_rows_and_add_one();
  write_rows_and_add_one();
  EXPECT_EQ(in_memory(), "xxx") << "below the bound";
  write_rows_and_add_one();
  EXPECT_EQ(in_memory(), "---x") << "the last one has no row yet";
  // Texts that were read back leave memory again, too.
  world.cold.gets.clear();
  for (int round = 0; round < 2; ++round) {
    for (const KeptSignal& signal : world.script().signals) EXPECT_EQ(signal.payload.str(), big);
    EXPECT_EQ(in_memory(), "xxxx");
    world.mutable_state().release_texts();
    EXPECT_EQ(in_memory(), "---x");
  }
  EXPECT_EQ(world.cold.gets[Space::Part], 6u);
  world.collect(SIZE_MAX);
  world.commit_rows();
  world.crash();
  for (const KeptSignal& signal : world.script().signals) EXPECT_EQ(signal.payload.str(), big);
  EXPECT_EQ(world.script().signals.size(), 4u);
}

// An expression that may not read them all fails without reading them all: their sizes are known.
TEST(Parts, TextsPastWhatAnExpressionMayReadStayOnDisk) {
  ScriptWorld world;
  world.begin(
      "steps: [{id: a, action: x}, {id: b, action: x}, {id: c, action: x}, {id: w, type: wait, "
      "config: {signal: go}}]");
  const std::string big = "\"" + std::string(15u << 20, 'x') + "\"";
  for (const char* step : {"a", "b", "c"}) world.done(step, big);
  world.collect(SIZE_MAX);
  world.commit_rows();
  world.crash();
  world.cold.gets.clear();
  ExpressionNames names(world.state(), world.run(), "", "size(steps)", world.now_ms);
  auto size = evaluate_expression(names, "size(steps)");
  EXPECT_EQ(size.ok() ? size->json() : size.error().message,
            "the expression reads more than 33554432 bytes of what the run holds");
  EXPECT_EQ(world.cold.gets[Space::Part], 2u);
}

// The first layout had references without the size of the text.
TEST(Parts, AReferenceOfTheFirstLayoutIsReadAtOnce) {
  MapCold cold;
  RunId run(Uuid{1, 2});
  cold.rows[Space::Part][part_row_key(run, 3)] = R"("old")";
  Text text;
  text.take_stored(std::string_view("\x01\0\0\0\0\0\0\0\x03", 9));
  TextsInMemory in_memory;
  text.connect(std::make_shared<const TextRows>(cold, in_memory, run));
  EXPECT_EQ(text.size(), 5u);
  EXPECT_EQ(text.str(), R"("old")");
}

// --- compositions

TEST(BoundsOfCompositions, ACompositionOfDearGuardsGoesOnInLaterFrames) {
  for (RunKind kind : {RunKind::Chain, RunKind::Group, RunKind::Dag}) {
    RunWorld world(with_allowance(250));
    std::vector<PlanNode> steps;
    for (int i = 0; i < 10; ++i) steps.push_back(when(std::string("!") + kDear));
    steps.push_back(step());
    world.start(compose(kind, steps));
    for (int i = 0; i < 100 && world.run("r1").yielded_ms != 0; ++i) {
      world.restart();
      world.advance(1);
    }
    EXPECT_GT(world.now_ms, kWorldStartMs + 3);
    EXPECT_EQ(world.pass_all(), 1u);
    EXPECT_EQ(world.run("r1").state, RunState::Completed);
    EXPECT_EQ(world.run("r1").children, std::string(10, static_cast<char>(ChildState::Skipped)) +
                                            static_cast<char>(ChildState::Completed));
  }
}

TEST(BoundsOfCompositions, ResultsOfGroupedJobsHaveTheBoundOfAnOutput) {
  RunWorld world(small_outputs());
  std::string big = "\"" + std::string(600, 'x') + "\"";
  world.start(chain({step(), step(), when("results.size() == 2")}));
  world.pass(big);
  world.pass(big);
  EXPECT_EQ(world.run("r1").state, RunState::Failed);
  EXPECT_NE(world.run("r1").reasons.at(2).find("larger than 1000"), std::string::npos);
}

}  // namespace
}  // namespace pawl
