#include "engine/testing/engine_world.h"

#include "kernel/scripts/run.h"

namespace pawl {

EngineWorld::EngineWorld(std::unique_ptr<Backing> on, const EngineConfig& with)
    : backing(std::move(on)), config(with) {
  start();
}

void EngineWorld::start() {
  store = std::move(backing->open()).value();
  engine = std::move(EngineLoop::start(*store, config, clock, random)).value();
}

void EngineWorld::restart() {
  engine->stop();
  engine = nullptr;
  store = nullptr;
  start();
}

TestTaskPtr EngineWorld::submit(TestTaskPtr task) {
  Status status = engine->submit(task);
  if (!status.ok()) task->refuse(status.error());
  return task;
}

uint64_t EngineWorld::jobs_stored() {
  engine->stop();
  auto core = std::move(Core::open(*store, {}, clock, random)).value();
  uint64_t count = 0;
  core->state().each_job(JobId(), false, SIZE_MAX, [&](const Job&) { return ++count, true; });
  return count;
}

std::vector<TestTaskPtr> push_from_threads(EngineWorld& world, int threads, int each) {
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
