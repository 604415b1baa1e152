#include "worlds/receipt.h"

#include <gtest/gtest.h>

#include "base/ascii.h"
#include "base/hash.h"
#include "worlds/hash.h"
#include "worlds/testing/test_world.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kDone = R"({"text":"done"})";

NativeHost::Function asking_for_work(int effects) {
  return saying_at_first([effects](StepSaid& s) {
    for (int i = 0; i < effects; ++i)
      s.effect("work.do", work_params(static_cast<uint64_t>(i)), "work");
  });
}

// A world with an instance "a" of flow that waits for so many receipts.
struct WaitingWorld : TestWorld {
  explicit WaitingWorld(int effects = 1, const WorldText& text = {}) : TestWorld(text) {
    host.set("flow", asking_for_work(effects));
    post("t/Start@1", kStartA);
    intents = opened;
  }
  std::vector<std::string> intents;
};

const WorldText& without_rejections() {
  static const WorldText text =
      WorldText().with(R"("Rejected":{"ref":"sys/EffectReceiptRejected@1"},)", "");
  return text;
}

TEST(Receipts, ContinueTheInstanceThatAsked) {
  WaitingWorld world;
  EXPECT_EQ(world.instance(kFlow, kKeyA), "waiting Start");
  EXPECT_EQ(world.receipt(world.intents[0], "ok", kDone),
            R"(effect_receipt ok hand | step flow["a"] #0 <0 continuation running)");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "running Start Receipt");
  EXPECT_EQ(world.receipt_reply->outcome, ReceiptOutcome::Settled);
  EXPECT_EQ(world.receipt_reply->seq, 3u);
  EXPECT_TRUE(world.open().empty());
  EXPECT_EQ(world.settled, world.intents);
  const Totals& totals = world.world().head().totals;
  EXPECT_EQ(totals.open_intents, 0u);
  EXPECT_EQ(totals.workflow_intents, 0u);
  EXPECT_EQ(totals.receipts_ok, 1u);
}

// R-3.4.*: the envelope holds what the journal holds, and is canonical.
TEST(Receipts, TheEnvelopeTellsWhatWasAskedAndWhatCameBack) {
  WaitingWorld world;
  std::string value, context;
  world.host.set("flow", [&](std::string_view input) {
    const StepSeen seen(input);
    value = seen.arm_value;
    context = seen.context.value_or("");
    return StepSaid().call();
  });
  GivenReceipt given{.intent_hash = world.intents[0], .adapter_id = "hand", .status = "ok"};
  given.payload = cbor_text(kDone);
  given.cost_cents = 12;
  given.signature = "signature";
  world.run([&](Deciding& deciding) -> Status {
    PAWL_TRY(world.receipt_reply, take_receipt(deciding, given));
    return ok_status();
  });
  const std::string canonical = cbor_text(R"({"text":"done","tags":null})");
  EXPECT_EQ(*from_cbor(*world.program().types.find("sys/EffectReceiptEnvelope@1"), value), value);
  EXPECT_EQ(in_record(value, "origin_module_id"), kFlow);
  EXPECT_EQ(string_of(member_of(value, "origin_instance_key")), cbor_text(kKeyA));
  EXPECT_EQ(in_record(value, "intent_id"), world.intents[0]);
  EXPECT_EQ(in_record(value, "effect_kind"), "work.do");
  EXPECT_EQ(in_record(value, "params_hash"), hash_of_bytes(work_params(0)));
  EXPECT_EQ(string_of(member_of(value, "receipt_payload")), canonical);
  EXPECT_EQ(in_record(value, "status"), "ok");
  EXPECT_EQ(in_record(value, "emitted_at_seq"), "2");
  EXPECT_EQ(in_record(value, "adapter_id"), "hand");
  EXPECT_EQ(in_record(value, "cost_cents"), "12");
  EXPECT_EQ(string_of(member_of(value, "signature")), "signature");
  const std::string record = world.record(0);
  EXPECT_EQ(string_of(member_of(record, "payload")), canonical);
  EXPECT_EQ(in_record(record, "payload_hash"), hash_of_bytes(canonical));
  EXPECT_EQ(in_record(record, "cost_cents"), "12");
  EXPECT_EQ(string_of(member_of(record, "signature")), "signature");
  EXPECT_EQ(in_record(record, "stamp.now_ns"), std::to_string(world.now_ns));
  // Of (the sys schema, its bytes, no key).
  std::string preimage;
  cbor::Map(preimage)
      .text("schema", "sys/EffectReceiptEnvelope@1")
      .bytes("value", value)
      .null("key")
      .end();
  EXPECT_EQ(in_record(context, "event_hash"), hash_of_structure(preimage));
}

