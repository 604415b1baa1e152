#include "worlds/recorded.h"

#include <algorithm>
#include <limits>

#include "worlds/intent.h"
#include "worlds/route.h"

namespace pawl::worlds {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kTimeMsMax = std::numeric_limits<int64_t>::max() / kNsPerMs;
constexpr size_t kEntropyBytes = 64;

RecordView first_record(const FrameRecords& frame) {
  return RecordView(frame.records.empty() ? std::string_view() : frame.records[0].bytes);
}

}  // namespace

bool is_outside_event(const FrameRecords& frame) {
  return !frame.records.empty() && record_kind(frame.records[0]) == RecordKind::DomainEvent;
}

bool is_receipt(const FrameRecords& frame) {
  return !frame.records.empty() && record_kind(frame.records[0]) == RecordKind::EffectReceipt;
}

Stamp recorded_stamp(const FrameRecords& frame, int64_t last_logical_ns) {
  const RecordView first = first_record(frame);
  const RecordView stamp = first.member("stamp");
  Stamp out;
  if (stamp.is_map()) {
    out = {stamp.integer("now_ns"), stamp.integer("logical_now_ns"),
           std::string(stamp.bytes("entropy"))};
  } else {
    // Whoever can write checksums may have written anything.
    out.now_ns = std::clamp<int64_t>(frame.written_ms, 0, kTimeMsMax) * kNsPerMs;
    out.logical_now_ns =
        first.maybe_int("logical_now_ns").value_or(std::max(out.now_ns, last_logical_ns));
  }
  out.entropy.resize(kEntropyBytes, '\0');
  return out;
}

Result<Event> recorded_event(const Program& program, const RecordView& record) {
  Event event;
  event.schema = record.text("schema");
  event.key = record.maybe_bytes("key");
  event.client_id = record.text("client_id");
  const auto type = program.types.find(event.schema);
  if (type == nullptr)
    return refusal(ErrorCode::InvalidContent, "event.unknown_schema",
                   "the manifest has no schema '" + event.schema + "'");
  auto value = from_cbor(*type, record.bytes("value"));
  if (!value.ok())
    return refusal(ErrorCode::InvalidContent, "event.invalid", value.error().message);
  event.value = std::move(value).value();
  if (is_reserved_event(event.schema, *type, event.value))
    return refusal(ErrorCode::InvalidContent, "event.reserved_schema",
                   event.schema + " is only for the kernel");
  const MaybeBytes key = event.key ? MaybeBytes(*event.key) : MaybeBytes();
  std::vector<Target> targets;
  if (const auto fault = find_targets(program, event.schema, event.value, key, targets))
    return refusal(ErrorCode::InvalidContent, fault->code, fault->detail);
  event.hash = event_hash(event.schema, event.value, key);
  return event;
}

GivenReceipt recorded_receipt(const RecordView& record) {
  GivenReceipt receipt;
  receipt.intent_hash = record.text("intent_hash");
  receipt.adapter_id = record.text("adapter_id");
  receipt.status = record.text("status");
  receipt.payload = record.bytes("payload");
  receipt.cost_cents = record.maybe_int("cost_cents");
  receipt.signature = record.bytes("signature");
  return receipt;
}

}  // namespace pawl::worlds
