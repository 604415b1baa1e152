// A step whose branches run side by side, and all count.
#include "kernel/scripts/parallel_step.h"

#include <utility>

#include "kernel/scripts/lists.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

class ParallelKind final : public BranchesKind {
 public:
  void child_ended(RunContext& run, const At& at) const override {
    if (run.record(at).open > 0) return;
    if (run.record(at).failed_scopes.empty()) return complete_with_all(run, at);
    for (uint32_t i = 0; i < at.step->branches.size(); ++i)
      if (const Scope* inner = branch_list(run, at, i); inner != nullptr && inner->failed)
        return fail_step(run, at, inner->error, true);
  }
};

constexpr ParallelKind kParallelKind;

}  // namespace

void BranchesKind::enter(RunContext& run, const At& at) const {
  const plan::Step& step = *at.step;
  auto noted = run.event_for<StepNoted>(at);
  noted.type = "parallel_started";
  noted.count = static_cast<uint32_t>(step.branches.size());
  Value::Object data;
  data.set("mode", step.parallel_mode == plan::ParallelMode::Race ? "race" : "all");
  data.set("branches", static_cast<int64_t>(noted.count));
  noted.data = Value(std::move(data)).json();
  run.frame.emit(noted);
  for (uint32_t i = 0; i < step.branches.size(); ++i)
    open_list(run, &at, join_path(at.path, plan::branch_name(i)), step.branches[i].list, false, i,
              "");
  if (step.branches.empty()) complete_with_all(run, at);
}

const Scope* branch_list(const RunContext& run, const At& at, uint32_t index) {
  return run.scope(join_path(at.path, plan::branch_name(index)));
}

void complete_with_all(RunContext& run, const At& at) {
  auto branches = static_cast<uint32_t>(at.step->branches.size());
  size_t bytes = branches;
  for (uint32_t i = 0; i < branches; ++i) {
    bytes += last_bytes(run, *branch_list(run, at, i));
    if (bytes > run.output_max() + 1)
      return fail_too_large(run, at, "what its branches gave together");
  }
  std::string output = R"({"mode":"all","branches":[)";
  output.reserve(output.size() + bytes + 2);
  for (uint32_t i = 0; i < branches; ++i) {
    if (i > 0) output += ',';
    output += last_output(run, *branch_list(run, at, i));
  }
  output += "]}";
  Value::Object data;
  data.set("mode", "all");
  data.set("branches", static_cast<int64_t>(branches));
  run.note(at, "parallel_completed", data);
  complete_step(run, at, std::move(output));
}

const StepKind& parallel_kind() { return kParallelKind; }

}  // namespace pawl::scripts
