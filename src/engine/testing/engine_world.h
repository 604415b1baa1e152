// An engine with its threads over a store that can be made to fail.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/testing/core_world.h"
#include "store/testing/backing.h"

namespace pawl {

struct EngineWorld {
  explicit EngineWorld(std::unique_ptr<Backing> on = std::make_unique<MemoryBacking>(),
                       const EngineConfig& with = {});
  void start();
  void restart();
  TestTaskPtr submit(TestTaskPtr task);
  // How many jobs the journal on disk says there are.
  uint64_t jobs_stored();

  std::unique_ptr<Backing> backing;
  EngineConfig config;
  TestClock clock;
  TestRandom random;
  std::unique_ptr<Store> store;
  std::unique_ptr<EngineLoop> engine;
};

std::vector<TestTaskPtr> push_from_threads(EngineWorld& world, int threads, int each);

}  // namespace pawl
