// Why an instance stands where it stands, with the records that say so.
#include <algorithm>

#include "worlds/fault.h"
#include "worlds/reading.h"
#include "worlds/record_view.h"
#include "worlds/records.h"
#include "worlds/written.h"

namespace pawl::worlds {
namespace {

constexpr uint64_t kFramesBackMax = 10'000;  // looked through for the instance's last receipt

struct Finding {
  std::string cause;
  std::string detail;
  std::vector<Cause> evidence;
};

struct LastReceipt {
  std::string status, adapter_id, kind;
  std::string fault;  // code; "" = none
  std::vector<Cause> places;
};

class Diagnosis {
 public:
  Diagnosis(World& world, const std::string& module, const std::string& key,
            const Instance& instance)
      : world_(world), module_(module), key_(key), instance_(instance) {}

  Finding find() {
    switch (instance_.status) {
      case InstanceStatus::Completed:
        return {"completed", "its last step completed it", records_of(instance_.last_seq)};
      case InstanceStatus::Failed:
        return of_failure();
      case InstanceStatus::Waiting:
      case InstanceStatus::Running:
        break;
    }
    if (auto denied = of_kept_denial()) return *std::move(denied);
    if (auto receipt = of_last_receipt()) return *std::move(receipt);
    if (instance_.status == InstanceStatus::Waiting) return of_wait();
    return {"waiting_event", "nothing is under way: only an event moves it on",
            records_of(instance_.last_seq)};
  }

 private:
  Finding of_failure() {
    const std::string& code = instance_.error_code;
    const std::string detail =
        instance_.error_detail.empty() ? code : code + ": " + instance_.error_detail;
    const auto found = [&](std::string_view cause) {
      return Finding{std::string(cause), detail, records_of(instance_.error_seq)};
    };
    if (code == "policy.denied") return found("policy_denied");
    if (code.starts_with("cap.")) return found("capability_denied");
    if (code.starts_with("receipt.")) return found("receipt_fault");
    if (code == "step.fuel_exceeded") return found("fuel_exceeded");
    if (code == "step.trap") return found("trap");
    if (code == "terminated") return found("unknown");
    if (code == "module.failed") {
      if (auto receipt = of_last_receipt()) {
        receipt->detail += "; then the module failed the instance: " + detail;
        return *std::move(receipt);
      }
    }
    return found("step_failed");
  }

  // A denial that the module was told of, by its last step.
  std::optional<Finding> of_kept_denial() {
    const auto frame = world_.shown_frame(instance_.last_seq);
    if (!frame) return std::nullopt;
    std::optional<Finding> found;
    bool its_own = false;  // whether the step before was the instance's
    for (uint32_t n = 0; n < frame->records.size(); ++n) {
      const JournalRecord& entry = frame->records[n];
      const RecordView record(entry.bytes);
      const RecordKind kind = record_kind(entry);
      if (kind == RecordKind::Step) its_own = is_ours(record);
      if (!its_own || record.text("decision") != "deny") continue;
      const bool by_cap = kind == RecordKind::CapDecision;
      const std::string code(by_cap ? record.member("deny").text("code") : "policy.denied");
      found = Finding{by_cap ? "capability_denied" : "policy_denied",
                      "its last step asked for an effect that was denied (" + code + ")",
                      {{instance_.last_seq, n}}};
    }
    return found;
  }

  std::optional<Finding> of_last_receipt() {
    const auto receipt = last_receipt();
    if (!receipt) return std::nullopt;
    const std::string what =
        "its last receipt, of " + receipt->kind + " from adapter " + receipt->adapter_id;
    if (!receipt->fault.empty())
      return Finding{"receipt_fault", what + ", was rejected: " + receipt->fault, receipt->places};
    if (receipt->status == "timeout")
      return Finding{"adapter_timeout", what + ", says timeout", receipt->places};
    if (receipt->status == "error")
      return Finding{"adapter_error", what + ", says error", receipt->places};
    return std::nullopt;
  }

