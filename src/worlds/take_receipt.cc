// A receipt settles its intent and continues the instance that asked for it; one that cannot be
// delivered fails that instance, and nobody else.
#include <utility>

#include "base/plant.h"
#include "worlds/commands.h"
#include "worlds/drain.h"
#include "worlds/hash.h"
#include "worlds/receipt.h"

namespace pawl::worlds {
namespace {

// Fails the instance of an intent whose receipt it cannot take. Says how many open intents were
// dropped.
uint64_t fail_origin(Frame& frame, const Intent& intent, const Fault& fault, Cause cause) {
  Instance& instance = frame.change_instance(intent.origin_name, intent.instance_key);
  const uint64_t dropped = frame.drop_open_intents(instance);
  instance.status = InstanceStatus::Failed;
  instance.error_code = fault.code;
  instance.error_detail = fault.detail;
  instance.error_seq = frame.seq();
  instance.last_seq = frame.seq();
  instance.failed_cause_seq = cause.seq;
  instance.failed_cause_n = cause.n;
  instance.failed_route_continuation = true;
  return dropped;
}

class ReceiptCommand {
 public:
  ReceiptCommand(Frame& frame, const GivenReceipt& receipt, const Intent& intent)
      : frame_(frame), receipt_(receipt), intent_(intent) {}

  Result<ReceiptReply> run() {
    Payload payload = judge_payload(
        frame_.program(), intent_.kind, receipt_.status, receipt_.payload,
        receipt_.payload_is_plain_json ? std::optional<std::string_view>(receipt_.payload_json)
                                       : std::nullopt);
    payload_ = std::move(payload.bytes);
    payload_hash_ = hash_of_bytes(payload_);
    const Instance* instance = origin();
    const bool continues = instance != nullptr && instance->status != InstanceStatus::Failed;
    ReceiptPlan plan = continues
                           ? plan_receipt(frame_.program(), facts(), std::move(payload))
                           : ReceiptPlan{.continuation = {}, .fault = std::move(payload.fault)};
    journal_receipt();
    frame_.settle(receipt_.intent_hash, Settlement::Receipt, receipt_.status, receipt_.adapter_id);
    ReceiptReply reply{.outcome = ReceiptOutcome::Settled, .seq = frame_.seq()};
    if (plan.fault) reply.outcome = journal_fault(plan);
    PAWL_TRY_DO(go_on(std::move(plan)));
    frame_.finish();
    return reply;
  }

 private:
  ReceiptFacts facts() const {
    return {.intent_hash = receipt_.intent_hash,
            .intent = intent_,
            .adapter_id = receipt_.adapter_id,
            .status = receipt_.status,
            .cost_cents = receipt_.cost_cents,
            .signature = receipt_.signature,
            .payload = payload_,
            .payload_hash = payload_hash_};
  }

  void journal_receipt() {
    Totals& totals = frame_.totals();
    ++(receipt_.status == "ok"      ? totals.receipts_ok
       : receipt_.status == "error" ? totals.receipts_error
                                    : totals.receipts_timeout);
    handled_ = {.seq = frame_.seq(),
                .n = frame_.append(RecordKind::EffectReceipt,
                                   effect_receipt_record({.intent_hash = receipt_.intent_hash,
                                                          .adapter_id = receipt_.adapter_id,
                                                          .status = receipt_.status,
                                                          .payload = payload_,
                                                          .payload_hash = payload_hash_,
                                                          .cost_cents = receipt_.cost_cents,
                                                          .signature = receipt_.signature,
                                                          .stamp = frame_.stamp_record()}))};
  }

  const Instance* origin() {
    return static_cast<OriginKind>(intent_.origin) == OriginKind::Workflow
               ? frame_.instance(intent_.origin_name, intent_.instance_key)
               : nullptr;
  }

  // The record comes behind what it tells of, so that the count of dropped intents is known.
  ReceiptOutcome journal_fault(const ReceiptPlan& plan) {
    const Instance* instance = origin();
    const bool alive = instance != nullptr && instance->status != InstanceStatus::Failed;
    const bool fails = alive && !plan.continuation;
    handled_.n = frame_.next_place();
    const uint64_t dropped = fails ? fail_origin(frame_, intent_, *plan.fault, handled_) : 0;
    ++frame_.totals().faults;
    frame_.append(RecordKind::ReceiptFault,
                  receipt_fault_record({.intent_hash = receipt_.intent_hash,
                                        .code = plan.fault->code,
                                        .delivered_rejected = alive && !fails,
                                        .workflow_failed = fails,
                                        .dropped = dropped}));
    failed_origin_ = fails;
    return fails ? ReceiptOutcome::InstanceFailed : ReceiptOutcome::Rejected;
  }

  // A failed instance is not continued; the journal says so.
  Status go_on(ReceiptPlan plan) {
    const Instance* instance = origin();
    if (instance == nullptr || failed_origin_) return ok_status();
    Drain drain(frame_);
    if (instance->status == InstanceStatus::Failed) {
      frame_.append(RecordKind::DeliverySkipped,
                    delivery_skipped_record({.module = intent_.origin_name,
                                             .key = record_key(intent_.instance_key),
                                             .cause = handled_,
                                             .code = "instance.failed"}));
    } else if (plan.continuation) {
      const bool misled = has_bug(Bug::ReceiptToAnotherKey) && !intent_.instance_key.empty();
      drain.queue_continuation(*std::move(plan.continuation),
                               misled ? std::string_view("\x61\x61") : intent_.instance_key,
                               handled_, handled_);
    }
    return drain.run();
  }

  Frame& frame_;
  const GivenReceipt& receipt_;
  const Intent& intent_;  // of the frame
  std::string payload_, payload_hash_;
  Cause handled_;  // the receipt, or that it was faulty
  bool failed_origin_ = false;
};

}  // namespace

Result<ReceiptReply> take_receipt(Deciding& deciding, const GivenReceipt& receipt) {
  Frame frame(deciding, Frame::Clock::Moves);
  const Intent* intent = frame.intent(receipt.intent_hash);
  if (intent == nullptr) {
    return refusal(ErrorCode::NotFound, "receipt.unknown_intent",
                   "the world has no intent '" + receipt.intent_hash + "'");
  }
  if (intent->settlement != Settlement::Open && !has_bug(Bug::SettlesTwice))
    return ReceiptReply{.outcome = ReceiptOutcome::Duplicate, .seq = {}};
  return ReceiptCommand(frame, receipt, *intent).run();
}

}  // namespace pawl::worlds