TEST(Receipts, AnUnkeyedOriginHasNoKey) {
  TestWorld world;
  std::string value;
  const auto ask = saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(1)); });
  world.host.set("plain", [&](std::string_view input) {
    if (StepSeen seen(input); seen.arm == "Receipt") value = seen.arm_value;
    return ask(input);
  });
  world.post("t/Note@1", R"({"text":"x"})");
  EXPECT_EQ(world.receipt(world.opened.at(0), "ok", kDone),
            "effect_receipt ok hand | step plain #0 <0 continuation running");
  EXPECT_EQ(in_record(value, "origin_instance_key"), "null");
}

// R-3.2.3: orders and spellings of a payload are one payload.
TEST(Receipts, PayloadsAreKeptInCanonicalForm) {
  for (const std::string_view json :
       {R"({"text":"x","tags":["b","a","b"]})", R"({"tags":["a","b"],"text":"x"})"}) {
    WaitingWorld world;
    world.receipt(world.intents[0], "ok", json);
    EXPECT_EQ(string_of(member_of(world.record(0), "payload")),
              cbor_text(R"({"tags":["a","b"],"text":"x"})"));
  }
}

struct PayloadCase {
  std::string_view status, json;
  bool fits;
};

// R-9.3, D6
TEST(Receipts, ErrorsAndTimeoutsMayCarryAnEffectError) {
  const PayloadCase cases[] = {
      {"ok", kDone, true},
      {"ok", R"({"code":"c","message":"m"})", false},
      {"ok", R"({"text":1})", false},
      {"ok", "null", false},
      {"error", R"({"code":"c","message":"m"})", true},
      {"error", kDone, true},
      {"error", R"({"code":"c"})", false},
      {"timeout", R"({"code":"c","message":"m"})", true},
      {"timeout", R"("late")", false},
  };
  for (const PayloadCase& given : cases) {
    WaitingWorld world;
    world.receipt(world.intents[0], given.status, given.json);
    EXPECT_EQ(world.instance(kFlow, kKeyA),
              given.fits ? "running Start Receipt" : "running Start Rejected")
        << given.status << given.json;
    EXPECT_EQ(world.receipt_reply->outcome,
              given.fits ? ReceiptOutcome::Settled : ReceiptOutcome::Rejected);
  }
}

// The sugar of a type may differ from its CBOR (bytes as base64): then the signed bytes are not the
// canonical ones.
TEST(Receipts, JsonIsReadAsSugarAndSignedAsItIs) {
  WaitingWorld world(
      1, WorldText().with(R"("text":{"text":{}},"tags")", R"("text":{"bytes":{}},"tags")"));
  world.receipt(world.intents[0], "ok", R"({"text":"AAEC/w=="})");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "running Start Receipt");
  EXPECT_EQ(member_of(string_of(member_of(world.record(0), "payload")), "text"),
            std::string("\x44\x00\x01\x02\xff", 5));
}

