// A step whose branches run side by side until the first completes; the others are stopped.
#include <utility>

#include "kernel/scripts/lists.h"
#include "kernel/scripts/parallel_step.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

void complete_with_winner(RunContext& run, const At& at, uint32_t winner) {
  auto noted = run.event_for<StepNoted>(at);
  noted.type = "parallel_completed";
  noted.choice = std::to_string(winner);
  Value::Object data;
  data.set("mode", "race");
  data.set("winner", static_cast<int64_t>(winner));
  noted.data = Value(std::move(data)).json();
  for (uint32_t i = 0; i < at.step->branches.size(); ++i)
    if (i != winner) stop_list(run, join_path(at.path, plan::branch_name(i)), "race_lost");
  run.frame.emit(noted);
  complete_step(run, at,
                "{\"mode\":\"race\",\"winner\":" + std::to_string(winner) +
                    ",\"output\":" + last_output(run, *branch_list(run, at, winner)) + "}");
}

class RaceKind final : public BranchesKind {
 public:
  void child_ended(RunContext& run, const At& at) const override {
    auto branches = static_cast<uint32_t>(at.step->branches.size());
    const StepRecord& now = run.record(at);
    if (now.open + now.failed_scopes.size() < branches)
      for (uint32_t i = 0; i < branches; ++i)
        if (const Scope* inner = branch_list(run, at, i); inner && inner->closed && !inner->failed)
          return complete_with_winner(run, at, i);
    if (now.open > 0) return;
    if (now.failed_scopes.empty()) return complete_with_all(run, at);
    fail_step(run, at, run.scope(now.failed_scopes.front())->error, true);
  }
  // Branches re-entered by a retry would compete with one that has already lost.
  bool is_redone_whole() const override { return true; }
};

constexpr RaceKind kRaceKind;

}  // namespace

const StepKind& race_kind() { return kRaceKind; }

}  // namespace pawl::scripts
