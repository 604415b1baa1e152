// EngineItems: the items of a world for a thread that is not the engine's: each read that the cache
// cannot answer is a task of the engine, and waits for it. An item may not be durable yet; what is
// decided from it is committed later, so no reply leaves before both are durable.
//
// Thread: the worker that has the world; EngineLoopLine: any, but connect() and cut() from the one
// that starts and stops the worlds.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "worldhost/item_cache.h"
#include "worlds/table.h"

namespace pawl {

// The way to the engine: a loop of its own threads, or the simulator's core.
class EngineLine {
 public:
  virtual ~EngineLine() = default;
  virtual Status submit(TaskPtr task) = 0;
  // Runs `read` where the state may be read; returns when it has.
  virtual Status read(FunctionRef<void(const State&)> read) = 0;
};

class EngineLoopLine final : public EngineLine {
 public:
  void connect(EngineLoop& engine);
  // Waits for calls that are inside the engine; later ones are refused.
  void cut();
  Status submit(TaskPtr task) override;
  Status read(FunctionRef<void(const State&)> read) override;

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  EngineLoop* engine_ = nullptr;  // guarded by mutex_
  size_t inside_ = 0;             // guarded by mutex_
};

class EngineItems final : public worlds::Table {
 public:
  EngineItems(EngineLine& line, const Uuid& world, ItemCache& cache)
      : line_(line), world_(world), cache_(cache) {}

  // Throw Unreadable if the engine cannot answer.
  std::optional<std::string> get(std::string_view key) override;
  void scan(std::string_view prefix, std::string_view from,
            FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  // Reads those that are not in the cache, all at once.
  void fetch(const std::vector<std::string>& keys);

 private:
  EngineLine& line_;
  const Uuid world_;
  ItemCache& cache_;
};

}  // namespace pawl