// R-3.3.1: by the recorded origin, whatever else waits.
TEST(Receipts, GoToTheirOriginAlone) {
  TestWorld world;
  world.host.set("flow", asking_for_work(2));
  world.host.set("plain",
                 saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(0)); }));
  world.post("t/Start@1", kStartA);
  const std::vector<std::string> a = world.opened;
  world.post("t/Start@1", R"({"id":"b","n":1})");
  const std::vector<std::string> b = world.opened;
  world.post("t/Note@1", R"({"text":"x"})");
  const std::vector<std::string> plain = world.opened;
  world.receipt(b.at(1), "ok", kDone);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "waiting Start");
  EXPECT_EQ(world.instance(kFlow, R"("b")"), "waiting Start Receipt");
  EXPECT_EQ(world.instance("t/plain@1"), "waiting Note");
  EXPECT_EQ(world.open(), (std::vector<std::string>{a[0], a[1], b[0], plain[0]}));
  world.receipt(plain.at(0), "ok", kDone);
  world.receipt(b.at(0), "ok", kDone);
  EXPECT_EQ(world.instance(kFlow, R"("b")"), "running Start Receipt Receipt");
  EXPECT_EQ(world.open(), a);
}

// R-3.3.3: subscriptions are for domain events alone.
TEST(Receipts, NeverGoBySubscription) {
  WorldText text;
  text.nodes.push_back(
      R"({"$kind":"defmodule","name":"t/spy@1","module_kind":"workflow","wasm_b64":")" +
      base64("deaf") +
      R"(","abi":{"workflow":{"state":"t/State@1","event":"sys/EffectReceiptEnvelope@1"}}})");
  text.with(R"({"event":"t/Note@1","module":"t/plain@1"},)",
            R"({"event":"t/Note@1","module":"t/plain@1"},
               {"event":"sys/EffectReceiptEnvelope@1","module":"t/spy@1"},)");
  WaitingWorld world(1, text);
  EXPECT_EQ(world.receipt(world.intents[0], "ok", kDone),
            R"(effect_receipt ok hand | step flow["a"] #0 <0 continuation running)");
  EXPECT_EQ(world.instance("t/spy@1"), "none");
}

// R-9.4, T06
TEST(Receipts, ASecondOneIsADuplicateAndChangesNothing) {
  WaitingWorld world;
  world.receipt(world.intents[0], "ok", kDone);
  const auto before = world.items();
  EXPECT_EQ(world.receipt(world.intents[0], "error", R"({"code":"c","message":"m"})"), "nothing");
  EXPECT_EQ(world.receipt_reply->outcome, ReceiptOutcome::Duplicate);
  EXPECT_FALSE(world.receipt_reply->seq);
  EXPECT_EQ(world.items(), before);
  EXPECT_EQ(world.receipt("sha256:" + std::string(64, '0'), "ok", kDone),
            "refused receipt.unknown_intent");
  EXPECT_EQ(world.receipt("nonsense", "ok", kDone), "refused receipt.unknown_intent");
}

// R-3.4.8
TEST(Receipts, OldTypedEventsAreForModulesWithoutTheEnvelope) {
  TestWorld world;
  std::string value;
  const auto ask = saying_at_first(
      [](StepSaid& s) { s.effect("timer.set", cbor_text(R"({"deliver_at_ns":5,"key":null})")); });
  world.host.set("timer", [&](std::string_view input) {
    if (StepSeen seen(input); seen.arm == "Fired") value = seen.arm_value;
    return ask(input);
  });
  world.post("t/Tick@1", R"({"id":"a"})");
  world.receipt(world.opened.at(0), "ok", R"({"delivered_at_ns":7})");
  EXPECT_EQ(world.instance("t/timer@1", kKeyA), "running Tick Fired");
  EXPECT_EQ(*from_cbor(*world.program().types.find("sys/TimerFired@1"), value), value);
  EXPECT_EQ(in_record(value, "requested.deliver_at_ns"), "5");
  EXPECT_EQ(in_record(value, "receipt.delivered_at_ns"), "7");

  TestWorld both(WorldText().with(
      R"("Fired":{"ref":"sys/TimerFired@1"})",
      R"("Fired":{"ref":"sys/TimerFired@1"},"R":{"ref":"sys/EffectReceiptEnvelope@1"})"));
  both.host.set("timer", ask);
  both.post("t/Tick@1", R"({"id":"a"})");
  both.receipt(both.opened.at(0), "ok", R"({"delivered_at_ns":7})");
  EXPECT_EQ(both.instance("t/timer@1", kKeyA), "running Tick R");
}

