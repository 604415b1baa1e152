// Passage: the result of one effect at the gate: what its grant and the policy decided, and the
// journal records of both.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worlds/frame.h"
#include "worlds/gate.h"

namespace pawl::worlds {

struct Passage {
  CapEnd end = CapEnd::Decided;  // unless it is this, nothing else holds
  bool cap_allows = false;
  std::optional<bool> policy_allows = {};  // nothing: the policy was not asked
  std::string cap_record, policy_record;
  std::string code, message;  // of a denial; of Unavailable: why

  bool allow() const { return policy_allows.value_or(false); }
  std::string_view stage() const { return cap_allows ? "policy" : "cap"; }
  // What a denial fails a step or a request with.
  std::string_view denial_code() const { return cap_allows ? "policy.denied" : "cap.denied"; }
};

Passage pass_effect(const Program& program, const SoundEffect& effect, std::string_view intent_hash,
                    const Asker& asker, GateRoom& room);

// Appends the decisions, and counts them. Gives the place of the last one.
Cause append_decisions(Frame& frame, Passage passage);

}  // namespace pawl::worlds
