#include "worlds/judged_step.h"

#include <utility>

#include "worlds/hash.h"

namespace pawl::worlds {
namespace {

// What a step keeps, counted while it is judged: a value may be far shorter as the module wrote it
// than in its canonical form, where every absent field stands as null.
class KeptBytes {
 public:
  std::optional<Fault> add(size_t bytes) {
    bytes_ += bytes;
    if (bytes_ <= kStepBytesMax) return std::nullopt;
    return Fault{"step.output_limit", "state, ann, values and params have more than " +
                                          std::to_string(kStepBytesMax) +
                                          " bytes in canonical form"};
  }

 private:
  size_t bytes_ = 0;
};

}  // namespace

std::optional<Fault> judge_step(const Program& program, const Module& module,
                                const StepOutput& output, bool needs_grants, JudgedStep& step) {
  KeptBytes kept;
  if (auto fault = kept.add(output.ann ? output.ann->size() : 0)) return fault;
  if (output.state) {
    Result<std::string> state = from_cbor(*module.state_type, *output.state);
    if (!state.ok())
      return Fault{"step.state_invalid", module.state_schema + ": " + state.error().message};
    step.state = std::move(state).value();
    if (auto fault = kept.add(step.state->size())) return fault;
  }
  step.said = output.said;
  if (output.error) step.error = cut_text(*output.error, kDetailMax);
  step.effects.resize(output.effects.size());
  for (size_t i = 0; i < output.effects.size(); ++i) {
    const OutEffect& given = output.effects[i];
    JudgedEffect& effect = step.effects[i];
    auto fault = judge_effect(program, module, given.kind, given.cap_slot.value_or(kDefaultSlot),
                              given.params, needs_grants, effect.sound);
    if (fault) return fault;
    if (fault = kept.add(effect.sound.params.size()); fault) return fault;
    if (given.requested_key && given.requested_key->size() != kRequestedKeySize) {
      return Fault{"effect.invalid_key", "an idempotency_key has 32 bytes, not " +
                                             std::to_string(given.requested_key->size())};
    }
    effect.requested_key = given.requested_key;
    effect.params_hash = hash_of_bytes(effect.sound.params);
  }
  step.events.resize(output.events.size());
  size_t reach_bytes = 0;
  for (size_t i = 0; i < output.events.size(); ++i) {
    const OutEvent& given = output.events[i];
    auto fault = judge_emitted(program, given.schema, given.value, given.key, step.events[i]);
    if (fault) return Fault{std::string(fault->code), std::move(fault->detail)};
    if (auto limit = kept.add(step.events[i].value.size())) return limit;
    reach_bytes += step.events[i].reach_bytes();
    if (reach_bytes > kReachBytesMax)
      return Fault{"step.output_limit", "the events go to too many subscribers"};
  }
  return std::nullopt;
}

}  // namespace pawl::worlds
