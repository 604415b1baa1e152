// The gate that every effect passes before it becomes an intent. It checks the effect against the
// program (allowlist, slot, params), then against the grant (cap type, enforcer, expiry, secrets),
// then against the policy.
//
// Pure: the same program, effect and time give the same decision. Enforcers that are modules run in
// the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "worlds/fault.h"
#include "worlds/module_host.h"
#include "worlds/program.h"

namespace pawl::worlds {

constexpr std::string_view kDefaultSlot = "default";

// An effect that has passed the checks against the program.
struct SoundEffect {
  const Effect* effect = nullptr;
  const Grant* grant = nullptr;
  std::string params;  // canonical
};

// The effect of a module: step.undeclared_effect, cap.missing_binding, effect.invalid_params.
// `slot` "": default. Without `needs_grant` the slot is not looked at, and `sound` has none.
std::optional<Fault> judge_effect(const Program& program, const Module& module,
                                  std::string_view kind, std::string_view slot,
                                  std::string_view params, bool needs_grant, SoundEffect& sound);

// The grant that a slot stands for: the bound one; for the default slot else the only one of this
// cap type. Null: there is none.
const Grant* grant_of_slot(const Program& program, std::string_view module, std::string_view slot,
                           std::string_view cap_type);

struct Asker {
  OriginKind kind = OriginKind::Workflow;
  std::string_view name;
};

// What a call of an enforcer needs.
struct GateRoom {
  ModuleHost& host;
  LoadCode load;
  int64_t logical_now_ns = 0;
  uint64_t seq = 0;   // journal_height
  uint64_t fuel = 0;  // used by enforcers so far; counted up
};

enum class CapEnd : uint8_t {
  Decided,
  TimedOut,     // the enforcer ran out of real time
  Unavailable,  // the host could not run it: nothing is decided
};

struct CapDecision {
  CapEnd end = CapEnd::Decided;
  bool allow = false;
  std::string code, message;         // of a denial; of Unavailable: why
  std::string_view enforcer_module;  // the program's
};

// cap_type_mismatch, constraint, enforcer_failed, the enforcer's own code, expired,
// secret_not_allowed.
CapDecision judge_cap(const Program& program, const SoundEffect& effect, const Asker& asker,
                      GateRoom& room);

struct PolicyDecision {
  std::string_view policy_name;  // the program's; "allow_all" if it has none
  std::optional<uint64_t> rule_index;
  bool allow = false;
};

PolicyDecision judge_policy(const Program& program, std::string_view effect_kind,
                            std::string_view cap_name, std::string_view cap_type,
                            const Asker& asker);

// A deadline that timer.set asks for; 0 for other effects.
int64_t deadline_of(std::string_view kind, std::string_view params);

}  // namespace pawl::worlds
