#include "worlds/judged_step.h"

#include <utility>

#include "worlds/hash.h"

namespace pawl::worlds {

std::optional<Fault> judge_step(const Program& program, const Module& module,
                                const StepOutput& output, bool needs_grants, JudgedStep& step) {
  if (output.state) {
    Result<std::string> state = from_cbor(*module.state_type, *output.state);
    if (!state.ok())
      return Fault{"step.state_invalid", module.state_schema + ": " + state.error().message};
    step.state = std::move(state).value();
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
    if (given.requested_key && given.requested_key->size() != kRequestedKeySize) {
      return Fault{"effect.invalid_key", "an idempotency_key has 32 bytes, not " +
                                             std::to_string(given.requested_key->size())};
    }
    effect.requested_key = given.requested_key;
    effect.params_hash = hash_of_bytes(effect.sound.params);
  }
  step.events.resize(output.events.size());
  for (size_t i = 0; i < output.events.size(); ++i) {
    const OutEvent& given = output.events[i];
    auto fault = judge_emitted(program, given.schema, given.value, given.key, step.events[i]);
    if (fault) return Fault{std::string(fault->code), std::move(fault->detail)};
  }
  return std::nullopt;
}

}  // namespace pawl::worlds
