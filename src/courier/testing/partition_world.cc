#include "courier/testing/partition_world.h"

#include <future>
#include <utility>

#include "engine/waiting_task.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"

namespace pawl {
namespace {

EngineConfig engine_config(uint16_t partition, uint16_t partitions, OutboxBell& bell) {
  EngineConfig config;
  config.core.state.partition = partition;
  config.core.state.partitions = partitions;
  config.core.outbox_bell = &bell;
  return config;
}

}  // namespace

PartitionWorld::PartitionWorld(CourierDesk& on, uint16_t partition, uint16_t partitions,
                               Transport by)
    : desk(on),
      config{.partition = partition,
             .partitions = partitions,
             .batch = {},
             .retry_ms_min = 1,
             .retry_ms_max = 2,
             .settle_after_ms = 1},
      transport(std::move(by)),
      engine(std::make_unique<MemoryBacking>(), engine_config(partition, partitions, bell)) {
  courier = std::make_unique<Courier>(desk, config, transport);
  courier->start(*engine.engine, bell);
}

void PartitionWorld::stop() {
  courier = nullptr;
  engine.engine->stop();
}

void PartitionWorld::restart() {
  courier = nullptr;
  engine.restart();
  courier = std::make_unique<Courier>(desk, config, transport);
  courier->start(*engine.engine, bell);
}

void PartitionWorld::put(const std::string& key, const std::string& value, DocKind kind) {
  Status put = run_on_engine(
      *engine.engine, [&](Frame& frame) { put_doc(frame, kind, key, value); }, false);
  PAWL_CHECK(put.ok());
}

std::string PartitionWorld::doc(const std::string& key, DocKind kind) {
  std::string value = "none";
  auto read = [&](Frame& frame) {
    if (const Doc* doc = frame.state().find_doc(kind, key)) value = doc->value;
  };
  PAWL_CHECK(run_on_engine(*engine.engine, read, true).ok());
  return value;
}

Status PartitionWorld::all_taken(int64_t wait_ms) {
  std::promise<Status> told;
  courier->when_all_taken(wait_ms, [&](Status status) { told.set_value(std::move(status)); });
  return told.get_future().get();
}

}  // namespace pawl
