// The store fails under a running engine, and recovers.
#include <gtest/gtest.h>

#include <map>

#include "engine/testing/engine_world.h"
#include "kernel/scripts/run.h"

namespace pawl {
namespace {

std::unique_ptr<Backing> memory() { return std::make_unique<MemoryBacking>(); }
std::unique_ptr<Backing> sqlite() { return std::make_unique<SqliteBacking>(); }

// Counts jobs, and declares that it only reads.
class CountTask : public TestTask {
 public:
  CountTask()
      : TestTask([](Frame& frame, bool, std::string& found) -> std::optional<Parking> {
          uint64_t count = 0;
          frame.state().each_job(JobId(), false, SIZE_MAX,
                                 [&](const Job&) { return ++count, true; });
          found = std::to_string(count) + " jobs";
          return std::nullopt;
        }) {}
  bool only_reads() const override { return true; }
};

// Pushes until one is taken.
void push_until_taken(EngineWorld& world) {
  while (world.submit(push_task())->wait() != "ok pushed") std::this_thread::yield();
}

TEST(EngineOutage, WorkGoesOnByItselfWhenTheDiskIsBack) {
  for (auto make : {&memory, &sqlite}) {
    EngineWorld world(make());
    EXPECT_EQ(world.submit(push_task())->wait(), "ok pushed");
    for (uint64_t outage = 1; outage <= 3; ++outage) {
      world.backing->disk_fails = true;
      EXPECT_EQ(world.submit(push_task())->wait(), "refused store_failed");
      EXPECT_EQ(world.submit(push_task())->wait(), "refused store_failed");
      EXPECT_TRUE(world.engine->failed().has_value());
      world.backing->disk_fails = false;
      push_until_taken(world);
      EXPECT_FALSE(world.engine->failed().has_value());
      EXPECT_EQ(world.engine->stats().outages, outage);
    }
    auto fetch = world.submit(fetch_task({"other"}, 60'000));
    auto push = push_task(new_job({.queue = "other"}));
    EXPECT_EQ(world.submit(push)->wait(), "ok pushed");
    EXPECT_EQ(fetch->wait().substr(0, 2), "ok") << "parking works again";
    world.restart();
    EXPECT_EQ(world.jobs_stored(), 5u);
  }
}

// Every acknowledged job is there, whichever thread pushed it and whenever the disk failed.
TEST(EngineOutage, NothingAcknowledgedIsLostWhileThreadsPush) {
  for (auto make : {&memory, &sqlite}) {
    EngineWorld world(make());
    std::atomic<bool> stop = false;
    std::atomic<uint64_t> acknowledged = 0;
    std::vector<std::thread> pushers;
    for (int i = 0; i < 3; ++i)
      pushers.emplace_back([&] {
        while (!stop)
          if (world.submit(push_task())->wait() == "ok pushed") ++acknowledged;
      });
    for (int outage = 0; outage < 3; ++outage) {
      uint64_t before = acknowledged;
      while (acknowledged < before + 20) std::this_thread::yield();
      world.backing->disk_fails = true;
      while (!world.engine->failed()) std::this_thread::yield();
      world.backing->disk_fails = false;
      while (world.engine->failed()) std::this_thread::yield();
    }
    stop = true;
    for (std::thread& pusher : pushers) pusher.join();
    EXPECT_EQ(world.engine->stats().outages, 3u);
    world.restart();
    EXPECT_EQ(world.jobs_stored(), acknowledged);
  }
}

TEST(EngineOutage, ReadsAreAnsweredFromWhatIsDurable) {
  for (auto make : {&memory, &sqlite}) {
    EngineWorld world(make());
    world.submit(push_task())->wait();
    world.submit(push_task())->wait();
    world.backing->disk_fails = true;
    EXPECT_EQ(world.submit(push_task())->wait(), "refused store_failed");
    EXPECT_EQ(world.submit(std::make_shared<CountTask>())->wait(), "ok 2 jobs");
    auto count = std::make_shared<CountTask>();
    auto push = push_task();
    std::vector<TaskPtr> list = {push, count};
    world.engine->submit(list);
    EXPECT_EQ(push->wait() + ", " + count->wait(), "refused store_failed, ok 2 jobs");
  }
}

// A task that emits although it declared to only read must not leave the memory ahead of the disk.
TEST(EngineOutage, AReadThatEmitsIsRefusedAndUndone) {
  struct Liar : TestTask {
    Liar()
        : TestTask([](Frame& frame, bool, std::string&) -> std::optional<Parking> {
            return (void)push_jobs(frame, {new_job()}).ok(), std::nullopt;
          }) {}
    bool only_reads() const override { return true; }
  };
  EngineWorld world;
  world.submit(push_task())->wait();
  world.backing->disk_fails = true;
  world.submit(push_task())->wait();
  auto liar = std::make_shared<Liar>();
  ASSERT_TRUE(world.engine->submit(liar).ok());
  EXPECT_EQ(liar->wait(), "refused store_failed");
  EXPECT_EQ(world.submit(std::make_shared<CountTask>())->wait(), "ok 1 jobs");
}

// A batch may be on disk although its commit failed. Listeners get it once.
TEST(EngineOutage, ABatchThatIsThereAfterAllIsPublishedOnce) {
  auto backing = std::make_unique<MemoryBacking>();
  std::atomic<int> mode = 0;  // 1: the next commit fails after it was written; 2: all fail
  std::atomic<int> retries = 0;
  backing->disk->fault = [&](uint64_t) {
    int now = mode;
    if (now == 1) mode = 2;
    if (now == 2) ++retries;
    return now == 0 ? CommitFault::Ok : now == 1 ? CommitFault::FailAfter : CommitFault::FailBefore;
  };
  EngineWorld world(std::move(backing));
  std::mutex mutex;
  std::map<uint64_t, int> heard;
  std::vector<std::string> records;
  world.engine->listen([&](uint64_t number, const std::shared_ptr<const std::string>& record) {
    std::lock_guard lock(mutex);
    ++heard[number];
    records.push_back(*record);
  });
  EXPECT_EQ(world.submit(push_task())->wait(), "ok pushed");
  mode = 1;
  EXPECT_EQ(world.submit(push_task())->wait(), "refused store_failed");
  while (retries < 2) std::this_thread::yield();
  mode = 0;
  push_until_taken(world);
  world.engine->stop();
  std::vector<std::string> stored;
  ASSERT_TRUE(world.store
                  ->read_journal(1, SIZE_MAX,
                                 [&](uint64_t, std::string_view record) {
                                   return stored.emplace_back(record), true;
                                 })
                  .ok());
  EXPECT_EQ(records, stored);
  EXPECT_EQ(heard, (std::map<uint64_t, int>{{1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(world.jobs_stored(), 3u);
}

TEST(EngineOutage, StoppingWhileTheStoreFailsEndsAtOnce) {
  EngineWorld world;
  auto parked = world.submit(fetch_task({"other"}, 3'600'000));
  world.backing->disk_fails = true;
  world.submit(push_task())->wait();
  world.engine->stop();
  EXPECT_EQ(parked->outcome(), "refused store_failed");
  EXPECT_EQ(world.submit(push_task())->outcome(), "refused store_failed");
  EXPECT_EQ(world.submit(std::make_shared<CountTask>())->outcome(), "refused unavailable");
}

// Damage is not an outage: trying again could only make it worse. Nor is another owner, who will
// not give the partition back.
TEST(EngineOutage, AFinalFailureIsNotTriedAgain) {
  for (const ErrorCode code : {ErrorCode::Corrupt, ErrorCode::Fenced}) {
    const std::string name(wire_code(code));
    MemoryBacking backing;
    auto inner = std::move(backing.open()).value();
    FailingStore store(*inner);
    TestClock clock;
    TestRandom random;
    auto engine = std::move(EngineLoop::start(store, {}, clock, random)).value();
    store.fail_commits(code);
    auto push = push_task();
    ASSERT_TRUE(engine->submit(push).ok());
    EXPECT_EQ(push->wait(), "refused " + name);
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start <
           std::chrono::milliseconds(2 * EngineLoop::kRetryMsMin)) {
      auto count = std::make_shared<CountTask>();
      ASSERT_TRUE(engine->submit(count).ok());
      EXPECT_EQ(count->wait(), "ok 0 jobs");
    }
    EXPECT_EQ(store.reopened(), 0);
    EXPECT_EQ(engine->submit(push_task()).error().code, code);
  }
}

}  // namespace
}  // namespace pawl
