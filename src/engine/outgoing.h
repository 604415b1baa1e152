// Outgoing: everything that may leave the engine because of one batch. The list is closed, and
// Core::release() is the one place where it leaves, once the batch is durable (I3).
//
// Core::seal() fills it. What makes a parked task decide again (State::take_ready_queues,
// State::take_moved_runs) does not leave by itself: the task's answer does, with its batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/effects.h"
#include "engine/task.h"

namespace pawl {

struct Outgoing {
  std::vector<TaskPtr> answers;              // replies, and the jobs that are leased with them
  std::unique_ptr<PreparedEffects> effects;  // actions, jobs in a step's place; null = none
  // And the batch's own record, for those who follow the journal: streams, webhooks, …
};

// Where it leaves to, beside each task's own client and the effects' own sink.
struct Outlets {
  // Held while answers and effects leave: lets the layer above send answers together.
  std::function<std::shared_ptr<void>()> around_answers = {};
  std::function<void(uint64_t number, std::string&& record)> follow = {};
};

}  // namespace pawl
