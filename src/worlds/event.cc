// Domain events from outside: judged, journaled, routed, drained.
#include <utility>

#include "base/plant.h"
#include "worlds/arm_named.h"
#include "worlds/commands.h"
#include "worlds/drain.h"
#include "worlds/intent.h"
#include "worlds/members.h"
#include "worlds/route.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

Error event_refusal(std::string_view code, std::string message) {
  return refusal(ErrorCode::InvalidContent, code, std::move(message));
}

Error reserved_arm(const GivenEvent& given) {
  return event_refusal("event.reserved_schema",
                       "'" + given.schema + "': this arm is for the server alone");
}

// Who posts in a reserved arm is told so, also if the rest is wrong.
Result<std::string> read_value(const Type& type, const GivenEvent& given) {
  if (given.value.has_value() == given.value_bytes.has_value())
    return event_refusal("event.invalid", "an event has one of value and value_b64");
  Result<std::string> read =
      given.value ? from_json(type, *given.value, given.lens) : from_cbor(type, *given.value_bytes);
  if (read.ok()) {
    if (is_reserved_event(given.schema, type, read.value())) return reserved_arm(given);
    return read;
  }
  const std::string arm =
      given.value ? arm_named_by(*given.value, given.lens) : arm_named_by(*given.value_bytes);
  if (is_reserved_arm(type, arm)) return reserved_arm(given);
  return event_refusal("event.invalid", given.schema + ": " + read.error().message);
}

// The key beside the value, as the first keyed module that gets the event reads it.
Result<std::string> read_key(const Program& program, std::string_view schema, json::View key) {
  for (const Subscription& subscription : program.subscriptions) {
    if (subscription.event != schema || subscription.key_field.empty()) continue;
    const Module* module = program.module(subscription.module);
    if (module == nullptr || !module->keyed()) continue;
    Result<std::string> typed = from_json(*module->key_type, key);
    if (typed.ok()) return typed;
    return event_refusal("event.key_mismatch", "key: " + typed.error().message);
  }
  Result<std::string> plain = from_plain_json(key);
  if (plain.ok()) return plain;
  return event_refusal("event.invalid", "key: " + plain.error().message);
}

// What became of an event that was posted before, as its frame tells.
std::vector<Delivery> deliveries_of(World& world, uint64_t seq) {
  std::vector<Delivery> out;
  const std::optional<FrameRecords> frame = world.frame(seq);
  if (!frame) return out;
  for (const JournalRecord& record : frame->records) {
    const auto kind = static_cast<RecordKind>(record.kind);
    if (kind != RecordKind::Step && kind != RecordKind::StepFailed &&
        kind != RecordKind::DeliverySkipped)
      continue;
    if (cause_of(record.bytes) != Cause{.seq = seq, .n = 0}) continue;
    Delivery& delivery = out.emplace_back();
    delivery.module = string_of(member_of(record.bytes, "module"));
    const std::string key(string_of(member_of(record.bytes, "key")));
    if (!key.empty()) delivery.key = key;
    delivery.outcome = kind == RecordKind::Step         ? Delivery::Outcome::Stepped
                       : kind == RecordKind::StepFailed ? Delivery::Outcome::Failed
                                                        : Delivery::Outcome::Skipped;
    if (const auto instance = world.instance(delivery.module, key))
      delivery.run_id = instance->run_id;
  }
  return out;
}

Result<EventReply> repeated(World& world, const Event& event, const ClientNote& note) {
  if (note.event_hash != event.hash) {
    return event_refusal("event.client_id_reused", "client_id '" + event.client_id +
                                                       "' stands for another event, of frame " +
                                                       std::to_string(note.seq));
  }
  return EventReply{.seq = note.seq,
                    .event_hash = note.event_hash,
                    .deliveries = deliveries_of(world, note.seq),
                    .duplicate = true};
}

}  // namespace

Result<Event> judge_event(const Program& program, const GivenEvent& given) {
  const std::shared_ptr<const Type> type = program.types.find(given.schema);
  if (is_reserved_name(given.schema))
    return event_refusal("event.reserved_schema", "'" + given.schema + "' is for the server alone");
  if (type == nullptr)
    return event_refusal("event.unknown_schema", "no schema is named '" + given.schema + "'");
  Event event;
  event.schema = given.schema;
  event.client_id = given.client_id;
  PAWL_TRY(event.value, read_value(*type, given));
  if (given.key && !given.key->is_null()) {
    PAWL_TRY(event.key, read_key(program, given.schema, *given.key));
  }
  std::vector<Target> targets;
  if (auto fault = find_targets(program, event.schema, event.value, event.key, targets))
    return event_refusal(fault->code, std::move(fault->detail));
  event.hash = event_hash(event.schema, event.value, event.key);
  return event;
}

Result<EventReply> post_event(Deciding& deciding, const Event& event) {
  if (!event.client_id.empty()) {
    if (const auto note = deciding.world().client(event.client_id))
      return repeated(deciding.world(), event, *note);
  }
  Frame frame(deciding, Frame::Clock::Moves);
  PAWL_TRY_DO(has_room(frame.head()));
  std::vector<Target> targets;
  if (auto fault = find_targets(deciding.program(), event.schema, event.value, event.key, targets))
    return event_refusal(fault->code, std::move(fault->detail));
  const Cause posted{.seq = frame.seq(),
                     .n = frame.append(RecordKind::DomainEvent,
                                       domain_event_record({.schema = event.schema,
                                                            .value = event.value,
                                                            .key = event.key,
                                                            .event_hash = event.hash,
                                                            .client_id = event.client_id,
                                                            .stamp = frame.stamp_record()}))};
  Drain drain(frame);
  drain.queue_event(std::make_shared<Content>(Content{event.schema, event.value, event.hash}),
                    std::move(targets), posted, true);
  PAWL_TRY_DO(drain.run());
  frame.finish();
  if (!event.client_id.empty() && !(has_bug(Bug::ClientIdForgotten) && posted.seq % 3 == 0)) {
    const ClientNote note{.seq = posted.seq, .event_hash = event.hash, .schema = event.schema};
    deciding.writes().put(client_key(event.client_id), codec::encoded(note));
  }
  return EventReply{
      .seq = posted.seq, .event_hash = event.hash, .deliveries = drain.take_deliveries()};
}

}  // namespace pawl::worlds
