// A step that is a chain, group or batch of jobs.
#include <utility>

#include "kernel/scripts/outside_step.h"

namespace pawl::scripts {
namespace {

class CompositionKind final : public OutsideKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const override {
    run.frame.emit(started_outside(run, at, attempt, 0));
  }
  void fill_request(Value filled, EffectRequest& request) const override {
    request.kind = EffectKind::Composition;
    request.params = std::move(filled);
  }
};

constexpr CompositionKind kCompositionKind;

}  // namespace

const StepKind& composition_kind() { return kCompositionKind; }

}  // namespace pawl::scripts
