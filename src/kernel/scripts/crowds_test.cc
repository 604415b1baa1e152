// Runs with thousands of open lists, steps to undo, or dependencies: their cost, and that results
// do not change.
#include <gtest/gtest.h>

#include "kernel/cold.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/expression_names.h"
#include "kernel/scripts/open_lists.h"
#include "kernel/scripts/run.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

StateConfig with_open_lists(size_t most) {
  StateConfig config;
  config.scripts.open_lists_max = most;
  return config;
}

struct AsLists {
  std::vector<std::string> live;
  std::vector<OpenEffect> effects;
  static void fields(auto& self, auto&& visit) {
    visit(19, "live", self.live);
    visit(20, "effects", self.effects);
  }
};
struct AsSets {
  OpenLists live;
  OpenEffects effects;
  static void fields(auto& self, auto&& visit) {
    visit(19, "live", self.live);
    visit(20, "effects", self.effects);
  }
};

TEST(OpenLists, KeepTheOrderInWhichTheyWereOpened) {
  OpenLists lists;
  for (const char* path : {"", "m.iter_2", "m.iter_10", "m.iter_1", "m.iter_1.c.true", "mm.a"})
    lists.add(path);
  lists.erase("m.iter_10");
  lists.erase("never.there");
  lists.add("m.iter_2");
  EXPECT_EQ(lists.copy(),
            (std::vector<std::string>{"", "m.iter_2", "m.iter_1", "m.iter_1.c.true", "mm.a"}));
  EXPECT_EQ(lists.with_prefix("m."),
            (std::vector<std::string>{"m.iter_2", "m.iter_1", "m.iter_1.c.true"}));
  EXPECT_TRUE(lists.with_prefix("n").empty());
}

TEST(OpenLists, StandInRowsAsTheListsOfEarlierVersions) {
  AsLists lists{{"", "m.iter_2", "m.iter_1"}, {{3, "a"}, {7, "m.iter_2.b"}}};
  AsSets sets;
  ASSERT_TRUE(codec::decode(codec::encoded(lists), sets));
  EXPECT_EQ(sets.live.copy(), lists.live);
  EXPECT_EQ(sets.effects.find(7)->step, "m.iter_2.b");
  EXPECT_EQ(sets.effects.find(4), nullptr);
  EXPECT_EQ(codec::encoded(sets), codec::encoded(lists));
}

class Crowds : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Told, Crowds, testing::Bool(), [](const auto& told) {
  return std::string(told.param ? "WithCrashes" : "InMemory");
});

TEST_P(Crowds, ALoopOpensNoMoreIterationsThanARunMayHaveAtOnce) {
  ScriptWorld world(GetParam(), with_open_lists(4));  // the list at the top is one of them
  world.begin(
      "steps: [{id: m, type: map, config: {over: '[1,2,3,4,5,6,7]', body: [{id: b, action: "
      "http.get, params: {url: 'http://x/'}}]}}]");
  size_t most = world.script().live.size();
  for (int i = 0; i < 7; ++i) {
    world.done("m.iter_" + std::to_string(i) + ".b", std::to_string(i));
    most = std::max(most, world.script().live.size());
  }
  EXPECT_EQ(most, 4u);
  EXPECT_EQ(world.how(), "completed");
  EXPECT_NE(world.output().find("[0,1,2,3,4,5,6]"), std::string::npos) << world.output();
}

// Each loop has at least one active iteration, whatever others hold.
TEST_P(Crowds, LoopsWithinLoopsDoNotWaitForEachOthersPlaces) {
  ScriptWorld world(GetParam(), with_open_lists(2));
  world.begin(
      "steps: [{id: o, type: map, config: {over: '[1,2]', body: [{id: i, type: map, config: {over: "
      "'[1,2]', body: [{id: b, action: http.get, params: {url: 'http://x/'}}]}}]}}]");
  for (int o = 0; o < 2; ++o)
    for (int i = 0; i < 2; ++i)
      world.done("o.iter_" + std::to_string(o) + ".i.iter_" + std::to_string(i) + ".b");
  EXPECT_EQ(world.how(), "completed");
}

