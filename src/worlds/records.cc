#include "worlds/records.h"

#include <array>
#include <utility>

#include "worlds/cbor.h"

// The members of each map stand in canonical order: shorter names first, then bytewise.

namespace pawl::worlds {
namespace {

constexpr std::array<std::pair<RecordKind, std::string_view>, 16> kRecordKinds = {{
    {RecordKind::Manifest, "manifest"},
    {RecordKind::Snapshot, "snapshot"},
    {RecordKind::DomainEvent, "domain_event"},
    {RecordKind::Step, "step"},
    {RecordKind::StepFailed, "step_failed"},
    {RecordKind::DeliverySkipped, "delivery_skipped"},
    {RecordKind::CapDecision, "cap_decision"},
    {RecordKind::PolicyDecision, "policy_decision"},
    {RecordKind::EffectIntent, "effect_intent"},
    {RecordKind::EffectReceipt, "effect_receipt"},
    {RecordKind::ReceiptFault, "receipt_fault"},
    {RecordKind::Governance, "governance"},
    {RecordKind::Instance, "instance"},
    {RecordKind::LegacyPlanStarted, "legacy_plan_started"},
    {RecordKind::LegacyPlanResult, "legacy_plan_result"},
    {RecordKind::LegacyPlanEnded, "legacy_plan_ended"},
}};

// The members of one map, in canonical order.
class Members {
 public:
  Members(std::string& out, size_t count) : out_(out) { cbor::put_map(out_, count); }

  Members& text(std::string_view name, std::string_view value) {
    cbor::put_text(key(name), value);
    return *this;
  }
  Members& text_or_null(std::string_view name, std::string_view value) {
    return value.empty() ? null(name) : text(name, value);
  }
  Members& bytes(std::string_view name, std::string_view value) {
    cbor::put_bytes(key(name), value);
    return *this;
  }
  Members& bytes(std::string_view name, MaybeBytes value) {
    return value ? bytes(name, *value) : null(name);
  }
  Members& nat(std::string_view name, uint64_t value) {
    cbor::put_nat(key(name), value);
    return *this;
  }
  Members& integer(std::string_view name, int64_t value) {
    cbor::put_int(key(name), value);
    return *this;
  }
  Members& integer_or_null(std::string_view name, std::optional<int64_t> value) {
    return value ? integer(name, *value) : null(name);
  }
  Members& boolean(std::string_view name, bool value) {
    cbor::put_bool(key(name), value);
    return *this;
  }
  Members& null(std::string_view name) {
    cbor::put_null(key(name));
    return *this;
  }
  Members& cause(const Cause& cause) {
    cbor::put_array(key("cause"), 2);
    cbor::put_nat(out_, cause.seq);
    cbor::put_nat(out_, cause.n);
    return *this;
  }
  Members& stamp(const StampRecord& stamp) {
    Members(key("stamp"), 4)
        .integer("now_ns", stamp.now_ns)
        .bytes("entropy", stamp.entropy)
        .text("manifest_hash", stamp.manifest_hash)
        .integer("logical_now_ns", stamp.logical_now_ns);
    return *this;
  }
  std::string& key(std::string_view name) {
    cbor::put_text(out_, name);
    return out_;
  }

