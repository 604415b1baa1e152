// PartitionWorld: one partition of several, with its engine on a memory store, its courier, and a
// door where batches arrive.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "courier/courier.h"
#include "courier/take_messages.h"
#include "engine/testing/engine_world.h"

namespace pawl {

struct PartitionWorld {
  PartitionWorld(CourierDesk& desk, uint16_t partition, uint16_t partitions, Transport transport);
  ~PartitionWorld() { stop(); }

  void stop();
  void restart();
  void put(const std::string& key, const std::string& value, DocKind kind = DocKind::Secret);
  std::string doc(const std::string& key, DocKind kind = DocKind::Secret);
  // Waits until everybody has taken what this one has sent to everybody.
  Status all_taken(int64_t wait_ms = 600'000);
  uint64_t commits() const { return engine.engine->stats().batches; }

  CourierDesk& desk;
  CourierConfig config;
  Transport transport;
  OutboxBell bell;
  EngineWorld engine;
  std::unique_ptr<Courier> courier;
};

}  // namespace pawl
