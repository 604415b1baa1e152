// Records: what a frame of a world's journal is made of (docs/reference/worlds-bytes.md). One
// writer per kind; each gives canonical CBOR with every member, null where there is nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "worlds/map_writer.h"

namespace pawl::worlds {

// Numbers are in JournalRecord::kind on disk.
enum class RecordKind : uint8_t {
  Manifest = 1,
  Snapshot = 2,
  DomainEvent = 3,
  Step = 4,
  StepFailed = 5,
  DeliverySkipped = 6,
  CapDecision = 7,
  PolicyDecision = 8,
  EffectIntent = 9,
  EffectReceipt = 10,
  ReceiptFault = 11,
  Governance = 12,
  Instance = 13,
  // Of journals from before modules; they list, and change nothing.
  LegacyPlanStarted = 32,
  LegacyPlanResult = 33,
  LegacyPlanEnded = 34,
};

// "domain_event", …; "unknown" for a number that is no kind.
std::string_view record_kind_name(RecordKind kind);
std::optional<RecordKind> parse_record_kind(std::string_view name);
bool is_legacy(RecordKind kind);

// A record of the journal, by its frame and its place in it.
struct Cause {
  uint64_t seq = 0;
  uint32_t n = 0;
  auto operator<=>(const Cause&) const = default;
};

enum class Route : uint8_t { Subscription, Continuation };
std::string_view route_name(Route route);

struct StampRecord {
  int64_t now_ns = 0, logical_now_ns = 0;
  std::string_view entropy, manifest_hash;
};

struct DomainEventRecord {
  std::string_view schema, value;
  MaybeBytes key = {};
  std::string_view event_hash, client_id;  // client_id "": null
  std::optional<Cause> cause = {};         // of an emitted event
  std::optional<StampRecord> stamp = {};   // of one from outside
};

struct StepRecord {
  std::string_view module;
  MaybeBytes key = {};
  uint64_t ordinal = 0;
  Cause cause;
  Route route = Route::Subscription;
  std::string_view status, state_hash, module_version;  // state_hash "": null
};

struct StepFailedRecord {
  std::string_view module;
  MaybeBytes key = {};
  uint64_t ordinal = 0;
  Cause cause;
  Route route = Route::Subscription;
  std::string_view code, detail;
};

struct DeliverySkippedRecord {
  std::string_view module;
  MaybeBytes key = {};
  Cause cause;
  std::string_view code;  // step.cascade_limit, instance.failed
};

struct CapDecisionRecord {
  std::string_view intent_hash, effect_kind, cap_name, cap_type, grant_hash, enforcer_module;
  bool allow = false;
  std::string_view deny_code, deny_message;
  std::optional<int64_t> expiry_ns = {};
  int64_t logical_now_ns = 0;
};

struct PolicyDecisionRecord {
  std::string_view intent_hash, policy_name;
  std::optional<uint64_t> rule_index = {};
  bool allow = false;
};

// The cause in a step, step_failed, delivery_skipped or emitted domain_event; seq 0 if there is
// none.
Cause cause_of(std::string_view record);

// Who asked for an effect, and where.
struct OriginRecord {
  std::string_view kind, name;
  MaybeBytes instance_key = {};
  uint64_t emitted_at_seq = 0, ordinal = 0, effect_index = 0;
};

struct EffectIntentRecord {
  std::string_view intent_hash, kind, cap_name, params, params_hash, idempotency_key;
  MaybeBytes requested_key = {};
  OriginRecord origin;
};

struct EffectReceiptRecord {
  std::string_view intent_hash, adapter_id, status, payload, payload_hash;
  std::optional<int64_t> cost_cents = {};
  std::string_view signature;
  StampRecord stamp;
};

struct ReceiptFaultRecord {
  std::string_view intent_hash, code;
  bool delivered_rejected = false, workflow_failed = false;
  uint64_t dropped = 0;
};

struct GovernanceRecord {
  std::string_view action;  // proposed, shadow_report, approved, rejected, applied
  std::string_view proposal_id, manifest_hash, base, report;  // "": null
};

struct InstanceRecord {
  std::string_view module;
  MaybeBytes key = {};
  std::string_view action;  // terminated, retried, forgotten
  uint64_t dropped = 0;
  StampRecord stamp;
};

std::string manifest_record(std::string_view manifest_hash);
std::string snapshot_record(std::string_view snapshot_ref, uint64_t height);
std::string domain_event_record(const DomainEventRecord& record);
std::string step_record(const StepRecord& record);
std::string step_failed_record(const StepFailedRecord& record);
std::string delivery_skipped_record(const DeliverySkippedRecord& record);
std::string cap_decision_record(const CapDecisionRecord& record);
std::string policy_decision_record(const PolicyDecisionRecord& record);
std::string effect_intent_record(const EffectIntentRecord& record);
std::string effect_receipt_record(const EffectReceiptRecord& record);
std::string receipt_fault_record(const ReceiptFaultRecord& record);
std::string governance_record(const GovernanceRecord& record);
std::string instance_record(const InstanceRecord& record);

}  // namespace pawl::worlds
