#include "kernel/scripts/admission.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernel/mutable_state.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

constexpr std::string_view kOneAtATime = R"({"name": "d", "max_concurrent": 1,
  "steps": [{"id": "a", "type": "action", "action": "http.get", "params": {}}]})";
constexpr std::string_view kTwoAtATime = R"({"name": "d", "max_concurrent": 2,
  "steps": [{"id": "a", "type": "action", "action": "http.get", "params": {}}]})";
constexpr std::string_view kFree = R"({"name": "e",
  "steps": [{"id": "a", "type": "action", "action": "http.get", "params": {}}]})";

// Runs with short names, and the status of all of them.
class GateWorld : public ScriptWorld {
 public:
  explicit GateWorld(bool restless, const StateConfig& config = {})
      : ScriptWorld(restless, config) {}

  std::string begin_as(const std::string& name, const std::string& definition,
                       int32_t priority = 0) {
    StartScript command;
    command.definition = definition;
    command.priority = priority;
    std::string how = start(command);
    runs_[name] = run_id();
    return how;
  }
  // Without registering the text.
  std::string begin_inline(const std::string& name, std::string_view text) {
    std::string how = begin(text);
    runs_[name] = run_id();
    return how;
  }
  // As in older versions, where unnamed texts were not distinguished.
  std::string begin_before(const std::string& name, const std::string& canonical, bool waits) {
    ScriptCreated created;
    act([&](Frame& f) {
      created.run = RunId(f.fresh_id());
      created.source = canonical;
      created.inputs = "{}";
      f.emit(created);
      waits ? wait_at_gate(f, created.run, definition_gate(""))
            : begin_script(f, created.run, false);
      return ok_status();
    });
    runs_[name] = created.run;
    look_at(created.run);
    return how();
  }
  void pick(const std::string& name) { look_at(runs_.at(name)); }
  // "x=active y=pending", after the timers have fired.
  std::string all() {
    wait(0);
    std::string line;
    for (const auto& [name, id] : runs_)
      line += (line.empty() ? "" : " ") + name + "=" +
              std::string(script_status_name(state().find_run(id)->script->status));
    return line;
  }
  std::string finish(const std::string& name) {
    pick(name);
    done("a");
    return all();
  }
  // The counts at every gate match the runs.
  void check_counts() {
    std::map<std::string, uint64_t> active;
    uint64_t pending = 0;
    state().each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
      if (!run.script) return true;
      if (run.script->status == ScriptStatus::Pending) ++pending;
      if (run.script->status != ScriptStatus::Active) return true;
      ++active[definition_gate(run.script->definition)];
      if (run.parent.run.is_nil()) ++active[server_gate()];
      return true;
    });
    for (const std::string& gate : {server_gate(), definition_gate("d"), definition_gate("e")})
      EXPECT_EQ(runs_at_work(state(), gate), active[gate]) << gate;
    uint64_t turns = 0;
    uint64_t waiting = 0;
    state().each_doc(DocKind::RunTurn, "", SIZE_MAX, [&](const Doc&) { return ++turns, true; });
    state().each_doc(DocKind::RunGate, "", SIZE_MAX, [&](const Doc& doc) {
      RunGate gate;
      EXPECT_TRUE(codec::decode(doc.value, gate));
      waiting += gate.waiting;
      return true;
    });
    EXPECT_EQ(turns, pending);
    EXPECT_EQ(waiting, pending);
  }
  const std::map<std::string, RunId>& runs() const { return runs_; }

 private:
  std::map<std::string, RunId> runs_;
};

StateConfig with_server_limit(uint64_t limit) {
  StateConfig config;
  config.scripts.max_concurrent = limit;
  return config;
}

class Admission : public testing::TestWithParam<bool> {};

