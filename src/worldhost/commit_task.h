// CommitTask: makes what a batch of orders wrote to a world part of the state, in one frame of the
// engine.
//
// The world must still have the height that the batch was decided from; for a new world, its name
// and its id must still be free. Otherwise (the store failed and came back with less, or another
// world took the name first) nothing is emitted, and the orders are decided again.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/task.h"
#include "journal/settings_events.h"
#include "journal/world_events.h"
#include "worlds/table.h"

namespace pawl {

struct WorldWrites {
  Uuid world;
  std::string name;
  std::optional<uint64_t> height_before;  // nullopt: there must be no world of this name
  bool creates = false;
  bool removes = false;  // the world's name is free again; its items go later
  worlds::Overlay::Writes items;
  std::vector<InstanceMoved> moved;
  std::vector<DocPut> docs;  // besides the world's items: kept answers
  size_t bytes = 0;
  // WorldMemory::refusals. If the count has changed since the batch began, the batch read from the
  // cache what a refused batch had written there, and is stale.
  std::shared_ptr<const std::atomic<uint64_t>> refusals;
  uint64_t refusals_seen = 0;
};

enum class CommitFate : uint8_t { Durable, Stale, Refused };

class CommitTask : public Task {
 public:
  // decided: engine's thread, the state holds the writes (or is Stale). over: any thread, once.
  CommitTask(WorldWrites writes, std::function<void(bool stale)> decided,
             std::function<void(CommitFate, const Error&)> over)
      : writes_(std::move(writes)), decided_(std::move(decided)), over_(std::move(over)) {}

  std::optional<Parking> decide(Frame& frame, bool last_call) override;
  void durable(Wakes& wakes) override;
  void refuse(const Error& error) override;
  size_t weight() const override { return writes_.bytes; }

 private:
  bool is_stale(const Frame& frame) const;
  void end_decision(bool stale);

  const WorldWrites writes_;
  std::function<void(bool stale)> decided_;
  const std::function<void(CommitFate, const Error&)> over_;
  bool stale_ = false;
};

// Names under which deleted worlds wait until their items are gone.
std::string deleted_world_key(const Uuid& world);

}  // namespace pawl
