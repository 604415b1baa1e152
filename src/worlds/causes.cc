#include "worlds/causes.h"

#include "worlds/record_view.h"

namespace pawl::worlds {
namespace {

bool is_decision(RecordKind kind) {
  return kind == RecordKind::CapDecision || kind == RecordKind::PolicyDecision;
}

bool is_own(World& world, const JournalRecord& entry, std::string_view module,
            std::string_view key) {
  const RecordView record(entry.bytes);
  const RecordKind kind = record_kind(entry);
  if (record.text("module") == module) return record.bytes("key") == key;
  if (kind == RecordKind::EffectIntent) {
    const RecordView origin = record.member("origin");
    return origin.text("name") == module && origin.bytes("instance_key") == key;
  }
  if (kind != RecordKind::EffectReceipt && kind != RecordKind::ReceiptFault) return false;
  const auto intent = world.intent(record.text("intent_hash"));
  return intent && intent->origin_name == module && intent->instance_key == key;
}

}  // namespace

std::vector<std::optional<Cause>> causes_in(uint64_t seq,
                                            const std::vector<JournalRecord>& records) {
  std::vector<std::optional<Cause>> causes(records.size());
  std::optional<Cause> step;
  for (uint32_t n = 0; n < records.size(); ++n) {
    const RecordKind kind = record_kind(records[n]);
    const RecordView record(records[n].bytes);
    causes[n] = record.cause();
    if (is_decision(kind) || kind == RecordKind::EffectIntent) causes[n] = step;
    if (kind == RecordKind::ReceiptFault && n > 0) causes[n] = Cause{seq, 0};
    if (kind == RecordKind::Step) step = Cause{seq, n};
    if (kind != RecordKind::StepFailed) continue;
    const std::string_view code = record.text("code");
    if (n == 0 || (code != "cap.denied" && code != "policy.denied")) continue;
    const RecordView denied(records[n - 1].bytes);
    for (uint32_t at = n; at-- > 0 && is_decision(record_kind(records[at]));) {
      if (RecordView(records[at].bytes).text("intent_hash") != denied.text("intent_hash")) break;
      causes[at] = Cause{seq, n};
    }
  }
  return causes;
}

std::vector<bool> records_of_instance(World& world, uint64_t seq,
                                      const std::vector<JournalRecord>& records,
                                      std::string_view module, std::string_view key) {
  std::vector<bool> own(records.size());
  for (size_t n = 0; n < records.size(); ++n) own[n] = is_own(world, records[n], module, key);
  const auto causes = causes_in(seq, records);
  for (size_t n = 0; n < records.size(); ++n)
    if (is_decision(record_kind(records[n])) && causes[n]) own[n] = own[causes[n]->n];
  return own;
}

}  // namespace pawl::worlds
