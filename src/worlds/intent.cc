#include "worlds/intent.h"

#include "worlds/hash.h"

namespace pawl::worlds {

std::string idempotency_key(const IntentIdentity& identity) {
  std::string out;
  out.reserve(256 + identity.params.size() + identity.origin_name.size());
  MapWriter(out, 9)
      .nat("seq", identity.seq)
      .bytes("params", identity.params)
      .nat("ordinal", identity.ordinal)
      .text("effect_kind", identity.effect_kind)
      .text("origin_kind", identity.origin_kind)
      .text("origin_name", identity.origin_name)
      .nat("effect_index", identity.effect_index)
      .maybe_bytes("instance_key", identity.instance_key)
      .maybe_bytes("requested_key", identity.requested_key);
  return digest_of_structure(out);
}

std::string intent_hash(std::string_view kind, std::string_view params, std::string_view cap_name,
                        std::string_view idempotency_key) {
  std::string out;
  out.reserve(160 + params.size());
  MapWriter(out, 4)
      .text("kind", kind)
      .bytes("params", params)
      .text("cap_name", cap_name)
      .bytes("idempotency_key", idempotency_key);
  return hash_of_structure(out);
}

std::string event_hash(std::string_view schema, std::string_view value, MaybeBytes key) {
  std::string out;
  out.reserve(64 + schema.size() + value.size());
  MapWriter(out, 3).maybe_bytes("key", key).bytes("value", value).text("schema", schema);
  return hash_of_structure(out);
}

}  // namespace pawl::worlds
