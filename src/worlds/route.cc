#include "worlds/route.h"

#include <utility>

#include "worlds/arm_named.h"
#include "worlds/cbor.h"
#include "worlds/members.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

// The instance that a keyed subscription picks for this value.
std::optional<EventFault> key_of_target(const Subscription& subscription, const Module& module,
                                        const Type& type, std::string_view value,
                                        MaybeBytes explicit_key, std::string& key) {
  const std::string_view item = find_bytes(type, value, subscription.key_field);
  Result<std::string> read = item.empty() ? Result<std::string>(Error{ErrorCode::NotFound, ""})
                                          : from_cbor(*module.key_type, item);
  if (!read.ok()) {
    return EventFault{"event.key_missing", "the event has no key of '" + module.name + "' at '" +
                                               subscription.key_field + "'"};
  }
  key = std::move(read).value();
  if (key.size() > kInstanceKeyBytesMax) {
    return EventFault{"event.invalid", "the key of '" + module.name + "' has " +
                                           std::to_string(key.size()) + " bytes; at most " +
                                           std::to_string(kInstanceKeyBytesMax) + " are taken"};
  }
  if (explicit_key && *explicit_key != key) {
    return EventFault{"event.key_mismatch", "the key given is not the one at '" +
                                                subscription.key_field + "', which '" +
                                                module.name + "' is keyed by"};
  }
  return std::nullopt;
}

// The key that came beside an emitted event, canonical: read as the key of the first keyed module
// that gets it.
Result<std::string> canonical_key(const Program& program, std::string_view schema,
                                  std::string_view key) {
  for (const Subscription& subscription : program.subscriptions) {
    if (subscription.event != schema || subscription.key_field.empty()) continue;
    if (const Module* module = program.module(subscription.module)) {
      Result<std::string> typed = from_cbor(*module->key_type, key);
      if (typed.ok()) return typed;
    }
  }
  return cbor::canonical(key);
}

}  // namespace

std::optional<EventFault> find_targets(const Program& program, std::string_view schema,
                                       std::string_view value, MaybeBytes explicit_key,
                                       std::vector<Target>& targets) {
  std::shared_ptr<const Type> type;
  size_t reach_bytes = 0;
  for (const Subscription& subscription : program.subscriptions) {
    if (subscription.event != schema) continue;
    const Module* module = program.module(subscription.module);
    if (module == nullptr) continue;
    Target target{.module = module, .subscription = &subscription, .key = {}};
    if (module->keyed()) {
      if (type == nullptr) type = program.types.find(schema);
      if (type == nullptr) continue;
      auto fault = key_of_target(subscription, *module, *type, value, explicit_key, target.key);
      if (fault) return fault;
    }
    reach_bytes += delivery_bytes(*module, target.key);
    if (reach_bytes > kReachBytesMax) {
      return EventFault{"event.invalid", "the event has too many subscribers for a key of " +
                                             std::to_string(target.key.size()) + " bytes"};
    }
    targets.push_back(std::move(target));
  }
  return std::nullopt;
}

size_t JudgedEvent::reach_bytes() const {
  size_t bytes = 0;
  for (const Target& target : targets) bytes += delivery_bytes(*target.module, target.key);
  return bytes;
}

bool is_reserved_event(std::string_view schema, const Type& type, std::string_view value) {
  if (is_reserved_name(schema)) return true;
  return type.plain().kind == TypeKind::Variant && is_reserved_arm(type, tag_of(value));
}

bool is_reserved_arm(const Type& type, std::string_view name) {
  const Type& plain = type.plain();
  if (plain.kind != TypeKind::Variant) return false;
  const Type* arm = plain.member(name);
  for (; arm != nullptr && arm->kind == TypeKind::Ref; arm = arm->target.get())
    if (is_reserved_name(arm->ref)) return true;
  return false;
}

std::string in_arm(const Module& module, std::string_view arm, std::string_view value) {
  if (arm.empty()) return std::string(value);
  const Type* type = module.event_type->plain().member(arm);
  const bool is_unit = type != nullptr && type->plain().kind == TypeKind::Unit;
  std::string out;
  out.reserve(24 + arm.size() + value.size());
  cbor::put_map(out, is_unit ? 1 : 2);
  cbor::put_text(out, "$tag");
  cbor::put_text(out, arm);
  if (is_unit) return out;
  cbor::put_text(out, "$value");
  out.append(value);
  return out;
}

std::optional<EventFault> judge_emitted(const Program& program, std::string_view schema,
                                        std::string_view value, MaybeBytes key,
                                        JudgedEvent& judged) {
  auto quoted = [schema] { return "'" + std::string(schema) + "'"; };
  if (is_reserved_name(schema))
    return EventFault{"event.reserved_schema", quoted() + " is not for modules to emit"};
  const std::shared_ptr<const Type> type = program.types.find(schema);
  if (type == nullptr) return EventFault{"event.invalid", "no schema is named " + quoted()};
  auto reserved_arm = [&] {
    return EventFault{"event.reserved_schema", quoted() + ": this arm is not for modules to emit"};
  };
  Result<std::string> read = from_cbor(*type, value);
  if (!read.ok()) {
    if (is_reserved_arm(*type, arm_named_by(value))) return reserved_arm();
    return EventFault{"event.invalid", quoted() + ": " + read.error().message};
  }
  judged.schema = schema;
  judged.value = std::move(read).value();
  if (is_reserved_event(schema, *type, judged.value)) return reserved_arm();
  if (key) {
    Result<std::string> canonical = canonical_key(program, schema, *key);
    if (!canonical.ok())
      return EventFault{"event.invalid", quoted() + ": key: " + canonical.error().message};
    judged.key = std::move(canonical).value();
  }
  return find_targets(program, schema, judged.value, judged.key, judged.targets);
}

}  // namespace pawl::worlds
