// tests/golden/v4-scripts, v5-nested, v6-turns: journals of runs of definitions. See
// golden_test.cc.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/mutable_state.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/run_world.h"
#include "kernel/testing/script_world.h"
#include "plan/ojs/plan_node.h"

namespace pawl {
namespace {

constexpr const char* kLife =
    "timeout: 1h\n"
    "on_complete: {id: cheer, action: x}\n"
    "on_error: {id: tell, action: x}\n"
    "steps:\n"
    "- {id: a, action: x, retry: {max: 1, delay: 1s}, compensate: {action: undo}}\n"
    "- {id: l, type: loop, depends_on: [a], config: {over: [1, 2], body: [{id: b, action: x}]}}\n"
    "- {id: p, type: parallel, depends_on: [a], config: {mode: race, branches: [{id: q, type: "
    "reasoning, config: {prompt_context: p, options: [y, n]}}, {id: w, type: wait, config: "
    "{signal: go}}]}}\n"
    "- {id: f, action: x, depends_on: [l, p], on_error: {strategy: fallback_step, fallback_step: "
    "g}}\n"
    "- {id: g, action: x}\n"
    "- {id: z, action: x, depends_on: [f], on_failure: rollback}\n";

// One life after another, until every event of a run has happened.
void live_scripts(ScriptWorld& world) {
  world.begin(kLife, R"({"n":1})");
  world.fail("a");
  world.wait(1000);
  world.done("a", R"({"id":7})");
  world.signal("data", "", R"({"k":1})");
  world.done("l.iter_0.b", "1");
  world.pause(true);
  world.resume();
  world.signal("early");
  world.done("l.iter_1.b", "2");
  world.decide("p.branch_0.q", "y");
  world.fail("f");
  world.done("g");
  world.fail("z");
  world.done("a.compensate.undo");
  world.done("on_error.tell");
  world.retry();
  world.done("a");
  world.done("z");
  world.done("on_complete.cheer");

  world.begin(
      "steps: [{id: a, action: x}, {id: w, type: wait, depends_on: [a], config: {signal: go}}]");
  world.signal("go");
  world.extend(
      "steps: [{id: a, action: x}, {id: w, type: wait, depends_on: [a], config: {signal: go}}, "
      "{id: "
      "n, action: workflow.context, params: {action: update, data: {v: 2}}}]");
  world.done("a");

  world.begin("steps: [{id: a, action: x}]");
  world.act([&](Frame& f) {
    f.emit(ScriptYielded{world.run_id()});  // as after twenty thousand events
    return ok_status();
  });
  world.wait(1);
  world.cancel();
}

void write_golden(const ScriptWorld& world, const std::string& name) {
  std::ofstream journal(name + ".journal");
  for (const std::string& record : world.journal()) journal << to_hex(record) << "\n";
  std::ofstream(name + ".digest") << world.state().digest() << "\n";
}

// Runs within runs that wait for people, steps that are timed again, and texts with a limit.
void live_nested(ScriptWorld& world) {
  world.define("asks", "steps: [{id: w, type: wait, config: {signal: go}}, {id: a, action: x}]",
               "v1");
  world.begin("steps: [{id: c, type: subworkflow, config: {definition: asks}}]");
  world.look_at(RunId(child_id(world.run(), world.effect_of("c"))));
  world.done("a");
  world.pause();
  world.resume();
  world.signal("go");

  world.begin("steps: [{id: c, type: subworkflow, config: {definition: asks}}]");  // stays so
  world.look_at(RunId(child_id(world.run(), world.effect_of("c"))));
  world.done("a");

  world.begin(
      "steps: [{id: s, type: sequence, timeout: 10s, config: {steps: [{id: a, action: x}]}}]");
  world.fail("s.seq.a");
  world.retry();

  constexpr const char* kBounded = "max_concurrent: 1\nsteps: [{id: a, action: x}]";
  world.begin(kBounded);
  world.begin(kBounded);
}

// Runs that have more to evaluate than one frame may.
void live_in_turns(ScriptWorld& world) {
  constexpr const char* kDearGolden = "[1,2,3,4,5,6].all(a, [1,2,3,4,5,6].all(b, a + b > 0))";
  std::string text = "outputs: {";
  for (std::string name : {"o", "p", "q", "r"})
    text += (name == "o" ? "" : ", ") + name + ": '${{ " + kDearGolden + " }}'";
  text += "}\nsteps:\n";
  for (std::string name : {"a", "b", "c", "d"})
    text += "- {id: " + name + ", condition: '" + kDearGolden +
            "', action: workflow.log, params: " + "{message: hi}}\n";
  world.begin(text);
  while (world.how() == "active") world.wait(1);
  world.begin(text);
  world.wait(1);  // stays so

  std::vector<PlanNode> guarded(8, when(std::string("!") + kDearGolden));
  guarded.push_back(step());
  PlanNode plan = chain(guarded);
  world.act([&](Frame& f) -> Status {
    PAWL_TRY_DO(create_run(f, plan, ""));
    return ok_status();
  });
  for (int i = 0; i < 10; ++i) world.wait(1);
}

// Rollbacks: one that comes to its end, one that is tried again, one that is under way.
void live_undone(ScriptWorld& world) {
  constexpr const char* kUndoes =
      "on_failure: rollback\nsteps:\n"
      "- {id: a, action: x, compensate: {action: y}}\n"
      "- {id: b, action: x, depends_on: [a], compensate: {action: y, retry: {max: 1}}}\n"
      "- {id: c, action: x, depends_on: [b]}";
  auto fail_last = [&] {
    world.begin(kUndoes);
    world.done("a");
    world.done("b");
    world.fail("c", "EXECUTION_ERROR", false);
  };
  fail_last();
  world.done("b.compensate.undo");
  world.done("a.compensate.undo");

  fail_last();
  world.done("b.compensate.undo");
  world.fail("a.compensate.undo", "EXECUTION_ERROR", false);
  world.retry();
  world.done("a.compensate.undo");
  world.retry();

  fail_last();
  world.done("b.compensate.undo");  // stays so
}

TEST(Golden, DISABLED_WriteUndone) {
  ScriptWorld world;
  live_undone(world);
  write_golden(world, "tests/golden/v7-undone");
}

TEST(Golden, DISABLED_WriteInTurns) {
  StateConfig config;
  config.scripts.frame_allowance = 300;
  ScriptWorld world(false, config);
  live_in_turns(world);
  write_golden(world, "tests/golden/v6-turns");
}

TEST(Golden, DISABLED_WriteScripts) {
  ScriptWorld world;
  live_scripts(world);
  write_golden(world, "tests/golden/v4-scripts");
}

TEST(Golden, DISABLED_WriteNested) {
  ScriptWorld world;
  live_nested(world);
  write_golden(world, "tests/golden/v5-nested");
}

}  // namespace
}  // namespace pawl
