// Settings of an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/skipped_events.h"
#include "kernel/state_config.h"

namespace pawl {

class CrashBook;
class EffectSink;
class OutboxBell;

struct RetentionConfig {
  int64_t finished_ms = 7LL * 24 * 3600 * 1000;  // 0 = for ever
  uint64_t finished_max = 20'000'000;            // finished jobs kept at most; 0 = no bound
  int64_t journal_ms = 7LL * 24 * 3600 * 1000;   // 0 = for ever
  uint64_t journal_records_max = 20'000'000;     // 0 = no bound
  int64_t sweep_every_ms = 10'000;
};

struct CoreConfig {
  StateConfig state;
  RetentionConfig retention;
  size_t dirty_max = 65'536;          // entities whose row is not written yet
  size_t tail_bytes_max = 64u << 20;  // journal that a restart may have to fold
  size_t rows_per_batch_max = 2'048;
  size_t batch_bytes_max = 4u << 20;  // an open batch past this is committed before more is decided
  size_t row_bytes_per_batch_max = 4u << 20;  // past this no more rows are added
  size_t row_bytes_awaited_max = 1u << 20;    // of one entity, in a batch with waiting tasks
  size_t parked_max = 20'000;
  size_t recall_bytes_max = 1u << 20;   // of runs with open effects, read per batch after a start
  uint64_t heavy_run_bytes = 1u << 20;  // filling in parameters of a larger run may take long
  EffectSink* effects = nullptr;        // null: effects of runs are never executed
  // A queue has jobs that no parked task took: called by the deciding thread, once per input.
  std::function<void(const std::string& scoped_queue)> on_ready = {};
  OutboxBell* outbox_bell = nullptr;    // null: nobody carries messages to other partitions
  SkippedEvents skipped;                // in the tail, besides those listed in the store
};

struct EngineConfig {
  CoreConfig core;
  CrashBook* crash_book = nullptr;  // names the suspects to quarantine; null: none
  size_t inputs_max = 65'536;       // submitted and not yet decided
  int64_t reads_ns_max =
      10'000'000;  // for the reads of one batch; the read that exceeds it is the last
};

}  // namespace pawl