  Finding of_wait() const {
    Finding finding{"waiting_receipt", "", {}};
    for (const Inflight& open : instance_.inflight) {
      finding.evidence.push_back({open.seq, open.n});
      finding.detail += finding.detail.empty() ? "it waits for a receipt of " : ", ";
      finding.detail += open.kind;
    }
    return finding;
  }

  std::optional<LastReceipt> last_receipt() {
    const uint64_t first = world_.head().first_kept;
    uint64_t seq = instance_.last_seq;
    for (uint64_t looked = 0; seq >= first && seq > 0 && looked < kFramesBackMax; --seq, ++looked) {
      const auto frame = world_.shown_frame(seq);
      if (!frame || frame->written_ms < instance_.created_ms) break;
      if (frame->records.empty() || record_kind(frame->records[0]) != RecordKind::EffectReceipt)
        continue;
      const RecordView record(frame->records[0].bytes);
      const auto intent = world_.intent(record.text("intent_hash"));
      if (!intent || intent->origin != static_cast<uint8_t>(OriginKind::Workflow) ||
          intent->origin_name != module_ || intent->instance_key != key_)
        continue;
      LastReceipt found{.status = std::string(record.text("status")),
                        .adapter_id = std::string(record.text("adapter_id")),
                        .kind = intent->kind,
                        .fault = {},
                        .places = {{seq, 0}}};
      for (uint32_t n = 1; n < frame->records.size(); ++n) {
        if (record_kind(frame->records[n]) != RecordKind::ReceiptFault) continue;
        found.fault = RecordView(frame->records[n].bytes).text("code");
        found.places.push_back({seq, n});
      }
      return found;
    }
    return std::nullopt;
  }

  // What a frame says of the instance: its steps and failures, denials, and faults of receipts.
  std::vector<Cause> records_of(uint64_t seq) {
    std::vector<Cause> places;
    const auto frame = world_.shown_frame(seq);
    if (!frame) return places;
    for (uint32_t n = 0; n < frame->records.size(); ++n) {
      const RecordView record(frame->records[n].bytes);
      switch (record_kind(frame->records[n])) {
        case RecordKind::Step:
        case RecordKind::StepFailed:
        case RecordKind::Instance:
          if (is_ours(record)) places.push_back({seq, n});
          break;
        case RecordKind::CapDecision:
        case RecordKind::PolicyDecision:
          if (record.text("decision") == "deny") places.push_back({seq, n});
          break;
        case RecordKind::ReceiptFault:
          places.push_back({seq, n});
          break;
        case RecordKind::Manifest:
        case RecordKind::Snapshot:
        case RecordKind::DomainEvent:
        case RecordKind::DeliverySkipped:
        case RecordKind::EffectIntent:
        case RecordKind::EffectReceipt:
        case RecordKind::Governance:
        case RecordKind::LegacyPlanStarted:
        case RecordKind::LegacyPlanResult:
        case RecordKind::LegacyPlanEnded:
          break;
      }
    }
    return places;
  }

  bool is_ours(const RecordView& record) const {
    return record.text("module") == module_ && record.bytes("key") == key_;
  }

  World& world_;
  const std::string& module_;
  const std::string& key_;
  const Instance& instance_;
};

}  // namespace

std::string diagnose_json(World& world, const std::string& module, const std::string& key,
                          const Instance& instance) {
  const Finding finding = Diagnosis(world, module, key, instance).find();
  std::string out;
  json::Writer w(out);
  w.begin_object().field("cause", finding.cause).field("detail", finding.detail);
  w.key("evidence").begin_array();
  for (const Cause& place : finding.evidence) {
    w.begin_object();
    write_nat(w, "seq", place.seq);
    write_nat(w, "n", place.n);
    w.end_object();
  }
  w.end_array().end_object();
  return out;
}

}  // namespace pawl::worlds
