#include "cli/world_records.h"

#include <algorithm>

#include "base/base64.h"
#include "cli/cbor_text.h"
#include "cli/worlds.h"

namespace pawl::cli {
namespace {

constexpr size_t kRecordCharsMax = 200;
constexpr size_t kPositionWidth = 8;
constexpr size_t kTimeWidth = 24;
constexpr size_t kKindWidth = 16;  // delivery_skipped

std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

// Canonical CBOR of a record, which JSON has as base64.
std::string cbor_of(json::View record, std::string_view name) {
  std::string bytes;
  const bool any = from_base64(member(record, name), bytes) && !bytes.empty();
  return any ? cbor_text(bytes, kRecordCharsMax) : "";
}

std::string instance_of(json::View record) {
  std::string key;
  const bool keyed = from_base64(member(record, "key"), key) && !key.empty();
  const std::string module = member(record, "module");
  return keyed ? module + " " + cbor_key_text(key) : module;
}

std::string with(std::string_view before, const std::string& value, std::string_view after = "") {
  return value.empty() ? "" : std::string(before) + value + std::string(after);
}

std::string position_of(json::View record, std::string_view name) {
  auto pair = record.find(name);
  if (!pair || !pair->is_array()) return "";
  std::string text;
  pair->each_element(
      [&](json::View part) { text += (text.empty() ? "" : ".") + std::string(part.raw()); });
  return text;
}

// In the order of a step, an effect and its receipt.
std::string event_text(json::View record) {
  return member(record, "schema") + with(" ", cbor_of(record, "value")) +
         with(" key ", cbor_of(record, "key")) + with(" by ", member(record, "client_id")) +
         with(" from step ", position_of(record, "cause"));
}

std::string step_text(json::View record) {
  return instance_of(record) + with(" → ", member(record, "status")) +
         with(", version ", short_hash(member(record, "module_version"))) +
         (member(record, "route") == "continuation" ? ", continued" : "");
}

std::string step_failed_text(json::View record) {
  return instance_of(record) + with(" ", member(record, "code")) +
         with(": ", member(record, "detail"));
}

std::string denial_of(json::View record) {
  auto deny = record.find("deny");
  if (!deny || !deny->is_object()) return "";
  return with(": ", member(*deny, "code")) + with(" (", member(*deny, "message"), ")");
}

std::string cap_decision_text(json::View record) {
  return member(record, "decision") + with(" ", member(record, "effect_kind")) +
         with(" by ", member(record, "cap_name")) + denial_of(record);
}

std::string policy_decision_text(json::View record) {
  return member(record, "decision") + with(" by ", member(record, "policy_name")) +
         with(" rule ", member(record, "rule_index")) +
         with(", intent ", short_hash(member(record, "intent_hash")));
}

std::string intent_text(json::View record) {
  return member(record, "kind") + with(" ", short_hash(member(record, "intent_hash"))) +
         with(" ", cbor_of(record, "params"));
}

std::string receipt_text(json::View record) {
  return member(record, "status") + with(" ", short_hash(member(record, "intent_hash"))) +
         with(" from ", member(record, "adapter_id")) + with(" ", cbor_of(record, "payload")) +
         with(", cost ", member(record, "cost_cents"), " cents");
}

std::string dropped_text(json::View record) {
  const int64_t dropped = member_int(record, "dropped");
  return dropped == 0 ? "" : ", " + counted(dropped, "intent") + " dropped";
}

std::string fault_text(json::View record) {
  std::string text = member(record, "code") + with(" ", short_hash(member(record, "intent_hash")));
  if (member(record, "delivered_rejected") == "true") text += ", delivered as rejected";
  if (member(record, "workflow_failed") == "true") text += ", the instance failed";
  return text + dropped_text(record);
}

std::string governance_text(json::View record) {
  return member(record, "action") + with(" ", member(record, "proposal_id")) +
         with(" ", short_hash(member(record, "manifest_hash")));
}

std::string moved_text(json::View record) {
  return instance_of(record) + with(" ", member(record, "action")) + dropped_text(record);
}

std::string skipped_text(json::View record) {
  return instance_of(record) + with(" ", member(record, "code"));
}

std::string manifest_text(json::View record) { return short_hash(member(record, "manifest_hash")); }

std::string snapshot_text(json::View record) {
  return "of height " + member(record, "height") + with(", blob ", member(record, "snapshot_ref"));
}

struct RecordKind {
  std::string_view name;
  std::string (*text)(json::View record);
  Colour colour = Colour::None;
};
constexpr RecordKind kRecordKinds[] = {{"domain_event", event_text, Colour::Blue},
                                       {"step", step_text, Colour::Green},
                                       {"step_failed", step_failed_text, Colour::Red},
                                       {"cap_decision", cap_decision_text},
                                       {"policy_decision", policy_decision_text},
                                       {"effect_intent", intent_text, Colour::Yellow},
                                       {"effect_receipt", receipt_text, Colour::Blue},
                                       {"receipt_fault", fault_text, Colour::Red},
                                       {"governance", governance_text},
                                       {"instance", moved_text},
                                       {"delivery_skipped", skipped_text, Colour::Red},
                                       {"manifest", manifest_text},
                                       {"snapshot", snapshot_text}};

}  // namespace

std::string world_record_line(json::View entry, bool colours) {
  const std::string kind = member(entry, "kind");
  const json::View record = entry.find("record").value_or(entry);
  const RecordKind* known = std::find_if(std::begin(kRecordKinds), std::end(kRecordKinds),
                                         [&](const RecordKind& one) { return one.name == kind; });
  const bool is_known = known != std::end(kRecordKinds) && record.is_object();
  auto stamp = record.find("stamp");
  const std::string time = stamp && stamp->is_object() ? time_of_ns(*stamp, "now_ns") : "";
  std::string text =
      is_known ? known->text(record) : std::string(record.raw().substr(0, kRecordCharsMax));
  std::string line = padded(member(entry, "seq") + "." + member(entry, "n"), kPositionWidth) +
                     "  " + painted(padded(time, kTimeWidth), Colour::Grey, colours) + "  " +
                     painted(padded(printable(kind), kKindWidth),
                             is_known ? known->colour : Colour::None, colours) +
                     "  " + printable(text);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace pawl::cli
