// Outgoing: everything that may leave the engine because of one batch. The list is complete, and it
// leaves only in Core::release(), once the batch is durable (I3).
//
// Core::close_batch() fills it. Wake-ups of parked tasks (State::take_ready_queues,
// State::take_moved_runs) do not leave; the answer of the woken task does, with its batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/effects.h"
#include "engine/outbox_bell.h"
#include "engine/task.h"
#include "store/store.h"

namespace pawl {

struct Outgoing {
  std::vector<TaskPtr> answers;              // replies, and the jobs that are leased with them
  std::unique_ptr<PreparedEffects> effects;  // actions, jobs of job steps; null = none
  OutboxBell* messages = nullptr;            // rung if the batch has messages to other partitions
  // Besides these, the batch's own record: listeners of the journal get it (streams, webhooks, work
  // directories, the server's own effects of worlds).
};

// The data of one commit, and everything that leaves after it.
struct ClosedBatch {
  Batch batch;
  Outgoing outgoing;
  bool has_rows = false;
  bool empty() const {
    return batch.number == 0 && batch.writes.empty() && batch.trim_journal_before == 0;
  }
  size_t bytes() const;  // that the store will write
};

// Takes the record of a batch, for those who follow the journal.
using FollowRecord = std::function<void(uint64_t number, std::string&& record)>;

}  // namespace pawl
