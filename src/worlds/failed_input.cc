#include "worlds/failed_input.h"

#include <utility>

#include "worlds/cbor.h"
#include "worlds/route.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

RecordKind kind_of(const JournalRecord& record) { return static_cast<RecordKind>(record.kind); }

std::string_view text_in(const JournalRecord& record, std::string_view name) {
  return string_of(member_of(record.bytes, name));
}

// Whether a record tells that this instance failed; `input`: the record that it failed on.
bool tells_of_failure(World& world, uint64_t seq, uint32_t n, const JournalRecord& record,
                      std::string_view module, std::string_view key, Cause& input) {
  const RecordKind kind = kind_of(record);
  if (kind == RecordKind::ReceiptFault) {
    if (member_of(record.bytes, "workflow_failed") != "\xf5") return false;
    const auto intent = world.intent(text_in(record, "intent_hash"));
    input = {.seq = seq, .n = n};
    return intent && intent->origin_name == module && intent->instance_key == key;
  }
  if (kind != RecordKind::StepFailed &&
      (kind != RecordKind::Step || text_in(record, "status") != "failed"))
    return false;
  input = cause_of(record.bytes);
  return text_in(record, "module") == module && text_in(record, "key") == key;
}

// For a world restored from a snapshot, which does not say: looks back from the frame that failed
// the instance, over retries that failed again.
std::optional<Cause> look_back(World& world, std::string_view module, std::string_view key,
                               uint64_t last_seq) {
  for (uint64_t seq = last_seq; seq > 0; --seq) {
    const std::optional<FrameRecords> frame = world.frame(seq);
    if (!frame) return std::nullopt;
    for (size_t n = frame->records.size(); n-- > 0;) {
      Cause input;
      if (!tells_of_failure(world, seq, static_cast<uint32_t>(n), frame->records[n], module, key,
                            input))
        continue;
      const bool was_retry = input.seq == seq && input.n < frame->records.size() &&
                             kind_of(frame->records[input.n]) == RecordKind::Instance;
      if (!was_retry) return input;
      break;
    }
  }
  return std::nullopt;
}

std::optional<Continuation> event_again(const Program& program, const JournalRecord& record,
                                        std::string_view module, std::string_view key) {
  const std::string_view schema = text_in(record, "schema"), value = text_in(record, "value");
  std::vector<Target> targets;
  if (find_targets(program, schema, value, {}, targets)) return std::nullopt;
  for (const Target& target : targets) {
    if (target.module->name != module || target.key != key) continue;
    auto content = std::make_shared<Content>();
    content->schema = schema;
    content->value = value;
    content->hash = text_in(record, "event_hash");
    return Continuation{
        .module = target.module, .arm = target.subscription->arm, .content = std::move(content)};
  }
  return std::nullopt;
}

std::optional<Continuation> receipt_again(World& world, const Program& program,
                                          const JournalRecord& record) {
  const std::string hash(text_in(record, "intent_hash"));
  const std::optional<Intent> intent = world.intent(hash);
  if (!intent) return std::nullopt;
  Result<cbor::Item> cost = cbor::read(member_of(record.bytes, "cost_cents"));
  const std::string_view payload = text_in(record, "payload"), status = text_in(record, "status");
  ReceiptFacts facts{.intent_hash = hash,
                     .intent = *intent,
                     .adapter_id = text_in(record, "adapter_id"),
                     .status = status,
                     .cost_cents = {},
                     .signature = text_in(record, "signature"),
                     .payload = payload,
                     .payload_hash = text_in(record, "payload_hash")};
  if (cost.ok() && cost->kind == cbor::Kind::Nat)
    facts.cost_cents = static_cast<int64_t>(cost->number);
  return plan_receipt(program, facts, judge_payload(program, intent->kind, status, payload, {}))
      .continuation;
}

// The receipt that a fault is about: a record before it in the same frame.
const JournalRecord* receipt_of(const FrameRecords& frame, uint32_t fault) {
  for (uint32_t n = fault; n-- > 0;)
    if (kind_of(frame.records[n]) == RecordKind::EffectReceipt) return &frame.records[n];
  return nullptr;
}

}  // namespace

std::optional<FailedInput> find_failed_input(World& world, const Program& program,
                                             std::string_view module, std::string_view key,
                                             const Instance& instance) {
  FailedInput out;
  out.record = {.seq = instance.failed_cause_seq, .n = instance.failed_cause_n};
  if (out.record.seq == 0) {
    if (instance.error_code == kTerminated) return std::nullopt;
    const auto found = look_back(world, module, key, instance.last_seq);
    if (!found) return std::nullopt;
    out.record = *found;
  }
  const std::optional<FrameRecords> frame = world.frame(out.record.seq);
  if (!frame || out.record.n >= frame->records.size()) return std::nullopt;
  const JournalRecord* record = &frame->records[out.record.n];
  std::optional<Continuation> delivery;
  if (kind_of(*record) == RecordKind::DomainEvent) {
    delivery = event_again(program, *record, module, key);
  } else {
    out.route = Route::Continuation;
    if (kind_of(*record) == RecordKind::ReceiptFault) record = receipt_of(*frame, out.record.n);
    if (record != nullptr && kind_of(*record) == RecordKind::EffectReceipt)
      delivery = receipt_again(world, program, *record);
  }
  if (!delivery) return std::nullopt;
  out.delivery = *std::move(delivery);
  return out;
}

}  // namespace pawl::worlds
