// RunWorld: a World with workflows in it, and short ways to write them down.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "kernel/run.h"
#include "kernel/testing/world.h"
#include "plan/ojs/plan_node.h"

namespace pawl {

// A job that is not tried again, so that one nack is its end.
TestSpec once();

PlanNode step(NewJob base = {}, const TestSpec& spec = once());
PlanNode named(std::string name, std::vector<uint32_t> depends_on = {});
PlanNode when(std::string guard, PlanNode node = step());

PlanNode compose(RunKind kind, const std::vector<PlanNode>& children);
PlanNode chain(const std::vector<PlanNode>& c);
PlanNode group(const std::vector<PlanNode>& c);
PlanNode dag(const std::vector<PlanNode>& c);
PlanNode call_back(PlanNode plan, const std::vector<CallbackRole>& roles,
                   const TestSpec& spec = once());
constexpr CallbackRole kComplete = CallbackRole::OnComplete;
constexpr CallbackRole kSuccess = CallbackRole::OnSuccess;
constexpr CallbackRole kFailure = CallbackRole::OnFailure;
constexpr CallbackRole kCancel = CallbackRole::OnCancel;
PlanNode batch(const std::vector<PlanNode>& c,
               const std::vector<CallbackRole>& roles = {kComplete, kSuccess, kFailure});
PlanNode map_over(std::string over, uint32_t concurrency = 0);

class RunWorld : public World {
 public:
  using World::World;

  std::string start(const PlanNode& plan);
  std::string stop(const std::string& run);
  std::string retry(const std::string& run);
  std::string forget();
  // Completes or fails the next job; returns the resulting events.
  std::string pass(const std::string& result = "");
  std::string fail();
  // Leases the next job; its name.
  std::string take();
  // Completes jobs until none waits; returns how many.
  size_t pass_all(size_t most = 1000);

  const Run& run(const std::string& name) const;
  // "running 1+0-0/3": completed, failed, cancelled of all.
  std::string how(const std::string& name) const;
  // The parent_results of this job.
  std::string parents(const std::string& job_name) const;
  std::string parents_by_name(const std::string& job_name) const;
  // Flushes everything, clears the memory, and restarts.
  void restart_from_rows();

 private:
  Value rendered(const std::string& job_name) const;
};

}  // namespace pawl
