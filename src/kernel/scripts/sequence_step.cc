// A step that is a list of steps, one after the other.
#include "kernel/scripts/lists.h"
#include "kernel/scripts/lists_step.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

class SequenceKind final : public ListsKind {
 public:
  void child_ended(RunContext& run, const At& at) const override {
    const Scope* inner = completed_list(run, at, plan::kSequenceName);
    if (inner != nullptr) complete_step(run, at, last_output(run, *inner));
  }

 private:
  void enter(RunContext& run, const At& at) const override {
    uint32_t list = at.step->branches.front().list;
    if (run.plan().lists[list].steps.empty()) return complete_step(run, at, "null");
    open_list(run, &at, join_path(at.path, plan::kSequenceName), list, false, 0, "");
  }
};

constexpr SequenceKind kSequenceKind;

}  // namespace

const StepKind& sequence_kind() { return kSequenceKind; }

}  // namespace pawl::scripts
