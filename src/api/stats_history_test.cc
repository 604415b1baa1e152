#include "api/stats_history.h"

#include <gtest/gtest.h>

#include "api/merge_patch.h"
#include "kernel/mutable_state.h"
#include "kernel/testing/world.h"
#include "plan/ojs/queue_name.h"

namespace pawl::api {
namespace {

constexpr int64_t kMinute = StatsHistory::kMinuteMs;

struct HistoryWorld : World {
  HistoryWorld() { now_ms -= now_ms % StatsHistory::kHourMs; }
  void sample() { history.sample(state(), now_ms); }
  // "enqueued/completed/failed" of each period.
  std::string told(const StatsScope& scope, int64_t period_ms, int64_t since_ms) {
    std::string line;
    for (const auto& [at_ms, tally] : history.periods(scope, period_ms, since_ms, now_ms + 1))
      line += (line.empty() ? "" : " ") + text(tally);
    return line;
  }
  std::string last_minute(const StatsScope& scope = {}) {
    return text(history.last_minute(scope, now_ms));
  }
  static std::string text(const Tally& tally) {
    return std::to_string(tally.enqueued) + "/" + std::to_string(tally.completed) + "/" +
           std::to_string(tally.failed);
  }

  StatsHistory history;
};

TEST(StatsHistory, CountsWhatHappensBetweenSamplesAndNothingFromBefore) {
  HistoryWorld world;
  world.push();
  world.sample();  // the base: existing jobs do not count
  EXPECT_EQ(world.last_minute(), "0/0/0");
  world.push();
  world.fetch(1);
  world.ack("j1");
  world.sample();
  EXPECT_EQ(world.last_minute(), "1/1/0");
  int64_t start_ms = world.now_ms;
  world.now_ms += kMinute;
  world.fetch(1);
  world.nack("j2", {.code = "E", .type = "E", .final = true});
  world.sample();
  EXPECT_EQ(world.last_minute(), "0/0/1");
  EXPECT_EQ(world.told({}, kMinute, start_ms), "1/1/0 0/0/1");
  EXPECT_EQ(world.told({}, 5 * kMinute, start_ms), "1/1/1");
  EXPECT_EQ(world.told({}, StatsHistory::kHourMs, start_ms), "1/1/1");
  world.revive("j2");
  world.sample();
  EXPECT_EQ(world.told({}, kMinute, start_ms), "1/1/0 0/0/1") << "one less is no failure undone";
}

TEST(StatsHistory, TellsQueuesAndTenantsApart) {
  HistoryWorld world;
  world.sample();
  NewJob other = new_job({.queue = scoped_queue("acme", "q")});
  world.push();
  world.push(other);
  world.push(other);
  world.sample();
  EXPECT_EQ(world.last_minute(), "3/0/0");
  EXPECT_EQ(world.last_minute({.tenant = "acme"}), "2/0/0");
  EXPECT_EQ(world.last_minute({.tenant = "acme", .queue = "x"}), "0/0/0");
}

// The history is bounded, and has nothing from before the first sample.
TEST(StatsHistory, ForgetsWhatIsOldest) {
  TallySeries series(1000, 3, 4);
  for (int64_t at = 0; at < 5; ++at) series.add(at * 1000, "q", {1, 0, 0});
  std::string starts;
  auto note = [&](int64_t at_ms, const Tally&) { starts += std::to_string(at_ms) + " "; };
  series.each(0, INT64_MAX, {}, note);
  EXPECT_EQ(starts, "2000 3000 4000 ");
  for (const char* queue : {"a", "b", "c", "d"}) series.add(4000, queue, {1, 0, 0});
  starts.clear();
  series.each(0, INT64_MAX, {}, note);
  EXPECT_EQ(starts, "4000 ");
  HistoryWorld world;
  EXPECT_EQ(world.told({}, kMinute, 0), "");
  world.sample();
  EXPECT_EQ(world.told({}, kMinute, 0), "0/0/0");
}

TEST(MergePatch, ReplacesMergesAndRemoves) {
  auto merged = [](const std::string& target, const std::string& patch) {
    auto a = json::parse(target);
    auto b = json::parse(patch);
    return merge_patch(a->root(), b->root());
  };
  EXPECT_EQ(merged(R"({"a":1,"b":{"c":1,"d":2}})", R"({"a":null,"b":{"d":3},"e":[null]})"),
            R"({"b":{"c":1,"d":3},"e":[null]})");
  EXPECT_EQ(merged(R"({"a":{"b":1}})", R"({"a":7})"), R"({"a":7})");
  EXPECT_EQ(merged(R"({"a":7})", R"({"a":{"b":null,"c":1}})"), R"({"a":{"c":1}})");
  EXPECT_EQ(merged("[1]", R"({"a":1})"), R"({"a":1})");
}

}  // namespace
}  // namespace pawl::api