// --- faults

// R-3.5.2
TEST(Receipts, APayloadThatDoesNotFitIsRejectedToTheModule) {
  WaitingWorld world(2);
  std::string value;
  const auto log = asking_for_work(0);
  world.host.set("flow", [&](std::string_view input) {
    value = StepSeen(input).arm_value;
    return log(input);
  });
  EXPECT_EQ(
      world.receipt(world.intents[0], "ok", R"({"text":7})"),
      R"(effect_receipt ok hand | receipt_fault receipt.invalid_payload delivered_rejected dropped=0 | )"
      R"(step flow["a"] #0 <1 continuation waiting)");
  EXPECT_EQ(world.receipt_reply->outcome, ReceiptOutcome::Rejected);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "waiting Start Rejected");
  EXPECT_EQ(world.open(), std::vector<std::string>{world.intents[1]});
  EXPECT_EQ(*from_cbor(*world.program().types.find("sys/EffectReceiptRejected@1"), value), value);
  const std::string payload = cbor_text(R"({"text":7})");
  EXPECT_EQ(in_record(value, "error_code"), "receipt.invalid_payload");
  EXPECT_NE(in_record(value, "error_message"), "");
  EXPECT_EQ(in_record(value, "payload_hash"), hash_of_bytes(payload));
  EXPECT_EQ(in_record(value, "payload_size"), std::to_string(payload.size()));
  EXPECT_EQ(in_record(value, "status"), "ok");
  EXPECT_EQ(string_of(member_of(world.record(0), "payload")), payload);
  EXPECT_EQ(world.world().head().totals.faults, 1u);
}

// R-3.5.3
TEST(Receipts, WithoutThatArmTheInstanceFailsAloneAndItsIntentsAreDropped) {
  WaitingWorld world(3, without_rejections());
  world.post("t/Start@1", R"({"id":"b","n":1})");
  const std::string other = world.opened.at(0);
  EXPECT_EQ(
      world.receipt(world.intents[1], "ok", R"({"text":7})"),
      "effect_receipt ok hand | receipt_fault receipt.invalid_payload workflow_failed dropped=2");
  EXPECT_EQ(world.receipt_reply->outcome, ReceiptOutcome::InstanceFailed);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "failed receipt.invalid_payload Start");
  EXPECT_TRUE(world.world().instance(kFlow, cbor_text(kKeyA))->inflight.empty());
  EXPECT_EQ(world.settled,
            (std::vector<std::string>{world.intents[1], world.intents[0], world.intents[2]}));
  EXPECT_EQ(world.world().intent(world.intents[0])->settlement, Settlement::Dropped);
  EXPECT_EQ(world.receipt(world.intents[0], "ok", kDone), "nothing");
  EXPECT_EQ(world.receipt_reply->outcome, ReceiptOutcome::Duplicate);
  EXPECT_EQ(world.instance(kFlow, R"("b")"), "waiting Start");
  EXPECT_EQ(world.receipt(other, "ok", kDone),
            R"(effect_receipt ok hand | step flow["b"] #0 <0 continuation waiting)");
}

