// Stage: an engine as the crowd sees it: one on a disk of its own (sim/world.h), or a partition
// that the nodes of a cluster serve in turn (sim/cluster/partition_books.h).
#pragma once

#include <memory>

#include "sim/effect_world.h"
#include "sim/fault_mix.h"
#include "sim/plants.h"
#include "sim/tasks.h"

namespace pawl::sim {

class Stage {
 public:
  virtual ~Stage() = default;
  virtual void submit(const std::shared_ptr<SimTask>& task) = 0;
  // Commits and answers everything decided.
  virtual void settle() = 0;
  virtual Desk& desk() = 0;
  virtual EffectWorld& effects() = 0;
  virtual const JournalModel& model() const = 0;
  virtual int64_t now_ms() const = 0;
  // The allowance of a frame may be so small that a long run would not end.
  virtual bool yields_early() const = 0;
  virtual const Plants& plants() const = 0;
  virtual const FaultMix& mix() const = 0;
};

}  // namespace pawl::sim
