#include "worlds/gate.h"

#include <algorithm>
#include <utility>

#include "base/plant.h"
#include "worlds/builtins.h"
#include "worlds/cbor.h"
#include "worlds/members.h"
#include "worlds/step_io.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kAllowAll = "sys/CapAllowAll@1";
constexpr std::string_view kCheckOutput = "sys/CapCheckOutput@1";
constexpr std::string_view kSecretRef = "sys/TextOrSecretRef@1";
// What an enforcer says of a denial is journaled.
constexpr size_t kDenyCodeMax = 128;
constexpr size_t kDenyMessageMax = 4096;

CapDecision cap_denied(std::string_view code, std::string message) {
  CapDecision decision;
  decision.code = code;
  decision.message = std::move(message);
  return decision;
}

CapDecision cap_allowed() {
  CapDecision decision;
  decision.allow = true;
  return decision;
}

// sys/CapCheckInput@1, canonical.
std::string check_input(const SoundEffect& effect, const Asker& asker, int64_t logical_now_ns) {
  std::string out;
  out.reserve(256 + effect.grant->params.size() + effect.params.size());
  MapWriter map(out, 7);
  MapWriter(map.key("origin"), 2).text("kind", origin_name(asker.kind)).text("name", asker.name);
  map.text("cap_def", effect.grant->cap)
      .bytes("cap_params", effect.grant->params)
      .text("grant_name", effect.grant->name)
      .text("effect_kind", effect.effect->kind)
      .bytes("effect_params", effect.params)
      .nat("logical_now_ns", static_cast<uint64_t>(std::max<int64_t>(0, logical_now_ns)));
  return out;
}

// What the enforcer's output, canonical, says.
CapDecision said_by_enforcer(std::string_view output) {
  if (member_of(output, "constraints_ok") == "\xf5") return cap_allowed();
  const std::string_view deny = member_of(output, "deny");
  const std::string_view code = string_of(member_of(deny, "code"));
  if (code.empty()) return cap_denied("constraint", "the enforcer does not allow these params");
  return cap_denied(cut_text(code, kDenyCodeMax),
                    std::string(cut_text(string_of(member_of(deny, "message")), kDenyMessageMax)));
}

CapDecision ask_enforcer(const Program& program, const Module& enforcer, const SoundEffect& effect,
                         const Asker& asker, GateRoom& room) {
  const std::string check = check_input(effect, asker, room.logical_now_ns);
  const std::string input = pure_input({.module = enforcer,
                                        .input = check,
                                        .logical_now_ns = room.logical_now_ns,
                                        .seq = room.seq,
                                        .manifest_hash = program.manifest_hash});
  ModuleCall call =
      room.host.call(enforcer.wasm_hash, room.load, Entry::Run, input, program.limits);
  room.fuel += call.fuel;
  CapDecision failed = cap_denied("enforcer_failed", "the enforcer did not come to a decision");
  if (call.end == CallEnd::Unavailable) {
    failed.end = CapEnd::Unavailable;
    failed.message = std::move(call.output);
  }
  if (call.end == CallEnd::Timeout) failed.end = CapEnd::TimedOut;
  if (call.end != CallEnd::Returned) return failed;
  std::string_view output;
  if (read_pure_output(call.output, output)) return failed;
  const std::shared_ptr<const Type> type = program.types.find(kCheckOutput);
  if (type == nullptr) return failed;
  Result<std::string> read = from_cbor(*type, output);
  return read.ok() ? said_by_enforcer(*read) : failed;
}

CapDecision enforce(const Program& program, const Cap& cap, const SoundEffect& effect,
                    const Asker& asker, GateRoom& room) {
  if (cap.enforcer == kAllowAll) return cap_allowed();
  if (is_reserved_name(cap.enforcer)) {
    Result<cbor::Item> granted = cbor::read(effect.grant->params);
    Result<cbor::Item> asked = cbor::read(effect.params);
    if (!granted.ok() || !asked.ok()) return cap_denied("constraint", "the params are broken");
    std::optional<Fault> fault = check_builtin_cap(cap.cap_type, *granted, *asked);
    return fault ? cap_denied(fault->code, std::move(fault->detail)) : cap_allowed();
  }
  const Module* enforcer = program.module(cap.enforcer);
  if (enforcer == nullptr || enforcer->kind != ModuleKind::Pure)
    return cap_denied("enforcer_failed", "there is no enforcer '" + cap.enforcer + "'");
  return ask_enforcer(program, *enforcer, effect, asker, room);
}

