#include "worlds/records.h"

#include <array>
#include <utility>

#include "worlds/cbor_head.h"
#include "worlds/walk.h"

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

void put_cause(MapWriter& map, const Cause& cause) {
  std::string& out = map.key("cause");
  cbor::put_array(out, 2);
  cbor::put_nat(out, cause.seq);
  cbor::put_nat(out, cause.n);
}

void put_stamp(MapWriter& map, const StampRecord& stamp) {
  MapWriter(map.key("stamp"), 4)
      .integer("now_ns", stamp.now_ns)
      .bytes("entropy", stamp.entropy)
      .text("manifest_hash", stamp.manifest_hash)
      .integer("logical_now_ns", stamp.logical_now_ns);
}

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

Cause cause_of(std::string_view record) {
  Cause cause;
  cbor::Head head;
  const std::string_view item = member_of(record, "cause");
  size_t at = 0;
  if (!cbor::take_head(item, at, head) || head.major != cbor::kMajorArray) return cause;
  if (cbor::take_head(item, at, head)) cause.seq = head.argument;
  if (cbor::take_head(item, at, head)) cause.n = static_cast<uint32_t>(head.argument);
  return cause;
}

std::string manifest_record(std::string_view manifest_hash) {
  std::string out;
  MapWriter(out, 1).text("manifest_hash", manifest_hash);
  return out;
}

std::string snapshot_record(std::string_view snapshot_ref, uint64_t height) {
  std::string out;
  MapWriter(out, 2).nat("height", height).text("snapshot_ref", snapshot_ref);
  return out;
}

std::string domain_event_record(const DomainEventRecord& record) {
  std::string out = room_for(record.value.size() + record.client_id.size());
  MapWriter map(out, 7);
  map.maybe_bytes("key", record.key);
  if (record.cause) {
    put_cause(map, *record.cause);
  } else {
    map.null("cause");
  }
  if (record.stamp) {
    put_stamp(map, *record.stamp);
  } else {
    map.null("stamp");
  }
  map.bytes("value", record.value)
      .text("schema", record.schema)
      .text_or_null("client_id", record.client_id)
      .text("event_hash", record.event_hash);
  return out;
}

std::string step_record(const StepRecord& record) {
  std::string out = room_for(0);
  MapWriter map(out, 8);
  map.maybe_bytes("key", record.key);
  put_cause(map, record.cause);
  map.text("route", route_name(record.route))
      .text("module", record.module)
      .text("status", record.status)
      .nat("ordinal", record.ordinal)
      .text_or_null("state_hash", record.state_hash)
      .text("module_version", record.module_version);
  return out;
}

std::string step_failed_record(const StepFailedRecord& record) {
  std::string out = room_for(record.detail.size());
  MapWriter map(out, 7);
  map.maybe_bytes("key", record.key).text("code", record.code);
  put_cause(map, record.cause);
  map.text("route", route_name(record.route))
      .text("detail", record.detail)
      .text("module", record.module)
      .nat("ordinal", record.ordinal);
  return out;
}

std::string delivery_skipped_record(const DeliverySkippedRecord& record) {
  std::string out;
  MapWriter map(out, 4);
  map.maybe_bytes("key", record.key).text("code", record.code);
  put_cause(map, record.cause);
  map.text("module", record.module);
  return out;
}

std::string cap_decision_record(const CapDecisionRecord& record) {
  std::string out = room_for(record.deny_message.size());
  MapWriter map(out, 11);
  if (record.allow) {
    map.null("deny");
  } else {
    MapWriter(map.key("deny"), 2)
        .text("code", record.deny_code)
        .text("message", record.deny_message);
  }
  map.text("stage", "enqueue")
      .text("cap_name", record.cap_name)
      .text("cap_type", record.cap_type)
      .text("decision", record.allow ? "allow" : "deny")
      .maybe_integer("expiry_ns", record.expiry_ns)
      .text("grant_hash", record.grant_hash)
      .text("effect_kind", record.effect_kind)
      .text("intent_hash", record.intent_hash)
      .integer("logical_now_ns", record.logical_now_ns)
      .text("enforcer_module", record.enforcer_module);
  return out;
}

std::string policy_decision_record(const PolicyDecisionRecord& record) {
  std::string out;
  MapWriter(out, 4)
      .text("decision", record.allow ? "allow" : "deny")
      .maybe_nat("rule_index", record.rule_index)
      .text("intent_hash", record.intent_hash)
      .text("policy_name", record.policy_name);
  return out;
}

std::string effect_intent_record(const EffectIntentRecord& record) {
  std::string out = room_for(record.params.size() + record.origin.name.size());
  MapWriter map(out, 8);
  map.text("kind", record.kind);
  MapWriter(map.key("origin"), 6)
      .text("kind", record.origin.kind)
      .text("name", record.origin.name)
      .nat("ordinal", record.origin.ordinal)
      .nat("effect_index", record.origin.effect_index)
      .maybe_bytes("instance_key", record.origin.instance_key)
      .nat("emitted_at_seq", record.origin.emitted_at_seq);
  map.bytes("params", record.params)
      .text("cap_name", record.cap_name)
      .text("intent_hash", record.intent_hash)
      .text("params_hash", record.params_hash)
      .maybe_bytes("requested_key", record.requested_key)
      .bytes("idempotency_key", record.idempotency_key);
  return out;
}

std::string effect_receipt_record(const EffectReceiptRecord& record) {
  std::string out = room_for(record.payload.size());
  MapWriter map(out, 8);
  put_stamp(map, record.stamp);
  map.text("status", record.status)
      .bytes("payload", record.payload)
      .bytes("signature", record.signature)
      .text("adapter_id", record.adapter_id)
      .maybe_integer("cost_cents", record.cost_cents)
      .text("intent_hash", record.intent_hash)
      .text("payload_hash", record.payload_hash);
  return out;
}

std::string receipt_fault_record(const ReceiptFaultRecord& record) {
  std::string out;
  MapWriter(out, 5)
      .text("code", record.code)
      .nat("dropped", record.dropped)
      .text("intent_hash", record.intent_hash)
      .boolean("workflow_failed", record.workflow_failed)
      .boolean("delivered_rejected", record.delivered_rejected);
  return out;
}

std::string governance_record(const GovernanceRecord& record) {
  std::string out;
  MapWriter(out, 5)
      .text_or_null("base", record.base)
      .text("action", record.action)
      .text_or_null("report", record.report)
      .text_or_null("proposal_id", record.proposal_id)
      .text_or_null("manifest_hash", record.manifest_hash);
  return out;
}

std::string instance_record(const InstanceRecord& record) {
  std::string out = room_for(0);
  MapWriter map(out, 5);
  map.maybe_bytes("key", record.key);
  put_stamp(map, record.stamp);
  map.text("action", record.action).text("module", record.module).nat("dropped", record.dropped);
  return out;
}

}  // namespace pawl::worlds
