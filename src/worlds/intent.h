// Identities of intents: per emission and per instance, so that two emissions of equal content
// never share one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "worlds/records.h"

namespace pawl::worlds {

struct IntentIdentity {
  std::string_view origin_kind, origin_name;
  MaybeBytes instance_key = {};
  std::string_view effect_kind, params;  // canonical
  MaybeBytes requested_key = {};
  uint64_t seq = 0, ordinal = 0, effect_index = 0;
};

std::string idempotency_key(const IntentIdentity& identity);  // 32 bytes
std::string intent_hash(std::string_view kind, std::string_view params, std::string_view cap_name,
                        std::string_view idempotency_key);

// Identity of an event. `key`: enc of the explicit key.
std::string event_hash(std::string_view schema, std::string_view value, MaybeBytes key);

}  // namespace pawl::worlds