// --- secrets

bool may_use(const Program& program, const Grant& grant, const cbor::Item& secret) {
  const cbor::Item* alias = secret.find("alias");
  const cbor::Item* version = secret.find("version");
  if (alias == nullptr || version == nullptr) return false;
  const std::string name = std::string(alias->string) + "@" + std::to_string(version->number);
  const auto at = program.secrets.find(name);
  if (at == program.secrets.end()) return false;
  // Of grants and of caps: their names cannot be mixed up. An empty list allows all.
  const std::vector<std::string>& allowed = at->second.allowed_caps;
  return allowed.empty() || std::any_of(allowed.begin(), allowed.end(), [&](const auto& cap) {
           return cap == grant.name || cap == grant.cap;
         });
}

// Whether a value of this type refers only to secrets that the grant may use. Types are not
// recursive, and values no deeper than cbor::kDepthMax.
bool secrets_allowed(const Program& program, const Grant& grant, const Type& type,
                     const cbor::Item& item) {
  auto each = [&](const Type& inner, size_t from, size_t step) {
    for (size_t i = from; i < item.items.size(); i += step)
      if (!secrets_allowed(program, grant, inner, item.items[i])) return false;
    return true;
  };
  if (item.is_null()) return true;
  if (type.kind == TypeKind::Ref && type.ref == kSecretRef) {
    const cbor::Item* tag = item.find("$tag");
    const cbor::Item* secret = item.find("$value");
    return tag == nullptr || tag->string != "secret" || secret == nullptr ||
           may_use(program, grant, *secret);
  }
  switch (type.kind) {
    case TypeKind::Ref:
      return type.target == nullptr || secrets_allowed(program, grant, *type.target, item);
    case TypeKind::Option:
      return secrets_allowed(program, grant, type.inner.front(), item);
    case TypeKind::List:
    case TypeKind::Set:
      return each(type.inner.front(), 0, 1);
    case TypeKind::Map:
      return each(type.inner.back(), 1, 2);
    case TypeKind::Record:
      return std::all_of(type.members.begin(), type.members.end(), [&](const auto& member) {
        const cbor::Item* field = item.find(member.first);
        return field == nullptr || secrets_allowed(program, grant, member.second, *field);
      });
    case TypeKind::Variant: {
      const cbor::Item* tag = item.find("$tag");
      const cbor::Item* value = item.find("$value");
      const Type* arm = tag == nullptr ? nullptr : type.member(tag->string);
      return arm == nullptr || value == nullptr || secrets_allowed(program, grant, *arm, *value);
    }
    case TypeKind::Bool:
    case TypeKind::Int:
    case TypeKind::Nat:
    case TypeKind::Dec128:
    case TypeKind::Bytes:
    case TypeKind::Text:
    case TypeKind::Time:
    case TypeKind::Duration:
    case TypeKind::Hash:
    case TypeKind::Uuid:
    case TypeKind::Unit:
      return true;
  }
  return true;
}

bool secrets_allowed(const Program& program, const SoundEffect& effect) {
  // The encoding of "$tag": "secret": most params have none, and are not read for it.
  if (effect.params.find("\x64$tag\x66secret") == std::string::npos) return true;
  Result<cbor::Item> item = cbor::read(effect.params);
  return item.ok() && secrets_allowed(program, *effect.grant, *effect.effect->params_type, *item);
}

// --- policy

bool is_or_absent(const std::optional<std::string>& wanted, std::string_view found) {
  return !wanted || *wanted == found;
}

}  // namespace

const Grant* grant_of_slot(const Program& program, std::string_view module, std::string_view slot,
                           std::string_view cap_type) {
  if (const auto bound = program.bindings.find(module); bound != program.bindings.end()) {
    if (const auto at = bound->second.find(slot); at != bound->second.end()) {
      const auto grant = program.grants.find(at->second);
      return grant == program.grants.end() ? nullptr : &grant->second;
    }
  }
  if (slot != kDefaultSlot) return nullptr;
  const Grant* only = nullptr;
  for (const auto& [name, grant] : program.grants) {
    if (grant.cap_type != cap_type) continue;
    if (only != nullptr) return nullptr;
    only = &grant;
  }
  return only;
}