TEST_P(Crowds, StoppingAStepStopsAllThatIsOpenInsideIt) {
  ScriptWorld world(GetParam());
  world.begin(
      "steps: [{id: m, type: map, on_error: ignore, config: {over: '[1,2,3]', body: [{id: c, type: "
      "condition, config: {expression: 'true', branches: {'true': [{id: b, action: http.get, "
      "params: {url: 'http://x/'}}]}}}]}}, {id: mm, action: http.get, params: {url: "
      "'http://y/'}}]");
  EXPECT_EQ(world.script().live.size(), 7u);
  world.fail("m.iter_1.c.true.b", "EXECUTION_ERROR", false);
  EXPECT_EQ(world.script().live.copy(), std::vector<std::string>{""});
  EXPECT_EQ(world.script().effects.size(), 1u);  // of mm, whose name begins like the other's
  EXPECT_EQ(world.done("mm"), "completed");
}

// Their rows are written a few thousand at a time, not all at once with the run.
TEST(Crowds, ARunWithManyNewListsIsWrittenBeforeWhatHasWaitedLonger) {
  StateConfig config;
  config.new_scopes_max = 4;
  ScriptWorld world(false, config);
  world.push({new_job({})});
  auto begin = [&](const std::string& over) {
    world.begin("steps: [{id: m, type: map, config: {over: '" + over +
                "', body: [{id: b, action: http.get, params: {url: 'http://x/'}}]}}]");
  };
  auto lists = [](const std::vector<Row>& rows) {
    return std::count_if(rows.begin(), rows.end(),
                         [](const Row& row) { return row.space == Space::Scope; });
  };
  begin("[1,2]");
  EXPECT_FALSE(world.state().has_crowded_runs());
  begin("[1,2,3]");
  EXPECT_TRUE(world.state().has_crowded_runs());
  std::vector<Row> rows;
  world.mutable_state().collect_rows(1, rows);
  EXPECT_EQ(lists(rows), 4);
  rows.clear();
  world.mutable_state().collect_rows(1, rows);
  EXPECT_EQ(lists(rows), 0);  // the job, which came first
  EXPECT_FALSE(world.state().has_crowded_runs());
}

// The bytes written by a rollback grow linearly with the steps it undoes.
TEST(Rollback, CostsEachStepTheSame) {
  auto written = [](int steps) {
    std::string text = "on_failure: rollback\nsteps:\n";
    for (int i = 0; i < steps; ++i)
      text += "- {id: s" + std::to_string(i) + ", action: workflow.log, params: {message: hi}, " +
              "compensate: {action: workflow.log, params: {message: back}}}\n";
    std::string all;
    for (int i = 0; i < steps; ++i) all += (i == 0 ? "s" : ", s") + std::to_string(i);
    text += "- {id: last, depends_on: [" + all + "], action: workflow.fail, params: {reason: no}}";
    ScriptWorld world;
    world.begin(text);
    EXPECT_EQ(world.how().substr(0, 6), "failed");
    EXPECT_EQ(world.script().compensated.size(), static_cast<size_t>(steps));
    EXPECT_TRUE(world.script().compensate.empty());
    size_t bytes = 0;
    world.each_event([&](const journal::EventBytes& event) { bytes += event.bytes.size(); });
    return bytes;
  };
  size_t some = written(100);
  EXPECT_LT(written(400), 5 * some);
}

// Every trigger, with dependencies that end one by one in every order of a few.
TEST_P(Crowds, AFanInIsStartedOrSkippedByItsTriggerAsSoonAsThatIsKnown) {
  struct Case {
    const char* trigger;
    std::vector<std::pair<const char*, bool>> ends;  // step, whether it succeeds
    const char* asked;                               // what is asked of the outside then
  };
  const Case cases[] = {
      {"all_success", {{"b", true}, {"a", true}}, "c"},
      {"all_success", {{"b", true}, {"a", true}, {"c", true}}, "f"},
      {"all_done", {{"c", false}, {"b", true}}, "a"},
      {"all_done", {{"c", false}, {"b", true}, {"a", false}}, "f"},
      {"one_success", {{"c", false}, {"b", false}}, "a"},
      {"one_success", {{"c", false}, {"b", true}}, "a f"},
      {"none_failed", {{"b", true}}, "a c"},
      {"none_failed", {{"b", true}, {"c", true}, {"a", true}}, "f"},
  };
  for (const Case& each : cases) {
    ScriptWorld world(GetParam());
    std::string text = "steps:\n";
    for (const char* id : {"a", "b", "c"})
      text += std::string("- {id: ") + id + ", action: http.get, params: {url: 'http://x/'}}\n";
    text += std::string("- {id: f, trigger: ") + each.trigger +
            ", depends_on: [a, b, c], action: http.get, params: {url: 'http://y/'}}";
    world.begin(text);
    for (const auto& [step, ok] : each.ends)
      ok ? world.done(step) : world.fail(step, "EXECUTION_ERROR", false);
    EXPECT_EQ(world.asked(), each.asked) << each.trigger << "\n" << text;
  }
}