TEST(Receipts, WithoutAnyArmForThemTheDeliveryFails) {
  TestWorld world;
  world.host.set("deaf", saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(1)); }));
  world.post("t/Note@1", R"({"text":"x"})");
  EXPECT_EQ(
      world.receipt(world.opened.at(0), "ok", kDone),
      "effect_receipt ok hand | receipt_fault receipt.delivery_failed workflow_failed dropped=0");
  EXPECT_EQ(world.instance("t/deaf@1"), "failed receipt.delivery_failed event");
  // A typed event cannot carry an error.
  world.host.set("timer", saying_at_first([](StepSaid& s) {
                   s.effect("timer.set", cbor_text(R"({"deliver_at_ns":5,"key":null})"));
                 }));
  world.post("t/Tick@1", R"({"id":"a"})");
  world.receipt(world.opened.at(0), "error", R"({"code":"c","message":"m"})");
  EXPECT_EQ(world.instance("t/timer@1", kKeyA), "failed receipt.delivery_failed Tick");
}

// An instance that failed keeps its open intents; their receipts settle, and step nothing.
TEST(Receipts, ForAFailedInstanceSettleWithoutAStep) {
  WaitingWorld world(2);
  world.host.set("flow", [](std::string_view) { return ModuleCall{.end = CallEnd::Trap}; });
  world.post("t/Poke@1", R"({"id":"a"})");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "failed step.trap Start");
  EXPECT_EQ(world.open().size(), 2u);
  EXPECT_EQ(world.receipt(world.intents[0], "ok", kDone),
            R"(effect_receipt ok hand | delivery_skipped flow["a"] <0 instance.failed)");
  EXPECT_EQ(world.receipt_reply->outcome, ReceiptOutcome::Settled);
  EXPECT_EQ(world.receipt(world.intents[1], "ok", R"({"text":7})"),
            R"(effect_receipt ok hand | receipt_fault receipt.invalid_payload dropped=0 | )"
            R"(delivery_skipped flow["a"] <1 instance.failed)");
  EXPECT_TRUE(world.open().empty());
  EXPECT_EQ(world.world().head().totals.workflow_intents, 0u);
}

TEST(Receipts, OfOperatorsEffectsSettleWithoutAContinuation) {
  TestWorld world;
  world.system_effect("work.do", R"({"n":1})", "cap_work");
  EXPECT_EQ(world.receipt(world.opened.at(0), "ok", kDone), "effect_receipt ok hand");
  EXPECT_EQ(world.receipt_reply->outcome, ReceiptOutcome::Settled);
  world.system_effect("work.do", R"({"n":1})", "cap_work");
  EXPECT_EQ(world.receipt(world.opened.at(0), "ok", "7"),
            "effect_receipt ok hand | receipt_fault receipt.invalid_payload dropped=0");
  EXPECT_EQ(world.receipt_reply->outcome, ReceiptOutcome::Rejected);
}

// T05, T06: what a continuation emits is part of its frame.
TEST(Receipts, AContinuationMayEmitAndAskAgain) {
  WaitingWorld world;
  world.host.set("flow", [](std::string_view input) {
    const StepSeen seen(input);
    if (seen.arm != "Receipt") return StepSaid().state(log_state({"other"})).call();
    return StepSaid()
        .state(log_state({"more"}))
        .event("t/Poke@1", cbor_text(R"({"id":"b"})"))
        .effect("work.do", work_params(9), "work")
        .status("completed")
        .call();
  });
  EXPECT_EQ(
      world.receipt(world.intents[0], "ok", kDone),
      R"(effect_receipt ok hand | step flow["a"] #0 <0 continuation waiting | cap_decision cap_work allow | )"
      R"(policy_decision allow_all null allow | effect_intent work.do cap_work | domain_event Poke <1 | )"
      R"(step flow["b"] #1 <5 running)");
}

// R-3.6.3: what the last step said holds once nothing is open.
TEST(Receipts, AStatusShowsWhenNothingIsOpenAnyMore) {
  WaitingWorld world(2);
  world.host.set("flow", [](std::string_view) {
    return StepSaid().state(log_state({"x"})).status("completed").call();
  });
  world.receipt(world.intents[0], "ok", kDone);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "waiting x");
  EXPECT_EQ(world.world().head().totals.waiting, 1u);
  world.receipt(world.intents[1], "ok", kDone);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "completed x");
  EXPECT_EQ(world.world().head().totals.completed, 1u);
  EXPECT_EQ(world.world().head().totals.waiting, 0u);
}