TEST_P(Admission, TheNextOneBeginsWhenAnotherEnds) {
  GateWorld world(GetParam());
  world.define("d", kOneAtATime, "v1");
  EXPECT_EQ(world.begin_as("1", "d"), "active");
  EXPECT_EQ(world.begin_as("2", "d"), "pending");
  EXPECT_EQ(world.begin_as("3", "d"), "pending");
  EXPECT_EQ(world.all(), "1=active 2=pending 3=pending");
  EXPECT_EQ(world.finish("1"), "1=completed 2=active 3=pending");
  world.check_counts();
  EXPECT_EQ(world.finish("2"), "1=completed 2=completed 3=active");
  EXPECT_EQ(world.finish("3"), "1=completed 2=completed 3=completed");
  world.check_counts();
  EXPECT_EQ(world.state().find_doc(DocKind::RunGate, definition_gate("d")), nullptr);
  EXPECT_EQ(world.begin_as("4", "d"), "active");
}

TEST_P(Admission, PriorityGoesFirstThenAge) {
  GateWorld world(GetParam());
  world.define("d", kOneAtATime, "v1");
  world.begin_as("1", "d");
  world.begin_as("low", "d", -5);
  world.begin_as("old", "d");
  world.begin_as("young", "d");
  world.begin_as("high", "d", 9);
  EXPECT_EQ(world.finish("1"), "1=completed high=active low=pending old=pending young=pending");
  EXPECT_EQ(world.finish("high"),
            "1=completed high=completed low=pending old=active young=pending");
  world.pick("low");
  TurnStanding standing = standing_of(world.state(), world.run(), 10);
  EXPECT_EQ(standing.ahead, 1u);
  EXPECT_EQ(standing.limit, 1u);
  EXPECT_TRUE(standing_of(world.state(), world.run(), 0).more_ahead);
}

TEST_P(Admission, ASuspendedRunGivesItsPlaceAndTakesItBackAboveTheLimit) {
  GateWorld world(GetParam());
  world.define("d", kOneAtATime, "v1");
  world.begin_as("1", "d");
  world.begin_as("2", "d");
  world.pick("1");
  EXPECT_EQ(world.pause(true), "suspended paused");
  EXPECT_EQ(world.all(), "1=suspended 2=active");
  world.pick("1");
  EXPECT_EQ(world.resume(), "active");
  world.check_counts();
  world.begin_as("3", "d");
  EXPECT_EQ(world.finish("1"), "1=completed 2=active 3=pending");
  EXPECT_EQ(world.finish("2"), "1=completed 2=completed 3=active");
}

TEST_P(Admission, AWaitingRunCanBeCancelledOrPaused) {
  GateWorld world(GetParam());
  world.define("d", kOneAtATime, "v1");
  world.begin_as("1", "d");
  world.begin_as("2", "d");
  world.begin_as("3", "d");
  world.pick("2");
  EXPECT_EQ(world.cancel(), "cancelled");
  world.pick("3");
  EXPECT_EQ(world.pause(), "pending");
  EXPECT_EQ(world.finish("1"), "1=completed 2=cancelled 3=suspended");
  world.check_counts();
  world.pick("3");
  EXPECT_EQ(world.resume(), "active");
}

TEST_P(Admission, RejectRefusesWhatWouldWait) {
  GateWorld world(GetParam());
  world.define("d", R"({"name": "d", "max_concurrent": 1, "on_limit": "reject",
    "steps": [{"id": "a", "type": "action", "action": "http.get", "params": {}}]})",
               "v1");
  world.begin_as("1", "d");
  EXPECT_EQ(world.begin_as("2", "d"),
            "rejected rate_limited: Maximum concurrent workflow limit (1) reached");
}

TEST_P(Admission, TheServerHasALimitOfItsOwn) {
  GateWorld world(GetParam(), with_server_limit(2));
  world.define("d", kOneAtATime, "v1");
  world.define("e", kFree, "v1");
  world.begin_as("e1", "e");
  world.begin_as("e2", "e");
  EXPECT_EQ(world.begin_as("d1", "d"), "pending");
  EXPECT_EQ(world.begin_as("d2", "d"), "pending");
  EXPECT_EQ(world.begin_as("e3", "e"), "pending");
  // d2 waits for d1, which waits for the server; e3 goes before d2.
  EXPECT_EQ(world.finish("e1"), "d1=active d2=pending e1=completed e2=active e3=pending");
  world.check_counts();
  EXPECT_EQ(world.finish("e2"), "d1=active d2=pending e1=completed e2=completed e3=active");
  EXPECT_EQ(world.finish("d1"), "d1=completed d2=active e1=completed e2=completed e3=active");
  world.check_counts();
}

