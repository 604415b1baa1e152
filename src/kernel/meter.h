// Meter: what the evaluations of one frame cost together, counted and never timed, so that a replay
// or a simulation stops where the server did.
//
// An evaluation is begun while the meter is not spent, and then has its own budget (expr/budget.h)
// to itself: what others used before it never makes it fail. When the meter is spent, whoever asks
// for another evaluation yields, and goes on in a later frame with a fresh meter.
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
  // Into the journal, and from there to the disk, to a row and to the disk again.
  void charge_written(size_t bytes) { used_ += bytes / 4; }

  bool spent() const { return used_ >= allowance_; }
  uint64_t used() const { return used_; }
  uint64_t left() const { return spent() ? 0 : allowance_ - used_; }

 private:
  uint64_t allowance_;
  uint64_t used_ = 0;
};

}  // namespace pawl
