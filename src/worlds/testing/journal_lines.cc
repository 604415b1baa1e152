#include "worlds/testing/journal_lines.h"

#include <algorithm>

#include "base/check.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

std::string bare_name(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  return std::string(name.substr(0, name.find('@')));
}

std::string text_at(std::string_view record, std::string_view name) {
  return std::string(string_of(member_of(record, name)));
}

std::string instance_at(std::string_view record) {
  std::string out = bare_name(text_at(record, "module"));
  const std::string key = text_at(record, "key");
  if (!key.empty()) out += "[" + json_of(key) + "]";
  return out;
}

std::string cause_at(uint64_t seq, std::string_view record) {
  const Cause cause = cause_of(record);
  if (cause.seq == 0) return {};
  const std::string place = std::to_string(cause.n);
  return cause.seq == seq ? " <" + place : " <" + std::to_string(cause.seq) + "." + place;
}

std::string step_at(uint64_t seq, std::string_view record) {
  std::string out = " " + instance_at(record) + " #" + in_record(record, "ordinal");
  return out + cause_at(seq, record) +
         (text_at(record, "route") == "continuation" ? " continuation" : "");
}

std::string flag_at(std::string_view record, std::string_view name) {
  return in_record(record, name) == "true" ? " " + std::string(name) : "";
}

std::string details_of(uint64_t seq, RecordKind kind, std::string_view record) {
  switch (kind) {
    case RecordKind::DomainEvent:
      return " " + bare_name(text_at(record, "schema")) + cause_at(seq, record);
    case RecordKind::Step:
      return step_at(seq, record) + " " + text_at(record, "status");
    case RecordKind::StepFailed:
      return step_at(seq, record) + " " + text_at(record, "code");
    case RecordKind::DeliverySkipped:
      return " " + instance_at(record) + cause_at(seq, record) + " " + text_at(record, "code");
    case RecordKind::CapDecision:
      return " " + text_at(record, "cap_name") + " " + text_at(record, "decision") +
             (text_at(record, "decision") == "deny" ? " " + in_record(record, "deny.code") : "");
    case RecordKind::PolicyDecision:
      return " " + bare_name(text_at(record, "policy_name")) + " " +
             in_record(record, "rule_index") + " " + text_at(record, "decision");
    case RecordKind::EffectIntent:
      return " " + text_at(record, "kind") + " " + text_at(record, "cap_name");
    case RecordKind::EffectReceipt:
      return " " + text_at(record, "status") + " " + text_at(record, "adapter_id");
    case RecordKind::ReceiptFault:
      return " " + text_at(record, "code") + flag_at(record, "delivered_rejected") +
             flag_at(record, "workflow_failed") + " dropped=" + in_record(record, "dropped");
    case RecordKind::Governance:
      return " " + text_at(record, "action");
    case RecordKind::Instance:
      return " " + instance_at(record) + " " + text_at(record, "action") +
             " dropped=" + in_record(record, "dropped");
    case RecordKind::Manifest:
    case RecordKind::Snapshot:
    case RecordKind::LegacyPlanStarted:
    case RecordKind::LegacyPlanResult:
    case RecordKind::LegacyPlanEnded:
      return {};
  }
  return {};
}

}  // namespace

std::string journal_line(uint64_t seq, const JournalRecord& record) {
  const auto kind = static_cast<RecordKind>(record.kind);
  return std::string(record_kind_name(kind)) + details_of(seq, kind, record.bytes);
}

std::string frame_line(World& world, uint64_t seq) {
  const auto frame = world.frame(seq);
  if (!frame) return "no frame";
  std::string out;
  for (const JournalRecord& record : frame->records)
    out += (out.empty() ? "" : " | ") + journal_line(seq, record);
  return out;
}

std::string json_of(std::string_view canonical) {
  Result<cbor::Item> item = cbor::read(canonical);
  PAWL_CHECK(item.ok());
  std::string out;
  cbor::append_json(out, *item);
  return out;
}

std::string in_record(std::string_view record, std::string_view path) {
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    record = member_of(record, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  if (record.empty()) return "absent";
  const bool is_text = static_cast<uint8_t>(record[0]) >> 5 == 3;
  return is_text ? std::string(string_of(record)) : json_of(record);
}

}  // namespace pawl::worlds