TEST_P(Admission, AChildHasNoPlaceOfItsOwnOnTheServerAndNeverWaitsForItsParent) {
  GateWorld world(GetParam(), with_server_limit(1));
  world.define("e", kFree, "v1");
  world.define("d", R"({"name": "d", "max_concurrent": 1, "inputs": {"deep": false}, "steps": [
      {"id": "again", "type": "subworkflow", "condition": "inputs.deep",
       "config": {"definition": "d", "inputs": {"deep": false}}},
      {"id": "a", "type": "action", "action": "http.get", "params": {}}]})",
               "v1");
  StartScript command;
  command.definition = "d";
  command.inputs = R"({"deep": true})";
  EXPECT_EQ(world.start(command), "active");
  EXPECT_EQ(runs_at_work(world.state(), definition_gate("d")), 2u);
  EXPECT_EQ(runs_at_work(world.state(), server_gate()), 1u);
  world.check_counts();
}

// A chain of runs that end at once is processed in a loop.
// A run that waits for the server holds a place of its definition; the active run needs that place
// for its child. The child must not wait for the run that waits for its parent.
TEST_P(Admission, AChildDoesNotWaitForWhoWaitsForItsParent) {
  StateConfig config;
  config.scripts.max_concurrent = 1;
  GateWorld world(GetParam(), config);
  world.define("d", kOneAtATime, "v1");
  world.define("e", kFree, "v1");
  world.define("p", R"({"name": "p", "steps": [
    {"id": "c", "type": "subworkflow", "config": {"definition": "d"}}]})",
               "v1");
  world.begin_as("first", "e");
  world.begin_as("parent", "p");
  world.begin_as("waits", "d");
  world.begin_as("behind", "d");
  EXPECT_EQ(world.all(), "behind=pending first=active parent=pending waits=pending");
  EXPECT_EQ(world.finish("first"), "behind=pending first=completed parent=active waits=pending");
  world.pick("parent");
  Uuid child = child_id(world.run(), world.effect_of("c"));
  world.look_at(RunId(child));
  EXPECT_EQ(world.how(), "active");
  world.done("a");
  EXPECT_EQ(world.all(), "behind=pending first=completed parent=completed waits=active");
  EXPECT_EQ(world.finish("waits"),
            "behind=active first=completed parent=completed waits=completed");
}

TEST_P(Admission, RunsThatEndAtOnceFollowEachOther) {
  GateWorld world(false);
  world.define("d", kOneAtATime, "v1");
  world.define("e", R"({"name": "d", "max_concurrent": 1, "steps": [
      {"id": "l", "type": "action", "action": "workflow.log", "params": {"message": "m"}}]})",
               "v1");
  StartScript blocker;
  blocker.definition = "d";
  world.start(blocker);
  RunId first = world.run_id();
  StoredDefinition quick;
  ASSERT_NE(find_definition(world.state(), "e", "", quick), nullptr);
  for (int i = 0; i < 50; ++i) {
    StartScript command;
    command.definition = "d";
    command.source = quick.canonical;
    EXPECT_EQ(world.start(command), "pending");
  }
  world.look_at(first);
  world.done("a");
  world.wait(0);
  world.check_counts();
  EXPECT_EQ(runs_at_work(world.state(), definition_gate("d")), 0u);
  size_t completed = 0;
  world.state().each_run(RunId(), false, SIZE_MAX, [&](const pawl::Run& run) {
    return completed += run.script->status == ScriptStatus::Completed ? 1 : 0, true;
  });
  EXPECT_EQ(completed, 51u);
}