// --- ids with dots in a text

// How often an expression with this text reads a list from disk, and its result.
std::pair<size_t, std::string> looked_up(ScriptWorld& world, const std::string& text) {
  world.collect(SIZE_MAX);
  world.commit_rows();
  world.crash();
  ExpressionNames names(world.state(), world.run(), "", text, 0);
  names.find("inputs");
  world.cold.gets.clear();
  Value steps = names.all();
  Status read = names.charge(expr::Budget());
  std::string told = read.ok() ? "" : read.error().message;
  if (const Value* found = steps.find("steps")) told += found->json();
  return {world.cold.gets[Space::Scope], told};
}

TEST(DottedIds, CostAsMuchAsStepsMayNestAndNotAsTheTextIsLong) {
  ScriptWorld world;
  world.begin(
      "steps: [{id: a, action: x}, {id: p, type: parallel, config: {branches: [{id: b, action: "
      "x}]}}, {id: w, type: wait, config: {signal: go}}]");
  world.done("a", "1");
  world.done("p.branch_0.b", "2");
  std::string dots;
  for (int i = 0; i < 20'000; ++i) dots += ".b";
  EXPECT_LT(looked_up(world, "a" + dots).first, 10u) << "no list stands inside that step";
  EXPECT_LT(looked_up(world, "unknown" + dots).first, 10u);
  EXPECT_LT(looked_up(world, "p" + dots).first, 200u);
  auto [reads, told] = looked_up(world, "p.branch_0.b" + dots);
  EXPECT_LT(reads, 200u);
  EXPECT_NE(told.find(R"("p.branch_0.b":2)"), std::string::npos) << told;
}

TEST(DottedIds, AreSoManyAndNoMoreInOneText) {
  ScriptWorld world;
  world.begin(
      "steps: [{id: p, type: parallel, config: {branches: [{id: b, action: x}]}}, {id: w, type: "
      "wait, config: {signal: go}}]");
  world.done("p.branch_0.b", "2");
  std::string same, others;
  for (int i = 0; i < 5'000; ++i) {
    same += " p.branch_0.b p.none.b";
    others += " p.none.b" + std::to_string(i);
  }
  auto [reads, told] = looked_up(world, same);
  EXPECT_LT(reads, 10u);
  EXPECT_NE(told.find(R"("p.branch_0.b":2)"), std::string::npos) << told;
  std::tie(reads, told) = looked_up(world, others);
  EXPECT_LE(reads, 2'010u);
  EXPECT_NE(told.find("more than 2000 steps by their dotted ids"), std::string::npos) << told;
}

// The results of branches are too large together, which is known without reading them.
TEST(Results, ThatAreTooLargeTogetherAreNotReadFirst) {
  StateConfig config;
  config.scripts.output_bytes_max = 500'000;
  ScriptWorld world(false, config);
  world.begin(
      "steps: [{id: p, type: parallel, config: {branches: [{id: a, action: x}, {id: b, action: x}, "
      "{id: c, action: x}]}}]");
  std::string big = "\"" + std::string(200'000, 'x') + "\"";
  world.done("p.branch_0.a", big);
  world.done("p.branch_1.b", big);
  world.collect(SIZE_MAX);
  world.commit_rows();
  world.crash();
  const uint32_t effect = world.state().find_step(world.run(), "p.branch_2.c")->effect;
  world.frame([&](Frame& f) {  // not world.done(), which reads all to check it
    world.cold.gets.clear();
    effect_done(f, world.run().id, effect, {.ok = true, .output = big});
    EXPECT_EQ(world.cold.gets[Space::Part], 0u);
    return std::string();
  });
  EXPECT_EQ(world.how(), "failed NON_RETRYABLE at p");
}

}  // namespace
}  // namespace pawl
