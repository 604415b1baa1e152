// An engine with its threads over a store that can be made to fail. Test code.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/engine_test_world.h"
#include "store/store_backing.h"

namespace pawl {

struct EngineWorld {
  explicit EngineWorld(std::unique_ptr<Backing> on = std::make_unique<MemoryBacking>(),
                       const EngineConfig& with = {})
      : backing(std::move(on)), config(with) {
    start();
  }
  void start() {
    store = std::move(backing->open()).value();
    engine = std::move(EngineLoop::start(*store, config, clock, random)).value();
  }
  void restart() {
    engine->stop();
    engine = nullptr;
    store = nullptr;
    start();
  }
  TestTaskPtr submit(TestTaskPtr task) {
    Status status = engine->submit(task);
    if (!status.ok()) task->refuse(status.error());
    return task;
  }
  // How many jobs the journal on disk says there are.
  uint64_t jobs_stored() {
    engine->stop();
    auto core = std::move(Core::open(*store, {}, clock, random)).value();
    uint64_t count = 0;
    core->state().each_job(JobId(), false, SIZE_MAX, [&](const Job&) { return ++count, true; });
    return count;
  }

  std::unique_ptr<Backing> backing;
  EngineConfig config;
  TestClock clock;
  TestRandom random;
  std::unique_ptr<Store> store;
  std::unique_ptr<EngineLoop> engine;
};

inline std::vector<TestTaskPtr> push_from_threads(EngineWorld& world, int threads, int each) {
  std::vector<std::vector<TestTaskPtr>> tasks(static_cast<size_t>(threads));
  std::vector<std::thread> submitters;
  for (auto& mine : tasks)
    submitters.emplace_back([&world, &mine, each] {
      for (int i = 0; i < each; ++i) mine.push_back(world.submit(push_task()));
    });
  for (std::thread& thread : submitters) thread.join();
  std::vector<TestTaskPtr> all;
  for (auto& mine : tasks) all.insert(all.end(), mine.begin(), mine.end());
  return all;
}

}  // namespace pawl
