// Random definitions with random outcomes. Independent of memory contents, a run of a definition is
// the same (I2), requests exactly its open effects (I3), and ends as a plain interpreter predicts.
#include <gtest/gtest.h>

#include <set>

#include "kernel/mutable_state.h"
#include "kernel/scripts/model.h"
#include "kernel/scripts/open_lists.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

using Safe = std::set<std::string>;

void collect_safe(const std::vector<ModelStep>& steps, Safe& safe) {
  for (const ModelStep& step : steps) {
    if (step.safe) safe.insert(step.id);
    for (const auto& list : step.lists) collect_safe(list, safe);
  }
}

class Driver {
 public:
  Driver(ScriptWorld& world, uint64_t seed, const std::vector<ModelStep>& root)
      : world_(world), seed_(seed) {
    collect_safe(root, safe_);
  }

  uint64_t pick(uint64_t bound) { return mix64(seed_ ^ mix64(++picks_ << 20)) % bound; }

  // Answers an effect, or advances the time. False if the run has ended.
  bool move() {
    if (is_terminal(world_.run().state)) return false;
    const OpenEffects& effects = world_.script().effects;
    std::vector<OpenEffect> open(effects.begin(), effects.end());
    if (!open.empty()) return answer(open[pick(open.size())]), true;
    std::string question = pending_decision();
    if (!question.empty()) return world_.decide(question, "y"), true;
    int64_t due = world_.state().next_due_ms();
    EXPECT_NE(due, 0) << "nothing will ever move it: " << world_.how() << " " << world_.steps();
    if (due == 0) return false;
    world_.wait(std::max<int64_t>(due - world_.now_ms, 0));
    return true;
  }

 private:
  void answer(const OpenEffect& open) {
    // A repeated request for the same attempt, as after a crash, counts once.
    if (counted_.emplace(open.effect).second) ++asked_[open.step];
    bool safe = safe_.count(std::string(split_step(open.step).second)) != 0;
    ModelOutcome outcome = model_outcome(seed_, open.step, asked_[open.step], safe);
    if (outcome.ok) {
      world_.done(open.step, R"({"n":)" + std::to_string(outcome.n) + "}");
    } else {
      world_.fail(open.step, "E", outcome.retryable);
    }
  }
  std::string pending_decision() const {
    for (const std::string& path : world_.script().live)
      for (const StepRecord& record : world_.state().find_scope(world_.run(), path)->records)
        if (!record.decision.empty()) return join_path(path, record.id);
    return "";
  }

  ScriptWorld& world_;
  uint64_t seed_;
  uint64_t picks_ = 0;
  Safe safe_;
  std::set<uint32_t> counted_;
  std::map<std::string, int> asked_;
};

StateConfig tiny_windows() {
  StateConfig config;
  config.resident_jobs_max = config.resident_runs_max = 1;
  config.timer_window_max = 2;
  return config;
}

void disturb(ScriptWorld& world, uint64_t draw) {
  if (draw % 4 == 0) world.collect(SIZE_MAX);
  if (draw % 3 == 0) world.commit_rows();
  if (draw % 5 == 0) world.evict();
  if (draw % 7 == 0) world.crash();
}

TEST(ScriptProperty, ARunEndsAsAPlainInterpreterSays) {
  size_t failures = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    std::vector<ModelStep> root = RandomScript(mix64(seed)).root();
    std::string text = RandomScript::definition(root).json();
    ScriptWorld world(false, tiny_windows());
    Driver driver(world, seed, root);
    world.begin(text);
    for (int i = 0; i < 3000 && driver.move(); ++i) disturb(world, driver.pick(1000));
    ScriptModel model(seed);
    std::string expected = model.run(root);
    failures += expected != "completed";
    ASSERT_EQ(world.how(), expected) << "seed " << seed << "\n" << text << "\n" << world.steps();
    size_t steps = 0;
    world.state().each_scope(world.run(), "", [&](const Scope& in) {
      for (uint32_t i = 0; i < in.records.size(); ++i) {
        const std::string& id = world.state().script_of(world.run())->at(in.list, i).id;
        std::string path = join_path(in.path, id);
        auto end = model.ends().find(path);
        EXPECT_NE(end, model.ends().end()) << "seed " << seed << " " << path;
        if (end == model.ends().end()) return false;
        const StepRecord& record = in.records[i];
        std::string state(step_state_name(record.state));
        if (record.state == StepState::Skipped) state += "(" + record.reason + ")";
        EXPECT_EQ(state, end->second.state) << "seed " << seed << " " << path << "\n" << text;
        bool known = record.state == StepState::Completed &&
                     end->second.output.find('?') == std::string::npos;
        if (known) {
          EXPECT_EQ(record.output, end->second.output) << "seed " << seed << " " << path;
        }
        ++steps;
      }
      return true;
    });
    ASSERT_EQ(steps, model.ends().size()) << "seed " << seed << "\n" << text;
    ASSERT_FALSE(testing::Test::HasFailure()) << world.steps();
  }
  EXPECT_GT(failures, 50u);  // both outcomes occur
}

// People interfere at any time; nothing is lost, nothing is requested twice, and the run can be
// ended.
TEST(ScriptProperty, WhateverPeopleDoTheJournalSaysWhatThereIs) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    std::vector<ModelStep> root = RandomScript(mix64(seed << 20)).root();
    ScriptWorld world(false, tiny_windows());
    Driver driver(world, seed, root);
    world.begin(RandomScript::definition(root).json());
    for (int i = 0; i < 60; ++i) {
      switch (driver.pick(12)) {
        case 0:
          world.pause(driver.pick(2) == 0);
          break;
        case 1:
          world.resume();
          break;
        case 2:
          if (driver.pick(4) == 0) world.cancel(driver.pick(2) == 0);
          break;
        case 3:
          world.retry();
          break;
        case 4: {
          std::vector<std::string> paths;
          world.state().each_scope(world.run(), "", [&](const Scope& in) {
            for (const StepRecord& record : in.records)
              if (!record.id.empty()) paths.push_back(join_path(in.path, record.id));
            return true;
          });
          if (paths.empty()) break;
          const std::string& path = paths[driver.pick(paths.size())];
          driver.pick(2) == 0 ? world.retry(path) : world.signal("skip", path);
          break;
        }
        default:
          if (!world.script().paused) driver.move();
      }
      disturb(world, driver.pick(1000));
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << " " << world.steps();
    }
    world.resume();
    for (int i = 0; i < 3000 && driver.move(); ++i) {
    }
    ASSERT_TRUE(is_terminal(world.run().state)) << "seed " << seed << " " << world.steps();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace pawl
