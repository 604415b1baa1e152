#include "kernel/scripts/script_cache.h"

#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/scripts/run.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

std::string text_with_steps(int steps, const std::string& name) {
  std::string text = R"({"name":")" + name + R"(","steps":[)";
  for (int i = 0; i < steps; ++i)
    text += (i > 0 ? "," : "") + (R"({"id":"s)" + std::to_string(i)) + R"(","action":"a.b"})";
  return text + "]}";
}

TEST(ScriptCache, ForgetsWhatWasAskedForLongestAgo) {
  ScriptCache once(SIZE_MAX);
  ASSERT_NE(once.get(text_with_steps(100, "x")), nullptr);
  ScriptCache cache(4 * once.bytes());
  for (const char* name : {"a", "b", "c", "d"}) (void)cache.get(text_with_steps(100, name));
  EXPECT_FALSE(cache.too_large());
  std::weak_ptr<const plan::Script> a = cache.get(text_with_steps(100, "a"));
  std::weak_ptr<const plan::Script> b = cache.get(text_with_steps(100, "b"));
  std::weak_ptr<const plan::Script> e = cache.get(text_with_steps(100, "e"));
  EXPECT_TRUE(cache.too_large());
  cache.trim();
  EXPECT_EQ(cache.bytes(), 2 * once.bytes());
  EXPECT_TRUE(a.expired());
  EXPECT_FALSE(b.expired());
  EXPECT_FALSE(e.expired());
}

TEST(ScriptCache, SaysThatATextCannotBeCompiled) {
  ScriptCache cache(SIZE_MAX);
  EXPECT_EQ(cache.get("{"), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
}

// Regression: runs of 256 definitions with 10,000 steps each held three gigabytes.
TEST(PlansOfRuns, AreNotKeptInMemoryForEachRunThatWaits) {
  StateConfig config;
  ScriptCache once(SIZE_MAX);
  (void)once.get(text_with_steps(500, "x"));
  config.plan_bytes_max = 2 * once.bytes();
  ScriptWorld world(false, config);
  std::vector<RunId> runs;
  std::vector<std::weak_ptr<const plan::Script>> plans;
  for (int i = 0; i < 20; ++i) {
    std::string rest = text_with_steps(500, "n" + std::to_string(i));
    rest.insert(rest.find('[') + 1, R"({"id":"w","type":"wait","config":{"signal":"go"}},)");
    EXPECT_EQ(world.begin(rest), "active");
    runs.push_back(world.run_id());
    plans.push_back(world.script().plan);
    world.mutable_state().evict();
  }
  auto alive =
      std::count_if(plans.begin(), plans.end(), [](auto& plan) { return !plan.expired(); });
  EXPECT_LE(alive, 2);
  // Each continues as if its plan had stayed in memory.
  for (const RunId& run : runs) {
    world.look_at(run);
    world.signal("go", "", "1");
    EXPECT_EQ(world.state().find_step(*world.state().find_run(run), "w")->state,
              StepState::Completed);
    world.mutable_state().evict();
  }
}

}  // namespace
}  // namespace pawl
