#include "worlds/reading.h"

#include "base/hash.h"
#include "worlds/cbor.h"
#include "worlds/hash.h"
#include "worlds/record_view.h"
#include "worlds/records.h"
#include "worlds/written.h"

namespace pawl::worlds {
namespace {

void write_error(json::Writer& w, const Instance& instance) {
  w.key("error");
  if (instance.error_code.empty()) return void(w.null());
  w.begin_object().field("code", instance.error_code).field("detail", instance.error_detail);
  write_nat(w, "seq", instance.error_seq);
  w.end_object();
}

// The members in the contract's order; an origin that cannot be read is null.
void write_origin(json::Writer& w, const RecordView& origin) {
  w.key("origin");
  if (!origin.is_map()) return void(w.null());
  w.begin_object().field("kind", origin.text("kind")).field("name", origin.text("name"));
  w.key("instance_key");
  if (origin.is_null("instance_key")) {
    w.null();
  } else {
    w.string(base64(origin.bytes("instance_key")));
  }
  write_nat(w, "emitted_at_seq", origin.nat("emitted_at_seq"));
  write_nat(w, "ordinal", origin.nat("ordinal"));
  write_nat(w, "effect_index", origin.nat("effect_index"));
  w.end_object();
}

std::string_view effect_state(const Intent& intent, const IntentWork& work) {
  if (intent.settlement != Settlement::Open) return "settled";
  return work.inflight ? "inflight" : "queued";
}

}  // namespace

void write_nat(json::Writer& w, std::string_view name, uint64_t value) {
  w.key(name).raw(std::to_string(value));
}

void write_value(json::Writer& w, const Type* type, std::string_view canonical) {
  std::string text;
  if (type != nullptr) {
    // A world keeps what was written under an earlier program, whose types may have been others.
    const auto fits = from_cbor(*type, canonical);
    if (fits.ok() && fits.value() == canonical) append_json(text, *type, canonical);
  }
  if (text.empty()) {
    const auto item = cbor::read(canonical);
    if (!item.ok()) return void(w.null());
    cbor::append_json(text, item.value());
  }
  w.raw(text);
}

void write_key(json::Writer& w, std::string_view name, std::string_view key) {
  w.key(name);
  if (key.empty()) return void(w.null());
  // Sugar of a key's types (integers and texts) is what plain CBOR prints as.
  write_value(w, nullptr, key);
}

void write_inflight(json::Writer& w, const Instance& instance) {
  w.key("inflight").begin_array();
  for (const Inflight& open : instance.inflight) {
    w.begin_object().field("intent_hash", open.hash).field("effect_kind", open.kind);
    w.field("params_hash", open.params_hash);
    write_nat(w, "emitted_at_seq", open.seq);
    w.end_object();
  }
  w.end_array();
}

void write_instance(json::Writer& w, const Program&, const std::string& module,
                    const std::string& key, const Instance& instance) {
  w.begin_object();
  w.key("run_id").uuid(instance.run_id);
  w.field("module", module);
  write_key(w, "key", key);
  w.key("key_b64");
  if (key.empty()) {
    w.null();
  } else {
    w.string(base64(key));
  }
  w.field("status", status_name(instance.status));
  w.key("state_hash");
  if (instance.has_state) {
    w.string(instance.state_hash);
  } else {
    w.null();
  }
  write_inflight(w, instance);
  write_nat(w, "last_seq", instance.last_seq);
  w.field("module_version", instance.module_version);
  write_error(w, instance);
  w.end_object();
}

void write_effect(json::Writer& w, const Program& program, const std::string& hash,
                  const Intent& intent, const IntentWork& work, int64_t lease_until_ms) {
  const RecordView record(intent.record);
  const Effect* effect = program.effect(intent.kind);
  w.begin_object().field("intent_hash", hash).field("kind", intent.kind);
  w.key("params");
  write_value(w, effect != nullptr ? effect->params_type.get() : nullptr, intent.params);
  w.field("params_b64", base64(intent.params)).field("params_hash", intent.params_hash);
  w.field("cap_name", intent.cap_name);
  // Who performs it gets the key that the module asked for, if it did.
  const std::string_view asked =
      lease_until_ms != 0 ? record.bytes("requested_key") : std::string_view();
  w.field("idempotency_key", to_hex(asked.empty() ? record.bytes("idempotency_key") : asked));
  w.field("state", effect_state(intent, work));
  write_origin(w, record.member("origin"));
  if (intent.settlement == Settlement::Open && work.until_ms != 0) {
    w.key("lease").begin_object().field("adapter_id", work.adapter_id);
    w.field_time("until", work.until_ms).end_object();
  }
  if (intent.settlement == Settlement::Receipt) {
    w.key("receipt").begin_object();
    write_nat(w, "seq", intent.settled_seq);
    w.field("status", intent.receipt_status).field("adapter_id", intent.adapter_id);
    w.end_object();
  }
  if (lease_until_ms != 0) w.field_time("lease_until", lease_until_ms);
  w.end_object();
}

void write_proposal(json::Writer& w, const Proposal& proposal) {
  w.begin_object().field("proposal_id", proposal_id(proposal.seq));
  w.field("state", proposal_state_name(proposal.state));
  w.field("manifest_hash", proposal.manifest_hash).field("base", proposal.base);
  w.key("description");
  if (proposal.description.empty()) {
    w.null();
  } else {
    w.string(proposal.description);
  }
  w.end_object();
}

void write_record(json::Writer& w, uint64_t seq, uint32_t n, const JournalRecord& record) {
  w.begin_object();
  write_nat(w, "seq", seq);
  write_nat(w, "n", n);
  w.field("kind", record_kind_name(record_kind(record)));
  w.key("record");
  write_value(w, nullptr, record.bytes);
  w.field("record_b64", base64(record.bytes)).end_object();
}

void write_digest(json::Writer& w, const Digest& digest) {
  write_nat(w, "height", digest.height);
  w.field("manifest_hash", digest.manifest_hash).field("state_root", digest.state_root);
  w.field("instances_root", digest.instances_root).field("queue_root", digest.queue_root);
}

std::string state_json(const Head& head, const Type* type, const Instance& instance) {
  std::string out;
  json::Writer w(out);
  w.begin_object().key("state");
  write_value(w, type, instance.state);
  w.field("state_b64", base64(instance.state)).field("state_hash", instance.state_hash);
  w.key("meta").begin_object();
  write_nat(w, "height", head.height);
  w.field("manifest_hash", head.manifest_hash).field("status", status_name(instance.status));
  write_nat(w, "last_seq", instance.last_seq);
  w.end_object().end_object();
  return out;
}

}  // namespace pawl::worlds
