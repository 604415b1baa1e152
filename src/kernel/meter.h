// Meter: the total cost of evaluations in one frame, counted and never timed, so that a replay or a
// simulation stops at the same place as the server.
//
// An evaluation begins while the meter is not spent, and then has its own budget (expr/budget.h):
// earlier evaluations never make it fail. When the meter is spent, a run that needs another
// evaluation yields, and continues in a later frame with a fresh meter.
//
// One unit is about one step of an evaluation, some tens of nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "expr/budget.h"

namespace pawl {

class Meter {
 public:
  explicit Meter(uint64_t allowance) : allowance_(allowance) {}

  void charge(uint64_t units) { used_ += units; }
  void charge(const expr::Budget& budget) {
    used_ += budget.steps_spent() + budget.bytes_spent() / 64;
  }
  void charge_parsed(size_t bytes) { used_ += bytes / 4; }   // JSON → values
  void charge_copied(size_t bytes) { used_ += bytes / 32; }  // values → values
  // To the journal and the disk, and later to a row and the disk again.
  void charge_written(size_t bytes) { used_ += bytes / 4; }

  bool spent() const { return used_ >= allowance_; }
  uint64_t used() const { return used_; }
  uint64_t left() const { return spent() ? 0 : allowance_ - used_; }

 private:
  uint64_t allowance_;
  uint64_t used_ = 0;
};

}  // namespace pawl
