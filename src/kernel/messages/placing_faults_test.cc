// Runs whose members live at several partitions, while messages are lost, repeated and late and
// partitions restart: they end as if everything were in one partition.
#include <gtest/gtest.h>

#include "base/partition.h"
#include "kernel/jobs/job.h"
#include "kernel/messages/inbox.h"
#include "kernel/messages/outbox.h"
#include "kernel/testing/post.h"
#include "kernel/testing/run_world.h"

namespace pawl {
namespace {

StateConfig faults_config(uint16_t partition) {
  StateConfig config;
  config.partition = partition;
  config.partitions = 3;
  return config;
}

// A concurrency key whose home is this partition.
std::string limit_at(uint16_t home) {
  for (int i = 0;; ++i) {
    std::string key = "limit" + std::to_string(i);
    if (home_of(NameKind::Limit, "", key, 3) == home) return key;
  }
}

// One life of a random composition, whose jobs fail by their type; how it ends must not depend on
// where its jobs are.
class RandomPlacing {
 public:
  explicit RandomPlacing(uint64_t seed) : draws_(seed) {}

  PlanNode plan(int depth, bool spread) {
    const uint64_t kind = draw() % 4;
    std::vector<PlanNode> children;
    for (uint64_t i = 1 + draw() % 4; i > 0; --i)
      children.push_back(depth > 0 && draw() % 3 == 0 ? plan(depth - 1, spread) : job(spread));
    if (kind == 0) return chain(children);
    if (kind == 1) return group(children);
    if (kind == 2) {
      for (size_t i = 1; i < children.size(); ++i)
        if (draw() % 2 == 0) children[i].depends_on = {static_cast<uint32_t>(draw() % i)};
      return dag(children);
    }
    return batch(children);
  }
  uint64_t draw() { return mix64(++draws_); }

 private:
  PlanNode job(bool spread) {
    NewJob made;
    made.type = draw() % 6 == 0 ? "bad" : "good";
    const uint64_t where = draw() % 4;
    if (where < 3 && spread) made.limit = limit_at(static_cast<uint16_t>(where));
    return step(made);
  }

  uint64_t draws_;
};

// Ends the next job that waits in this world, as its type says.
bool work(RunWorld& world) {
  const std::string job = world.take();
  if (job.empty()) return false;
  const std::string type(type_of_spec(world.job(job).spec));
  type == "bad" ? world.nack(job) : world.ack(job);
  return true;
}

std::string end_alone(uint64_t seed) {
  RunWorld world;
  world.start(RandomPlacing(seed).plan(2, false));
  while (work(world)) {
  }
  return world.how("r1");
}

TEST(PlacingFaults, RunsEndAlikeWhateverTheWayDoes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RunWorld zero(faults_config(0));
    RunWorld one(faults_config(1));
    RunWorld two(faults_config(2));
    RunWorld* worlds[] = {&zero, &one, &two};
    Post post({&zero, &one, &two});
    RandomPlacing life(seed);
    zero.start(life.plan(2, true));
    for (int i = 0; i < 400; ++i) {
      const auto from = static_cast<uint16_t>(life.draw() % 3);
      const auto to = static_cast<uint16_t>((from + 1 + life.draw() % 2) % 3);
      const uint64_t what = life.draw() % 10;
      if (what < 4) {
        post.next(from, to);
      } else if (what < 6) {
        (void)work(*worlds[from]);
      } else if (what == 6) {  // one that was taken, or one too early
        const uint64_t number = first_unsettled(worlds[from]->state(), to) + life.draw() % 2;
        const uint64_t next = last_taken(worlds[to]->state(), from, to) + 1;
        if (number <= last_sent(worlds[from]->state(), to) && number != next) {
          const std::string told = post.offer(from, to, false, number);
          EXPECT_TRUE(told == "old" || told.find("rejected conflict") == 0) << told;
        }
      } else if (what == 7) {
        post.settle();
      } else if (what == 8) {
        worlds[from]->restart_from_rows();
      } else {
        const std::string before = worlds[from]->state().digest();
        worlds[from]->restart();
        ASSERT_EQ(worlds[from]->state().digest(), before) << seed;
      }
    }
    for (bool more = true; more;) {
      more = post.carry_all() > 0;
      for (RunWorld* each : worlds)
        while (work(*each)) more = true;
    }
    EXPECT_EQ(zero.how("r1"), end_alone(seed)) << seed;
    EXPECT_EQ(post.unsettled(), 0u);
  }
}

}  // namespace
}  // namespace pawl
