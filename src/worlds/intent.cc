#include "worlds/intent.h"

#include "worlds/cbor.h"
#include "worlds/hash.h"

// Preimages have their members in canonical order: shorter names first, then bytewise.

namespace pawl::worlds {
namespace {

void put_bytes_or_null(std::string& out, MaybeBytes bytes) {
  if (bytes) {
    cbor::put_bytes(out, *bytes);
  } else {
    cbor::put_null(out);
  }
}

void put_named_nat(std::string& out, std::string_view name, uint64_t value) {
  cbor::put_text(out, name);
  cbor::put_nat(out, value);
}

void put_named_text(std::string& out, std::string_view name, std::string_view value) {
  cbor::put_text(out, name);
  cbor::put_text(out, value);
}

}  // namespace

std::string idempotency_key(const IntentIdentity& identity) {
  std::string out;
  out.reserve(256 + identity.params.size() + identity.origin_name.size());
  cbor::put_map(out, 9);
  put_named_nat(out, "seq", identity.seq);
  cbor::put_text(out, "params");
  cbor::put_bytes(out, identity.params);
  put_named_nat(out, "ordinal", identity.ordinal);
  put_named_text(out, "effect_kind", identity.effect_kind);
  put_named_text(out, "origin_kind", identity.origin_kind);
  put_named_text(out, "origin_name", identity.origin_name);
  put_named_nat(out, "effect_index", identity.effect_index);
  cbor::put_text(out, "instance_key");
  put_bytes_or_null(out, identity.instance_key);
  cbor::put_text(out, "requested_key");
  put_bytes_or_null(out, identity.requested_key);
  return digest_of_structure(out);
}

std::string intent_hash(std::string_view kind, std::string_view params, std::string_view cap_name,
                        std::string_view idempotency_key) {
  std::string out;
  out.reserve(160 + params.size());
  cbor::put_map(out, 4);
  put_named_text(out, "kind", kind);
  cbor::put_text(out, "params");
  cbor::put_bytes(out, params);
  put_named_text(out, "cap_name", cap_name);
  cbor::put_text(out, "idempotency_key");
  cbor::put_bytes(out, idempotency_key);
  return hash_of_structure(out);
}

std::string event_hash(std::string_view schema, std::string_view value, MaybeBytes key) {
  std::string out;
  out.reserve(64 + schema.size() + value.size());
  cbor::put_map(out, 3);
  cbor::put_text(out, "key");
  put_bytes_or_null(out, key);
  cbor::put_text(out, "value");
  cbor::put_bytes(out, value);
  put_named_text(out, "schema", schema);
  return hash_of_structure(out);
}

}  // namespace pawl::worlds