std::optional<Fault> judge_effect(const Program& program, const Module& module,
                                  std::string_view kind, std::string_view slot,
                                  std::string_view params, bool needs_grant, SoundEffect& sound) {
  const std::string_view slot_name = slot.empty() ? kDefaultSlot : slot;
  const bool declared = module.effects_emitted.count(kind) != 0 || has_bug(Bug::AllowlistIgnored);
  sound.effect = declared ? program.effect(kind) : nullptr;
  if (sound.effect == nullptr) {
    return Fault{"step.undeclared_effect", "'" + std::string(cut_text(kind, kDenyCodeMax)) +
                                               "' is not in the effects_emitted of '" +
                                               module.name + "'"};
  }
  if (needs_grant)
    sound.grant = grant_of_slot(program, module.name, slot_name, sound.effect->cap_type);
  if (needs_grant && sound.grant == nullptr) {
    return Fault{"cap.missing_binding", "the slot '" +
                                            std::string(cut_text(slot_name, kDenyCodeMax)) +
                                            "' has no grant for '" + sound.effect->kind + "'"};
  }
  Result<std::string> read = from_cbor(*sound.effect->params_type, params);
  if (!read.ok())
    return Fault{"effect.invalid_params", sound.effect->kind + ": " + read.error().message};
  sound.params = std::move(read).value();
  return std::nullopt;
}

CapDecision judge_cap(const Program& program, const SoundEffect& effect, const Asker& asker,
                      GateRoom& room) {
  const Grant& grant = *effect.grant;
  const auto at = program.caps.find(grant.cap);
  auto decide = [&]() -> CapDecision {
    if (at == program.caps.end() || grant.cap_type != effect.effect->cap_type) {
      return cap_denied("cap_type_mismatch", "'" + effect.effect->kind + "' needs a grant of '" +
                                                 effect.effect->cap_type + "', '" + grant.name +
                                                 "' is one of '" + grant.cap_type + "'");
    }
    CapDecision enforced = enforce(program, at->second, effect, asker, room);
    if (!enforced.allow) return enforced;
    if (grant.expiry_ns && room.logical_now_ns >= *grant.expiry_ns)
      return cap_denied("expired", "the grant expired at " + std::to_string(*grant.expiry_ns));
    if (!secrets_allowed(program, effect))
      return cap_denied("secret_not_allowed", "a secret that is not for '" + grant.name + "'");
    return enforced;
  };
  CapDecision decision = decide();
  decision.enforcer_module = at == program.caps.end() ? kAllowAll : at->second.enforcer;
  return decision;
}

PolicyDecision judge_policy(const Program& program, std::string_view effect_kind,
                            std::string_view cap_name, std::string_view cap_type,
                            const Asker& asker) {
  if (!program.policy) return {.policy_name = "allow_all", .rule_index = {}, .allow = true};
  const bool governance = asker.kind == OriginKind::Governance;
  PolicyDecision decision{
      .policy_name = program.policy->name, .rule_index = {}, .allow = governance};
  const std::vector<Rule>& rules = program.policy->rules;
  for (size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    if (rule.origin_kind ? *rule.origin_kind != asker.kind : governance) continue;
    if (!is_or_absent(rule.effect_kind, effect_kind) || !is_or_absent(rule.cap_name, cap_name) ||
        !is_or_absent(rule.cap_type, cap_type) || !is_or_absent(rule.origin_name, asker.name))
      continue;
    decision.rule_index = i;
    decision.allow = rule.allow || has_bug(Bug::PolicyIgnored);
    return decision;
  }
  return decision;
}

int64_t deadline_of(std::string_view kind, std::string_view params) {
  if (kind != "timer.set") return 0;
  const std::string_view deadline = member_of(params, "deliver_at_ns");
  Result<cbor::Item> item = cbor::read(deadline);
  return item.ok() && item->kind == cbor::Kind::Nat ? static_cast<int64_t>(item->number) : 0;
}

}  // namespace pawl::worlds