 private:
  std::string& out_;
};

// One allocation for most records; `large` is the size of what has no bound.
std::string room_for(size_t large) {
  std::string out;
  out.reserve(512 + large);
  return out;
}

}  // namespace

std::string_view record_kind_name(RecordKind kind) {
  for (const auto& [known, name] : kRecordKinds)
    if (known == kind) return name;
  return "unknown";
}

std::optional<RecordKind> parse_record_kind(std::string_view name) {
  for (const auto& [kind, known] : kRecordKinds)
    if (known == name) return kind;
  return std::nullopt;
}

bool is_legacy(RecordKind kind) { return kind >= RecordKind::LegacyPlanStarted; }

std::string_view route_name(Route route) {
  return route == Route::Subscription ? "subscription" : "continuation";
}

std::string manifest_record(std::string_view manifest_hash) {
  std::string out;
  Members(out, 1).text("manifest_hash", manifest_hash);
  return out;
}

std::string snapshot_record(std::string_view snapshot_ref, uint64_t height) {
  std::string out;
  Members(out, 2).nat("height", height).text("snapshot_ref", snapshot_ref);
  return out;
}

std::string domain_event_record(const DomainEventRecord& record) {
  std::string out = room_for(record.value.size() + record.client_id.size());
  Members members(out, 7);
  members.bytes("key", record.key);
  if (record.cause) {
    members.cause(*record.cause);
  } else {
    members.null("cause");
  }
  if (record.stamp) {
    members.stamp(*record.stamp);
  } else {
    members.null("stamp");
  }
  members.bytes("value", record.value)
      .text("schema", record.schema)
      .text_or_null("client_id", record.client_id)
      .text("event_hash", record.event_hash);
  return out;
}

std::string step_record(const StepRecord& record) {
  std::string out = room_for(0);
  Members(out, 8)
      .bytes("key", record.key)
      .cause(record.cause)
      .text("route", route_name(record.route))
      .text("module", record.module)
      .text("status", record.status)
      .nat("ordinal", record.ordinal)
      .text_or_null("state_hash", record.state_hash)
      .text("module_version", record.module_version);
  return out;
}

std::string step_failed_record(const StepFailedRecord& record) {
  std::string out = room_for(record.detail.size());
  Members(out, 7)
      .bytes("key", record.key)
      .text("code", record.code)
      .cause(record.cause)
      .text("route", route_name(record.route))
      .text("detail", record.detail)
      .text("module", record.module)
      .nat("ordinal", record.ordinal);
  return out;
}

std::string delivery_skipped_record(const DeliverySkippedRecord& record) {
  std::string out;
  Members(out, 4)
      .bytes("key", record.key)
      .text("code", record.code)
      .cause(record.cause)
      .text("module", record.module);
  return out;
}

std::string cap_decision_record(const CapDecisionRecord& record) {
  std::string out = room_for(record.deny_message.size());
  Members members(out, 11);
  if (record.allow) {
    members.null("deny");
  } else {
    Members(members.key("deny"), 2)
        .text("code", record.deny_code)
        .text("message", record.deny_message);
  }
  members.text("stage", "enqueue")
      .text("cap_name", record.cap_name)
      .text("cap_type", record.cap_type)
      .text("decision", record.allow ? "allow" : "deny")
      .integer_or_null("expiry_ns", record.expiry_ns)
      .text("grant_hash", record.grant_hash)
      .text("effect_kind", record.effect_kind)
      .text("intent_hash", record.intent_hash)
      .integer("logical_now_ns", record.logical_now_ns)
      .text("enforcer_module", record.enforcer_module);
  return out;
}

std::string policy_decision_record(const PolicyDecisionRecord& record) {
  std::string out;
  Members members(out, 4);
  members.text("decision", record.allow ? "allow" : "deny");
  if (record.rule_index) {
    members.nat("rule_index", *record.rule_index);
  } else {
    members.null("rule_index");
  }
  members.text("intent_hash", record.intent_hash).text("policy_name", record.policy_name);
  return out;
}

std::string effect_intent_record(const EffectIntentRecord& record) {
  std::string out = room_for(record.params.size() + record.origin.name.size());
  Members members(out, 8);
  members.text("kind", record.kind);
  Members(members.key("origin"), 6)
      .text("kind", record.origin.kind)
      .text("name", record.origin.name)
      .nat("ordinal", record.origin.ordinal)
      .nat("effect_index", record.origin.effect_index)
      .bytes("instance_key", record.origin.instance_key)
      .nat("emitted_at_seq", record.origin.emitted_at_seq);
  members.bytes("params", record.params)
      .text("cap_name", record.cap_name)
      .text("intent_hash", record.intent_hash)
      .text("params_hash", record.params_hash)
      .bytes("requested_key", record.requested_key)
      .bytes("idempotency_key", record.idempotency_key);
  return out;
}

std::string effect_receipt_record(const EffectReceiptRecord& record) {
  std::string out = room_for(record.payload.size());
  Members(out, 8)
      .stamp(record.stamp)
      .text("status", record.status)
      .bytes("payload", record.payload)
      .bytes("signature", record.signature)
      .text("adapter_id", record.adapter_id)
      .integer_or_null("cost_cents", record.cost_cents)
      .text("intent_hash", record.intent_hash)
      .text("payload_hash", record.payload_hash);
  return out;
}

std::string receipt_fault_record(const ReceiptFaultRecord& record) {
  std::string out;
  Members(out, 5)
      .text("code", record.code)
      .nat("dropped", record.dropped)
      .text("intent_hash", record.intent_hash)
      .boolean("workflow_failed", record.workflow_failed)
      .boolean("delivered_rejected", record.delivered_rejected);
  return out;
}

std::string governance_record(const GovernanceRecord& record) {
  std::string out;
  Members(out, 5)
      .text_or_null("base", record.base)
      .text("action", record.action)
      .text_or_null("report", record.report)
      .text_or_null("proposal_id", record.proposal_id)
      .text_or_null("manifest_hash", record.manifest_hash);
  return out;
}

std::string instance_record(const InstanceRecord& record) {
  std::string out = room_for(0);
  Members(out, 5)
      .bytes("key", record.key)
      .stamp(record.stamp)
      .text("action", record.action)
      .text("module", record.module)
      .nat("dropped", record.dropped);
  return out;
}

}  // namespace pawl::worlds
