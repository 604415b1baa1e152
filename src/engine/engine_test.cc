#include "engine/engine.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "engine/testing/engine_world.h"
#include "kernel/scripts/run.h"

namespace pawl {
namespace {

// Holds the engine thread until released, so that a test knows which tasks wait.
struct Hold {
  std::latch entered{1};
  std::latch let_go{1};
  TestTaskPtr task =
      std::make_shared<TestTask>([this](Frame&, bool, std::string&) -> std::optional<Parking> {
        entered.count_down();
        let_go.wait();
        return std::nullopt;
      });
};

std::unique_ptr<Backing> sqlite_backing() { return std::make_unique<SqliteBacking>(); }

TEST(Engine, EveryAcknowledgedPushIsThereAfterARestart) {
  for (auto make : {+[] { return std::unique_ptr<Backing>(new MemoryBacking); }, &sqlite_backing}) {
    EngineWorld world(make());
    for (const TestTaskPtr& task : push_from_threads(world, 4, 200))
      EXPECT_EQ(task->wait(), "ok pushed");
    EXPECT_EQ(world.engine->stats().tasks, 800u);
    world.restart();
    EXPECT_EQ(world.engine->recovery().records, 0u) << "stopping writes the rows";
    EXPECT_EQ(world.jobs_stored(), 800u);
  }
}

TEST(Engine, StopAnswersEverythingThatWasTaken) {
  EngineWorld world;
  std::vector<TestTaskPtr> tasks;
  for (int i = 0; i < 500; ++i) tasks.push_back(world.submit(push_task()));
  auto parked = world.submit(fetch_task({"other"}, 60'000));
  world.engine->stop();
  for (const TestTaskPtr& task : tasks) EXPECT_EQ(task->outcome(), "ok pushed");
  EXPECT_EQ(parked->outcome(), "ok empty") << "it waits no more";
  EXPECT_EQ(world.submit(push_task())->outcome(), "refused unavailable");
  EXPECT_EQ(world.jobs_stored(), 500u);
}

TEST(Engine, AParkedFetchIsServedByALaterPush) {
  EngineWorld world;
  auto fetch = world.submit(fetch_task({"q"}, 60'000));
  auto push = world.submit(push_task(typed("a")));
  EXPECT_EQ(push->wait() + ", " + fetch->wait(), "ok pushed, ok a");
}

struct Heavy : TestTask {
  using TestTask::TestTask;
  size_t weight() const override { return bytes; }
  size_t bytes = kHeavyBytes;
};

// An engine on a given type of store.
template <class TestStore>
struct EngineOn {
  MemoryBacking backing;
  std::unique_ptr<Store> inner = std::move(backing.open()).value();
  TestStore store{*inner};
  TestClock clock;
  TestRandom random;
  std::unique_ptr<EngineLoop> engine =
      std::move(EngineLoop::start(store, {}, clock, random)).value();
};

// A request of megabytes does not delay small ones that come after it.
TEST(Engine, HeavyTasksStandBackBehindLightOnes) {
  EngineWorld world;
  Hold hold;
  world.submit(hold.task);
  hold.entered.wait();
  std::string order;
  auto noting = [&](char name) {
    return [&order, name](Frame&, bool, std::string&) -> std::optional<Parking> {
      order += name;
      return std::nullopt;
    };
  };
  std::vector<TestTaskPtr> tasks;
  tasks.push_back(world.submit(std::make_shared<Heavy>(noting('H'))));
  tasks.push_back(world.submit(std::make_shared<TestTask>(noting('a'))));
  tasks.push_back(world.submit(std::make_shared<TestTask>(noting('b'))));
  hold.let_go.count_down();
  for (const TestTaskPtr& task : tasks) task->wait();
  EXPECT_EQ(order, "abH");
}

// Long reads delay only readers: once the reads of a batch have used their time, writes come first.
TEST(Engine, ReadsThatTakeLongStandBackBehindWhatWrites) {
  struct Read : TestTask {
    using TestTask::TestTask;
    bool only_reads() const override { return true; }
  };
  EngineConfig config;
  config.reads_ns_max = 0;  // one read
  MemoryBacking backing;
  auto store = std::move(backing.open()).value();
  TestClock clock;
  TestRandom random;
  auto engine = std::move(EngineLoop::start(*store, config, clock, random)).value();
  Hold hold;
  ASSERT_TRUE(engine->submit(hold.task).ok());
  hold.entered.wait();
  std::string order;
  auto noting = [&](char name) {
    return [&order, name](Frame&, bool, std::string&) -> std::optional<Parking> {
      order += name;
      return std::nullopt;
    };
  };
  std::vector<TestTaskPtr> tasks;
  for (char name : {'1', '2', '3', 'a', 'b'}) {
    const bool reads = name < 'a';
    tasks.push_back(reads ? std::make_shared<Read>(noting(name))
                          : std::make_shared<TestTask>(noting(name)));
    ASSERT_TRUE(engine->submit(tasks.back()).ok());
  }
  hold.let_go.count_down();
  for (const TestTaskPtr& task : tasks) EXPECT_EQ(task->wait(), "ok ");
  EXPECT_EQ(order, "1ab23");
}

// A store in which commits of megabytes wait until released.
class SlowStore : public FailingStore {
 public:
  using FailingStore::FailingStore;
  Status commit(const Batch& batch) override {
    const bool heavy = batch.journal.size() >= Task::kHeavyBytes;
    if (!batch.journal.empty()) commits += heavy ? 'H' : 'l';
    if (heavy && commits.size() == 1) {
      begun.count_down();
      let_go.wait();
    }
    return FailingStore::commit(batch);
  }
  std::string commits;
  std::latch begun{1};
  std::latch let_go{1};
};

// A small request waits for one large one and its commit, never for a second: during a commit of
// megabytes no other heavy task begins, however long it has been deferred, and it joins no batch
// with other tasks.
TEST(Engine, HeavyTasksWaitForTheCommitOfHeavyOnes) {
  EngineOn<SlowStore> world;
  SlowStore& store = world.store;
  EngineLoop* engine = world.engine.get();
  std::mutex mutex;
  std::string order;
  auto note = [&](char name) {
    std::lock_guard lock(mutex);
    order += name;
  };
  auto heavy = [&](char name) {
    return std::make_shared<Heavy>(
        [&, name](Frame& frame, bool, std::string&) -> std::optional<Parking> {
          note(name);
          NewJob job = new_job();
          job.spec = std::string(Task::kHeavyBytes, 'x');
          EXPECT_TRUE(push_jobs(frame, {job}).ok());
          return std::nullopt;
        });
  };
  std::vector<TestTaskPtr> tasks{heavy('1'), heavy('2')};
  ASSERT_TRUE(engine->submit(tasks[0]).ok());
  store.begun.wait();
  ASSERT_TRUE(engine->submit(tasks[1]).ok());
  for (int i = 0; i < 20; ++i) {
    std::latch decided(1);
    tasks.push_back(
        std::make_shared<TestTask>([&](Frame& frame, bool, std::string&) -> std::optional<Parking> {
          note('a');
          EXPECT_TRUE(push_jobs(frame, {new_job()}).ok());
          decided.count_down();
          return std::nullopt;
        }));
    ASSERT_TRUE(engine->submit(tasks.back()).ok());
    decided.wait();
  }
  store.let_go.count_down();
  for (const TestTaskPtr& task : tasks) task->wait();
  EXPECT_EQ(order, "1" + std::string(20, 'a') + "2");
  engine->stop();
  EXPECT_EQ(store.commits, "HlH");
}

// While checkpoints lag behind, megabytes wait and small requests do not.
TEST(Engine, HeavyTasksWaitWhileTheStoreIsCongested) {
  struct CongestedStore : FailingStore {
    using FailingStore::FailingStore;
    bool congested() const override { return full; }
    std::atomic<bool> full = true;
  };
  EngineOn<CongestedStore> world;
  CongestedStore& store = world.store;
  EngineLoop* engine = world.engine.get();
  std::atomic<bool> begun = false;
  auto heavy = std::make_shared<Heavy>([&](Frame&, bool, std::string&) -> std::optional<Parking> {
    begun = true;
    return std::nullopt;
  });
  heavy->bytes = Task::kLargeBytes;  // less than at other times
  ASSERT_TRUE(engine->submit(heavy).ok());
  for (int i = 0; i < 20; ++i) {
    auto light = push_task();
    ASSERT_TRUE(engine->submit(light).ok());
    EXPECT_EQ(light->wait(), "ok pushed");
  }
  EXPECT_FALSE(begun);
  store.full = false;
  EXPECT_EQ(heavy->wait(), "ok ");
  engine->stop();
}

// D5: after a failed commit no task may get "ok" while the disk fails, and none may be left
// waiting.
TEST(Engine, AFailedStoreRefusesEverything) {
  for (auto make : {+[] { return std::unique_ptr<Backing>(new MemoryBacking); }, &sqlite_backing}) {
    EngineWorld world(make());
    auto parked = world.submit(fetch_task({"other"}, 3'600'000));
    EXPECT_EQ(world.submit(push_task())->wait(), "ok pushed");
    world.backing->disk_fails = true;
    EXPECT_EQ(world.submit(push_task())->wait(), "refused store_failed");
    EXPECT_EQ(parked->wait(), "refused store_failed");
    ASSERT_TRUE(world.engine->failed().has_value());
    EXPECT_EQ(world.submit(push_task())->wait(), "refused store_failed");
    EXPECT_EQ(world.submit(fetch_task({"q"}, 1000))->wait(), "refused store_failed");
    world.engine->stop();
    EXPECT_TRUE(world.engine->failed().has_value());
    world.backing->disk_fails = false;
    world.restart();
    EXPECT_EQ(world.jobs_stored(), 1u);
  }
}

// Tasks that were decided during the failing commit saw a state that is now unknown.
TEST(Engine, WhatWasDecidedDuringAFailingCommitIsRefusedToo) {
  EngineWorld world;
  Hold hold;
  world.submit(hold.task);
  hold.entered.wait();
  std::vector<TestTaskPtr> tasks;
  for (int i = 0; i < 1000; ++i) tasks.push_back(world.submit(push_task()));
  auto parked = world.submit(fetch_task({"other"}, 3'600'000));
  world.backing->disk_fails = true;
  hold.let_go.count_down();
  for (const TestTaskPtr& task : tasks) EXPECT_EQ(task->wait(), "refused store_failed");
  EXPECT_EQ(parked->wait(), "refused store_failed");
}

TEST(Engine, TooManyWaitingAreRefusedNotLost) {
  EngineConfig config;
  config.inputs_max = 3;
  EngineWorld world(std::make_unique<MemoryBacking>(), config);
  Hold hold;
  world.submit(hold.task);
  hold.entered.wait();
  std::vector<TestTaskPtr> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(world.submit(push_task()));
  std::vector<TaskPtr> list(2);
  for (TaskPtr& task : list) tasks.push_back(push_task()), task = tasks.back();
  world.engine->submit(list);
  EXPECT_EQ(world.engine->stats().inputs_waiting, 3u);
  hold.let_go.count_down();
  std::string outcomes;
  for (const TestTaskPtr& task : tasks) outcomes += task->wait() == "ok pushed" ? "+" : "-";
  EXPECT_EQ(outcomes, "+++----");
  EXPECT_EQ(tasks[4]->outcome(), "refused overloaded");
  EXPECT_EQ(world.jobs_stored(), 3u);
}

TEST(Engine, AListGoesInWhole) {
  EngineWorld world;
  std::vector<TestTaskPtr> tasks;
  std::vector<TaskPtr> list;
  for (int i = 0; i < 50; ++i) list.push_back(tasks.emplace_back(push_task()));
  world.engine->submit(list);
  EXPECT_TRUE(list.empty());
  for (const TestTaskPtr& task : tasks) EXPECT_EQ(task->wait(), "ok pushed");
}

TEST(Engine, AListenerGetsEveryRecordOnceInOrder) {
  EngineWorld world;
  std::mutex mutex;
  std::vector<std::pair<uint64_t, std::string>> heard;
  uint64_t id =
      world.engine->listen([&](uint64_t number, const std::shared_ptr<const std::string>& record) {
        std::lock_guard lock(mutex);
        heard.emplace_back(number, *record);
      });
  push_from_threads(world, 3, 300);
  world.engine->stop();
  std::vector<std::pair<uint64_t, std::string>> stored;
  ASSERT_TRUE(world.store
                  ->read_journal(1, SIZE_MAX,
                                 [&](uint64_t number, std::string_view bytes) {
                                   return stored.emplace_back(number, bytes), true;
                                 })
                  .ok());
  EXPECT_EQ(heard, stored);
  EXPECT_FALSE(stored.empty());
  world.engine->unlisten(id);
}

TEST(Engine, NobodyListensAfterUnlistening) {
  EngineWorld world;
  std::atomic<int> heard{0};
  auto count = [&](uint64_t, const std::shared_ptr<const std::string>&) { ++heard; };
  uint64_t first = world.engine->listen(count);
  world.engine->listen(count);
  world.engine->unlisten(first);
  world.submit(push_task())->wait();
  world.engine->stop();
  EXPECT_EQ(heard, 1);
}

// A disk that fails when read: decisions based on a missing row are discarded.
TEST(Engine, AFailedReadRefusesEverything) {
  MemoryBacking backing;
  auto inner = std::move(backing.open()).value();
  TestClock clock;
  TestRandom random;
  {
    auto engine = std::move(EngineLoop::start(*inner, {}, clock, random)).value();
    auto push = push_task(typed("a"));
    ASSERT_TRUE(engine->submit(push).ok());
    engine->stop();
  }
  FailingStore store(*inner);
  auto engine = std::move(EngineLoop::start(store, {}, clock, random)).value();
  store.fail_reads(ErrorCode::StoreFailed);
  auto fetch = fetch_task({"q"}, 1000);
  ASSERT_TRUE(engine->submit(fetch).ok());
  EXPECT_EQ(fetch->wait(), "refused store_failed");
  EXPECT_EQ(engine->submit(push_task()).error().code, ErrorCode::StoreFailed);
}

}  // namespace
}  // namespace pawl