// Random lives under both limits, with crashes: the counts are right after every operation, no
// admission exceeds a limit, and in the end every run has been admitted.
TEST_P(Admission, CountsHoldInRandomLives) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    GateWorld world(GetParam(), with_server_limit(3));
    world.define("d", kTwoAtATime, "v1");
    world.define("e", kFree, "v1");
    uint64_t chance = seed;
    auto draw = [&](uint64_t below) { return (chance = mix64(chance)) % below; };
    for (int i = 0; i < 60; ++i) {
      uint64_t what = draw(6);
      if (what < 2 || world.runs().empty()) {
        world.begin_as("r" + std::to_string(i), draw(2) == 0 ? "d" : "e",
                       static_cast<int32_t>(draw(3)));
      } else {
        auto at = std::next(world.runs().begin(), static_cast<long>(draw(world.runs().size())));
        world.pick(at->first);
        if (what == 2) world.done("a");
        if (what == 3) world.cancel();
        if (what == 4) world.pause(true);
        if (what == 5) world.resume();
      }
      world.wait(0);
      world.check_counts();
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << " after " << i;
    }
    auto any_is_live = [&] {
      return std::any_of(world.runs().begin(), world.runs().end(), [&](const auto& run) {
        return !is_terminal(world.state().find_run(run.second)->state);
      });
    };
    for (int round = 0; round < 100 && any_is_live(); ++round)
      for (const auto& [name, id] : world.runs()) {
        world.pick(name);
        world.resume();
        world.done("a");
        world.wait(0);
      }
    for (const auto& [name, id] : world.runs())
      EXPECT_TRUE(is_terminal(world.state().find_run(id)->state)) << name;
    world.check_counts();
  }
}

// An unnamed definition is identified by its text: its limit applies to runs of that text.
TEST_P(Admission, ATextWithoutANameHasALimitOfItsOwn) {
  auto text = [](const char* step) {
    return R"({"max_concurrent": 1, "steps": [{"id": "a", "action": ")" + std::string(step) +
           R"("}]})";
  };
  GateWorld world(GetParam());
  EXPECT_EQ(world.begin_inline("free", R"({"steps": [{"id": "a", "action": "x"}]})"), "active");
  EXPECT_EQ(world.begin_inline("x1", text("x")), "active");
  EXPECT_EQ(world.begin_inline("y1", text("y")), "active");
  EXPECT_EQ(world.begin_inline("x2", text("x")), "pending");
  EXPECT_EQ(standing_of(world.state(), world.run(), 10).active, 1u);
  EXPECT_EQ(world.finish("y1"), "free=active x1=active x2=pending y1=completed");
  // Extending a run does not change its definition.
  world.pick("x1");
  world.extend(
      R"({"max_concurrent": 1, "steps": [{"id": "a", "action": "x"}, {"id": "b", "action": "x"}]})");
  world.done("b");
  EXPECT_EQ(world.finish("x1"), "free=active x1=completed x2=active y1=completed");
  EXPECT_EQ(world.finish("x2"), "free=active x1=completed x2=completed y1=completed");
  EXPECT_EQ(world.begin_inline("x3", text("x")), "active");
}

// Runs of older versions keep waiting at their gate, and are admitted there.
TEST_P(Admission, RunsOfAnOlderJournalKeepTheirGate) {
  GateWorld world(GetParam());
  constexpr std::string_view kText =
      R"({"max_concurrent": 1, "steps": [{"id": "a", "action": "x"}]})";
  EXPECT_EQ(world.begin_inline("new1", kText), "active");
  std::string canonical = world.script().source;
  EXPECT_EQ(world.begin_before("old1", canonical, false), "active");
  EXPECT_EQ(world.begin_before("old2", canonical, true), "pending");
  EXPECT_EQ(world.begin_inline("new2", kText), "pending");
  EXPECT_EQ(world.finish("new1"), "new1=completed new2=active old1=active old2=pending");
  EXPECT_EQ(world.finish("old1"), "new1=completed new2=active old1=completed old2=active");
  EXPECT_EQ(world.finish("old2"), "new1=completed new2=active old1=completed old2=completed");
  EXPECT_EQ(runs_at_work(world.state(), definition_gate("")), 0u);
}

