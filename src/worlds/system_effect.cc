// Effects that operators ask for: through the same gate as those of modules, with the origin
// `system`.
#include <utility>

#include "worlds/commands.h"
#include "worlds/hash.h"
#include "worlds/intent.h"
#include "worlds/passage.h"
#include "worlds/step_io.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kSystemName = "system";

// What a denial is refused with: the code of the gate stands beside that of the stage.
Error denied(const Passage& passage) {
  const std::string_view stage = passage.denial_code();
  return refusal(ErrorCode::Forbidden, stage,
                 passage.code == stage ? passage.message : passage.code + ": " + passage.message)
      .with("code", passage.code);
}

Result<SoundEffect> judge_system_effect(const Program& program, std::string_view kind,
                                        std::optional<json::View> params, std::string_view cap) {
  SoundEffect sound;
  sound.effect = program.effect(kind);
  if (sound.effect == nullptr) {
    return refusal(ErrorCode::InvalidContent, "effect.unknown",
                   "no effect is of kind '" + std::string(kind) + "'");
  }
  if (!params) {
    return refusal(ErrorCode::InvalidContent, "effect.invalid_params",
                   "params are missing: " + sound.effect->params_schema);
  }
  Result<std::string> read = from_json(*sound.effect->params_type, *params);
  if (!read.ok()) {
    return refusal(ErrorCode::InvalidContent, "effect.invalid_params",
                   sound.effect->params_schema + ": " + read.error().message);
  }
  sound.params = std::move(read).value();
  const auto grant = program.grants.find(cap);
  if (grant == program.grants.end()) {
    return refusal(ErrorCode::Forbidden, "cap.denied",
                   "no grant is named '" + std::string(cap) + "'");
  }
  sound.grant = &grant->second;
  return sound;
}

NewIntent system_intent(const SoundEffect& sound, uint64_t seq) {
  NewIntent intent;
  intent.kind = sound.effect->kind;
  intent.cap_name = sound.grant->name;
  intent.params = sound.params;
  intent.params_hash = hash_of_bytes(sound.params);
  intent.origin = OriginKind::System;
  intent.origin_name = kSystemName;
  intent.deliver_at_ns = deadline_of(intent.kind, intent.params);
  intent.idempotency_key = idempotency_key({.origin_kind = origin_name(intent.origin),
                                            .origin_name = intent.origin_name,
                                            .effect_kind = intent.kind,
                                            .params = intent.params,
                                            .seq = seq});
  intent.hash = intent_hash(intent.kind, intent.params, intent.cap_name, intent.idempotency_key);
  return intent;
}

}  // namespace

Result<EmittedEffect> emit_system_effect(Deciding& deciding, std::string_view kind,
                                         std::optional<json::View> params, std::string_view cap) {
  PAWL_TRY(const SoundEffect sound, judge_system_effect(deciding.program(), kind, params, cap));
  Frame frame(deciding, Frame::Clock::Moves);
  PAWL_TRY_DO(has_room(frame.head()));
  NewIntent intent = system_intent(sound, frame.seq());
  auto load = [&](std::string_view hash) { return deciding.world().blob(hash); };
  GateRoom room{.host = deciding.host(),
                .load = load,
                .logical_now_ns = frame.stamp().logical_now_ns,
                .seq = frame.seq()};
  Passage passage = pass_effect(deciding.program(), sound, intent.hash,
                                {.kind = OriginKind::System, .name = kSystemName}, room);
  deciding.fuel += room.fuel;
  if (passage.end == CapEnd::Unavailable) return no_runtime(passage.message);
  if (passage.end == CapEnd::TimedOut)
    return Error{ErrorCode::Unavailable,
                 "the enforcer of '" + std::string(cap) + "' took too long"};
  if (!passage.allow()) return denied(passage);
  append_decisions(frame, std::move(passage));
  EmittedEffect out{.intent_hash = intent.hash, .seq = frame.seq()};
  frame.add_intent(std::move(intent));
  frame.finish();
  return out;
}

}  // namespace pawl::worlds