// --- judging

constexpr std::string_view kHandSecret = "0123456789abcdef";

void sign(GivenReceipt& receipt, World& world) {
  const std::string hex = hmac_sha256_hex(kHandSecret, receipt_message(world.head().id, receipt));
  receipt.signature.clear();
  for (size_t i = 0; i < hex.size(); i += 2)
    receipt.signature.push_back(static_cast<char>(hex_digit(hex[i]) * 16 + hex_digit(hex[i + 1])));
}

std::string judged(TestWorld& world, const GivenReceipt& receipt, const Adapter* adapter) {
  const Status status =
      judge_receipt(world.world(), world.program(), receipt, adapter, kHandSecret);
  return status.ok() ? "fine" : std::string(wire_code(status.error()));
}

TEST(JudgeReceipt, ChecksInTheOrderOfTheContract) {
  WaitingWorld world;
  auto judge = [&](const GivenReceipt& receipt, const Adapter* adapter) {
    return judged(world, receipt, adapter);
  };
  GivenReceipt receipt{
      .intent_hash = world.intents[0], .adapter_id = "hand", .status = "ok", .payload = "\xf6"};
  Adapter adapter{.hmac = true};
  sign(receipt, world.world());
  EXPECT_EQ(judge(receipt, &adapter), "fine");
  GivenReceipt other = receipt;
  other.status = "done";
  other.intent_hash = "sha256:" + std::string(64, '0');
  EXPECT_EQ(judge(other, nullptr), "validation_error");
  other.status = "error";
  EXPECT_EQ(judge(other, nullptr), "receipt.unknown_intent");
  other.intent_hash = world.intents[0];
  EXPECT_EQ(judge(other, &adapter), "receipt.bad_signature");
  EXPECT_EQ(judge(receipt, nullptr), "receipt.bad_signature");
  adapter.only_kinds = true;
  adapter.kinds = {"other.do"};
  EXPECT_EQ(judge(other, &adapter), "receipt.bad_signature");
  EXPECT_EQ(judge(receipt, &adapter), "receipt.kind_not_allowed");
  adapter.kinds.push_back("work.do");
  EXPECT_EQ(judge(receipt, &adapter), "fine");
  other = receipt;
  other.cost_cents = -1;
  EXPECT_EQ(judge(other, &adapter), "validation_error");
  // A settled one passes: it is a duplicate, not a fault.
  world.receipt(world.intents[0], "ok", kDone);
  EXPECT_EQ(judge(receipt, &adapter), "fine");
}

TEST(JudgeReceipt, AnAdapterOfAllKindsHasNoBuiltInOnes) {
  TestWorld world;
  world.system_effect("timer.set", R"({"deliver_at_ns":5})", "cap_timer");
  GivenReceipt receipt{
      .intent_hash = world.opened.at(0), .adapter_id = "hand", .status = "ok", .payload = "\xf6"};
  sign(receipt, world.world());
  Adapter adapter{.hmac = true};
  EXPECT_EQ(judged(world, receipt, &adapter), "receipt.kind_not_allowed");
  adapter = {.hmac = true, .only_kinds = true, .kinds = {"timer.set"}};
  EXPECT_EQ(judged(world, receipt, &adapter), "fine");
}

// What is kept of it on disk limits it as well.
TEST(JudgeReceipt, AnAdapterOfSomeKindsIsKeptSo) {
  const Adapter given{.hmac = true, .only_kinds = true, .kinds = {"work.do"}};
  Adapter kept;
  ASSERT_TRUE(codec::decode(codec::encoded(given), kept));
  EXPECT_TRUE(kept.only_kinds);
  EXPECT_EQ(kept.kinds, given.kinds);
}

}  // namespace
}  // namespace pawl::worlds
