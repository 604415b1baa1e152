#include "worlds/passage.h"

#include <utility>

namespace pawl::worlds {
namespace {

std::string denial_of_policy(const PolicyDecision& decision) {
  const std::string policy = "'" + std::string(decision.policy_name) + "'";
  return decision.rule_index
             ? "rule " + std::to_string(*decision.rule_index) + " of " + policy + " denies it"
             : "no rule of " + policy + " allows it";
}

}  // namespace

Passage pass_effect(const Program& program, const SoundEffect& effect, std::string_view intent_hash,
                    const Asker& asker, GateRoom& room) {
  Passage out;
  CapDecision cap = judge_cap(program, effect, asker, room);
  out.end = cap.end;
  if (cap.end != CapEnd::Decided) {
    out.message = std::move(cap.message);
    return out;
  }
  out.cap_allows = cap.allow;
  out.cap_record = cap_decision_record({.intent_hash = intent_hash,
                                        .effect_kind = effect.effect->kind,
                                        .cap_name = effect.grant->name,
                                        .cap_type = effect.effect->cap_type,
                                        .grant_hash = effect.grant->hash,
                                        .enforcer_module = cap.enforcer_module,
                                        .allow = cap.allow,
                                        .deny_code = cap.code,
                                        .deny_message = cap.message,
                                        .expiry_ns = effect.grant->expiry_ns,
                                        .logical_now_ns = room.logical_now_ns});
  if (!cap.allow) {
    out.code = std::move(cap.code);
    out.message = std::move(cap.message);
    return out;
  }
  const PolicyDecision policy = judge_policy(program, effect.effect->kind, effect.grant->name,
                                             effect.effect->cap_type, asker);
  out.policy_allows = policy.allow;
  out.policy_record = policy_decision_record({.intent_hash = intent_hash,
                                              .policy_name = policy.policy_name,
                                              .rule_index = policy.rule_index,
                                              .allow = policy.allow});
  if (!policy.allow) {
    out.code = "policy.denied";
    out.message = denial_of_policy(policy);
  }
  return out;
}

Cause append_decisions(Frame& frame, Passage passage) {
  Totals& totals = frame.totals();
  ++(passage.cap_allows ? totals.cap_allow : totals.cap_deny);
  Cause last{.seq = frame.seq(),
             .n = frame.append(RecordKind::CapDecision, std::move(passage.cap_record))};
  if (!passage.policy_allows) return last;
  ++(*passage.policy_allows ? totals.policy_allow : totals.policy_deny);
  last.n = frame.append(RecordKind::PolicyDecision, std::move(passage.policy_record));
  return last;
}

}  // namespace pawl::worlds
