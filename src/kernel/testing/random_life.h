// RandomLife: a sequence of random valid operations, the same for the same seed. Used to compare
// worlds that must not differ.
#pragma once

#include <string>

#include "kernel/run.h"
#include "kernel/testing/world.h"
#include "plan/ojs/plan_node.h"

namespace pawl {

// Runs are named in their own order: r1, r2, …
class RandomLife {
 public:
  explicit RandomLife(uint64_t draw) : draw_(draw) {}

  // Performs one operation and returns its events as text.
  std::string step(World& world);

 private:
  uint64_t pick(uint64_t bound) { return mix64(draw_ ^ mix64(++picks_)) % bound; }
  std::string queue() { return std::string(1, static_cast<char>('a' + pick(3))); }
  std::string job(World&) { return "j" + std::to_string(1 + pick(60)); }

  std::string push(World& world);
  NewJob random_job(const World& world);
  // Up to three levels of all kinds of plan.
  PlanNode random_plan(const World& world, int depth);
  std::string run(World& world);
  std::string change_run(World& world);
  std::string fetch(World& world);
  std::string forget(World& world);
  std::string note(World& world);
  std::string document(World& world);
  std::string cron(World& world);
  std::string settings(World& world);

  uint64_t draw_;
  uint64_t picks_ = 0;
};

}  // namespace pawl