// A limit that is lifted while the server is down admits all waiting runs.
TEST(AdmissionAtStart, WhatWaitedBeginsAfterARestart) {
  GateWorld world(false, with_server_limit(1));
  world.define("e", kFree, "v1");
  world.begin_as("1", "e");
  world.begin_as("2", "e");
  world.pick("1");
  world.pause(true);
  world.collect(SIZE_MAX);
  world.commit_rows();
  world.crash();
  EXPECT_EQ(world.all(), "1=suspended 2=active");
}

INSTANTIATE_TEST_SUITE_P(Told, Admission, testing::Bool(), [](const auto& told) {
  return std::string(told.param ? "WithCrashes" : "InMemory");
});

// --- what the server sets for runs

std::string with_defaults(const ScriptDefaults& defaults, std::string_view text,
                          FunctionRef<std::string(ScriptWorld&)> tell) {
  StateConfig config;
  config.scripts = defaults;
  ScriptWorld world(true, config);
  world.begin(text);
  return tell(world);
}

TEST(ScriptDefaults, AStepWithoutATimeoutHasTheServers) {
  ScriptDefaults defaults;
  defaults.step_timeout_ms = 5'000;
  EXPECT_EQ(with_defaults(defaults, kFree,
                          [](ScriptWorld& world) {
                            std::string before = world.wait(4'999);
                            return before + ", " + world.wait(1);
                          }),
            "active, failed TIMEOUT_ERROR at a");
  EXPECT_EQ(with_defaults(defaults, R"({"name": "w", "steps": [
      {"id": "w", "type": "wait", "config": {"duration": "1h"}}]})",
                          [](ScriptWorld& world) { return world.wait(10'000); }),
            "active");
  EXPECT_EQ(with_defaults(defaults, R"({"name": "w", "steps": [
      {"id": "a", "type": "action", "action": "http.get", "params": {}, "timeout": "10s"}]})",
                          [](ScriptWorld& world) { return world.wait(6'000); }),
            "active");
}

TEST(ScriptDefaults, RetryWithoutAPolicyIsTheServers) {
  ScriptDefaults defaults;
  defaults.retry_attempts = 2;
  defaults.retry_delay_ms = 50;
  constexpr std::string_view kRetry = R"({"name": "r", "steps": [
      {"id": "a", "type": "action", "action": "http.get", "params": {}, "on_failure": "retry"}]})";
  EXPECT_EQ(with_defaults(defaults, kRetry,
                          [](ScriptWorld& world) {
                            world.fail("a");
                            world.wait(50);
                            return world.fail("a");
                          }),
            "failed EXECUTION_ERROR at a");
  EXPECT_EQ(with_defaults({}, kRetry,
                          [](ScriptWorld& world) {
                            world.fail("a");
                            world.wait(1'000);
                            return world.fail("a");
                          }),
            "active");
}

TEST(ScriptDefaults, OneStepAtATime) {
  ScriptDefaults defaults;
  defaults.parallel_steps = false;
  EXPECT_EQ(with_defaults(defaults, R"({"name": "p", "steps": [
      {"id": "a", "type": "action", "action": "http.get", "params": {}},
      {"id": "b", "type": "action", "action": "http.get", "params": {}},
      {"id": "p", "type": "parallel", "config": {"branches": [
        [{"id": "x", "type": "action", "action": "http.get", "params": {}}],
        [{"id": "y", "type": "action", "action": "http.get", "params": {}}]]}}]})",
                          [](ScriptWorld& world) {
                            std::string line;
                            for (int i = 0; i < 4; ++i) {
                              std::string step = world.asked();
                              line += step + " ";
                              world.done(step);
                            }
                            return line + world.how();
                          }),
            "a b p.branch_0.x p.branch_1.y completed");
}

}  // namespace
}  // namespace pawl
