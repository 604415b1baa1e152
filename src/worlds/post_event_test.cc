#include <gtest/gtest.h>

#include "base/hash.h"
#include "worlds/hash.h"
#include "worlds/intent.h"
#include "worlds/testing/test_world.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

std::string note(std::string_view text) {
  return cbor_text(R"({"text":")" + std::string(text) + "\"}");
}
TEST(PostEvent, IsJournaledRoutedAndSteppedInOneFrame) {
  TestWorld world;
  EXPECT_EQ(world.post("t/Start@1", kStartA),
            R"(domain_event Start | step flow["a"] #0 <0 running)");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "running Start");
  ASSERT_TRUE(world.reply);
  EXPECT_EQ(world.reply->seq, 2u);
  EXPECT_EQ(world.reply->deliveries.size(), 1u);
  EXPECT_EQ(world.reply->deliveries[0].module, kFlow);
  EXPECT_EQ(world.reply->deliveries[0].key, cbor_text(R"("a")"));
  EXPECT_EQ(world.reply->deliveries[0].run_id,
            world.world().instance(kFlow, cbor_text("\"a\""))->run_id);
}

// R-4.1
TEST(PostEvent, TheRecordHoldsTheCanonicalEventAndItsStamp) {
  TestWorld world;
  world.post("t/Start@1", kStartA, R"("a")", "client-7");
  const std::string record = world.record(0);
  EXPECT_EQ(in_record(record, "schema"), "t/Start@1");
  EXPECT_EQ(string_of(member_of(record, "value")), cbor_text(kStartA));
  EXPECT_EQ(string_of(member_of(record, "key")), cbor_text("\"a\""));
  EXPECT_EQ(in_record(record, "client_id"), "client-7");
  EXPECT_EQ(in_record(record, "cause"), "null");
  EXPECT_EQ(in_record(record, "event_hash"),
            event_hash("t/Start@1", cbor_text(kStartA), std::string_view(cbor_text("\"a\""))));
  EXPECT_EQ(in_record(record, "stamp.now_ns"), std::to_string(world.now_ns));
  EXPECT_EQ(in_record(record, "stamp.logical_now_ns"), std::to_string(world.now_ns));
  EXPECT_EQ(in_record(record, "stamp.manifest_hash"), world.program().manifest_hash);
  EXPECT_EQ(string_of(member_of(member_of(record, "stamp"), "entropy")).size(), 64u);
}

// R-4.2, T02
TEST(PostEvent, WithoutASubscriberItIsKept) {
  TestWorld world;
  EXPECT_EQ(world.post("t/Id@1", R"("nobody")"), "domain_event Id");
  EXPECT_TRUE(world.reply->deliveries.empty());
}

// R-6.2, R-6.3: in the manifest's order, each once, and a failing one does not stop the others.
TEST(PostEvent, GoesToAllSubscribersInOrder) {
  TestWorld world;
  EXPECT_EQ(world.post("t/Note@1", R"({"text":"x"})"),
            "domain_event Note | step plain #0 <0 running | step deaf #1 <0 running");
  world.host.set("plain", [](std::string_view) { return ModuleCall{.end = CallEnd::Trap}; });
  EXPECT_EQ(world.post("t/Note@1", R"({"text":"x"})"),
            "domain_event Note | step_failed plain #0 <0 step.trap | step deaf #1 <0 running");
  ASSERT_EQ(world.reply->deliveries.size(), 2u);
  EXPECT_EQ(world.reply->deliveries[0].outcome, Delivery::Outcome::Failed);
  EXPECT_EQ(world.reply->deliveries[1].outcome, Delivery::Outcome::Stepped);
}

TEST(PostEvent, ChangedOrderOfSubscriptionsIsTheOrderOfDeliveries) {
  TestWorld world(WorldText()
                      .with(R"({"event":"t/Note@1","module":"t/plain@1"},)", "")
                      .with(R"({"event":"t/Note@1","module":"t/deaf@1"},)",
                            R"({"event":"t/Note@1","module":"t/deaf@1"},
                               {"event":"t/Note@1","module":"t/plain@1"},)"));
  EXPECT_EQ(world.post("t/Note@1", R"({"text":"x"})"),
            "domain_event Note | step deaf #0 <0 running | step plain #1 <0 running");
}

// D7: an event for a failed instance is kept, and skipped.
TEST(PostEvent, AFailedInstanceIsSkipped) {
  TestWorld world;
  world.host.set("flow", [](std::string_view) { return ModuleCall{.end = CallEnd::Trap}; });
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "failed step.trap without state");
  EXPECT_EQ(world.post("t/Start@1", kStartA),
            R"(domain_event Start | delivery_skipped flow["a"] <0 instance.failed)");
  EXPECT_EQ(world.reply->deliveries[0].outcome, Delivery::Outcome::Skipped);
  EXPECT_EQ(world.world().head().totals.failed, 1u);
}

// An event steps a completed instance again; one without state starts afresh.
TEST(PostEvent, ACompletedInstanceIsSteppedAgain) {
  TestWorld world;
  world.host.set("flow", [](std::string_view input) {
    const StepSeen seen(input);
    return StepSaid().state(log_state({seen.state ? "again" : "first"})).status("completed").call();
  });
  EXPECT_EQ(world.post("t/Start@1", kStartA),
            R"(domain_event Start | step flow["a"] #0 <0 completed)");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "completed first");
  world.post("t/Poke@1", R"({"id":"a"})");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "completed again");
  world.host.set("flow", [](std::string_view) { return StepSaid().call(); });
  world.post("t/Poke@1", R"({"id":"a"})");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "completed without state");
  EXPECT_EQ(in_record(world.record(1), "state_hash"), "null");
}

TEST(PostEvent, FailedByItsOwnWordKeepsItsState) {
  TestWorld world;
  world.host.set("flow", [](std::string_view) {
    return StepSaid().state(log_state({"sorry"})).status("failed", "no stock").call();
  });
  EXPECT_EQ(world.post("t/Start@1", kStartA),
            R"(domain_event Start | step flow["a"] #0 <0 failed)");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "failed module.failed sorry");
  EXPECT_EQ(world.world().instance(kFlow, cbor_text("\"a\""))->error_detail, "no stock");
  EXPECT_EQ(world.reply->deliveries[0].outcome, Delivery::Outcome::Stepped);
}

// R-3.2.1: spellings of one value are one event.
TEST(PostEvent, SpellingsOfAValueAreOneEvent) {
  TestWorld world;
  world.post("t/Done@1", R"({"text":"x","tags":["b","a","b"]})");
  const std::string hash = world.reply->event_hash;
  world.post("t/Done@1", R"({"tags":["a","b"],"text":"x"})");
  EXPECT_EQ(world.reply->event_hash, hash);
  world.post("t/Done@1", R"({"text":"x"})");
  const std::string none = world.reply->event_hash;
  world.post("t/Done@1", R"({"text":"x","tags":null})");
  EXPECT_EQ(world.reply->event_hash, none);
  EXPECT_NE(none, hash);
}

TEST(PostEvent, CborIsReadLikeTheSugarAndStrictly) {
  TestWorld world;
  auto post = [&](std::string bytes) {
    GivenEvent given;
    given.schema = "t/Start@1";
    given.value_bytes = std::move(bytes);
    return world.run([&](Deciding& deciding) -> Status {
      PAWL_TRY(const Event event, judge_event(deciding.program(), given));
      PAWL_TRY(world.reply, post_event(deciding, event));
      return ok_status();
    });
  };
  // {"n":1,"id":"a"}, unsorted
  EXPECT_EQ(post("\xa2\x62id\x61"
                 "a\x61n\x01"),
            R"(domain_event Start | step flow["a"] #0 <0 running)");
  EXPECT_EQ(string_of(member_of(world.record(0), "value")), cbor_text(kStartA));
  EXPECT_EQ(post(cbor_text(kStartA) + '\0'), "refused event.invalid");
  EXPECT_EQ(post(cbor_text(R"({"id":"a","n":"1"})")), "refused event.invalid");
}

struct RefusedEvent {
  std::string_view schema, json, key, code;
};

TEST(PostEvent, WhatCannotBeTakenIsRefusedAndChangesNothing) {
  TestWorld world;
  const std::string kStartWithLongKey =
      R"({"n":1,"id":")" + std::string(kInstanceKeyBytesMax, 'k') + "\"}";
  const RefusedEvent cases[] = {
      {"t/Start@1", R"({"id":"a","n":"1"})", "", "event.invalid"},
      {"t/Start@1", R"({"id":"a","n":-1})", "", "event.invalid"},
      {"t/Start@1", R"({"id":"a"})", "", "event.invalid"},
      {"t/Start@1", R"({"id":"a","n":1,"x":2})", "", "event.invalid"},
      {"t/Start@1", R"({"id":"a","n":18446744073709551616})", "", "event.invalid"},
      {"t/Gone@1", "{}", "", "event.unknown_schema"},
      {"sys/EffectReceiptEnvelope@1", "{}", "", "event.reserved_schema"},
      {"sys/EffectReceiptRejected@1", "{}", "", "event.reserved_schema"},
      {"sys/Nothing@1", "{}", "", "event.reserved_schema"},
      {"t/TimerEvent@1",
       R"({"Fired":{"intent_id":"sha256:0000000000000000000000000000000000000000000000000000000000000000",
          "status":"ok","requested":{"deliver_at_ns":1},"receipt":{"delivered_at_ns":1}}})",
       "", "event.reserved_schema"},
      {"t/TimerEvent@1", R"({"Fired":{}})", "", "event.reserved_schema"},
      {"t/TimerEvent@1", R"({"$tag":"Fired","$value":7})", "", "event.reserved_schema"},
      {"t/TimerEvent@1", R"({"Gone":{}})", "", "event.invalid"},
      {"t/TimerEvent@1", R"({"Fired":{},"Tick":{}})", "", "event.invalid"},
      {"t/TimerEvent@1", R"({"$tag":7})", "", "event.invalid"},
      {"t/TimerEvent@1", R"("Fired")", "", "event.invalid"},
      {"t/Start@1", R"({"id":"a","n":1})", R"("b")", "event.key_mismatch"},
      {"t/Start@1", R"({"id":"a","n":1})", "7", "event.key_mismatch"},
      {"t/Note@1", R"({"text":"x"})", "1.5", "event.invalid"},
      {"t/Start@1", kStartWithLongKey.c_str(), "", "event.invalid"},
  };
  const auto before = world.items();
  for (const RefusedEvent& given : cases) {
    EXPECT_EQ(world.post(given.schema, given.json, given.key), "refused " + std::string(given.code))
        << given.json << " key " << given.key;
    EXPECT_EQ(http_status(world.error.code), 422) << given.code;
  }
  EXPECT_EQ(world.items(), before);
}

// An arm of a variant that is no sys schema may be posted, also of a module's own event schema.
TEST(PostEvent, OtherArmsOfAnEventSchemaMayBePosted) {
  TestWorld world;
  EXPECT_EQ(world.post("t/TimerEvent@1", R"({"Tick":{"id":"x"}})"), "domain_event TimerEvent");
}

// R-6.1: the key may stand in an arm; another arm has none.
TEST(PostEvent, AKeyInAnArmIsFoundOrMissing) {
  WorldText body;
  body.nodes.push_back(
      R"({"$kind":"defschema","name":"t/Any@1","type":{"variant":{"On":{"record":{"who":{"ref":"t/Id@1"}}},"Off":{"unit":{}}}}})");
  body.with(R"("Poke":{"ref":"t/Poke@1"})", R"("Poke":{"ref":"t/Poke@1"},"Any":{"ref":"t/Any@1"})")
      .with(R"({"event":"t/Poke@1","module":"t/flow@1","key_field":"id"})",
            R"({"event":"t/Any@1","module":"t/flow@1","key_field":"$value.who"})");
  TestWorld world(body);
  EXPECT_EQ(world.post("t/Any@1", R"({"On":{"who":"z"}})"),
            R"(domain_event Any | step flow["z"] #0 <0 running)");
  EXPECT_EQ(world.post("t/Any@1", R"("Off")"), "refused event.invalid");
  EXPECT_EQ(world.post("t/Any@1", R"({"Off":null})"), "refused event.key_missing");
}

TEST(PostEvent, AnEventOfASchemaThatIsNoVariantComesAsItIs) {
  TestWorld world;
  std::string schema, value;
  world.host.set("deaf", [&](std::string_view input) {
    const StepSeen seen(input);
    schema = seen.schema;
    value = seen.value;
    return StepSaid().call();
  });
  world.post("t/Note@1", R"({"text":"x"})");
  EXPECT_EQ(schema, "t/Note@1");
  EXPECT_EQ(value, note("x"));
}

// R-5.2, R-5.3: what a module with a context sees.
TEST(PostEvent, AModuleSeesItsArmItsKeyAndTheContext) {
  TestWorld world;
  world.entropy = std::string(64, 'e');
  std::string input_seen;
  world.host.set("flow", [&](std::string_view input) {
    input_seen = input;
    return StepSaid().state(log_state({"s"})).call();
  });
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(*cbor::canonical(input_seen), input_seen);
  EXPECT_EQ(in_record(input_seen, "version"), "1");
  EXPECT_EQ(in_record(input_seen, "state"), "null");
  const StepSeen seen(input_seen);
  EXPECT_EQ(seen.schema, "t/FlowEvent@1");
  EXPECT_EQ(seen.arm, "Start");
  EXPECT_EQ(seen.arm_value, cbor_text(kStartA));
  EXPECT_EQ(seen.key, cbor_text("\"a\""));
  const std::string context(seen.context.value_or(""));
  EXPECT_EQ(*cbor::canonical(context), context);
  EXPECT_EQ(in_record(context, "now_ns"), std::to_string(world.now_ns));
  EXPECT_EQ(in_record(context, "logical_now_ns"), std::to_string(world.now_ns));
  EXPECT_EQ(in_record(context, "journal_height"), "2");
  EXPECT_EQ(string_of(member_of(context, "entropy")), world.entropy);
  EXPECT_EQ(in_record(context, "event_hash"), world.reply->event_hash);
  EXPECT_EQ(in_record(context, "manifest_hash"), world.program().manifest_hash);
  EXPECT_EQ(in_record(context, "workflow"), kFlow);
  EXPECT_EQ(string_of(member_of(context, "key")), cbor_text("\"a\""));
  EXPECT_EQ(in_record(context, "cell_mode"), "true");
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(StepSeen(input_seen).state, log_state({"s"}));
}

TEST(PostEvent, AModuleWithoutKeyOrContextSeesNeither) {
  TestWorld world;
  std::string input_seen;
  world.host.set("plain", [&](std::string_view input) {
    input_seen = input;
    return StepSaid().call();
  });
  world.post("t/Note@1", R"({"text":"x"})");
  EXPECT_EQ(member_of(input_seen, "ctx"), "");
  EXPECT_EQ(member_of(member_of(input_seen, "event"), "key"), "");
  EXPECT_EQ(StepSeen(input_seen).arm, "Note");
}

// T03, D4: an emitted event is journaled behind its step and routed like one from outside; its
// steps have derived entropy.
TEST(PostEvent, EmittedEventsAreRoutedInTheSameFrame) {
  TestWorld world;
  world.entropy = std::string(64, 'e');
  std::vector<std::string> entropies;
  world.host.set("flow", [&](std::string_view input) {
    const StepSeen seen(input);
    entropies.emplace_back(string_of(member_of(*seen.context, "entropy")));
    StepSaid said;
    said.state(log_state({"s"}));
    if (seen.arm == "Start")
      said.event("t/Poke@1", cbor_text(R"({"id":"b"})")).event("t/Note@1", note("n"));
    return said.call();
  });
  EXPECT_EQ(world.post("t/Start@1", kStartA),
            R"(domain_event Start | step flow["a"] #0 <0 running | domain_event Poke <1 | )"
            R"(domain_event Note <1 | step flow["b"] #1 <2 running | step plain #2 <3 running | )"
            R"(step deaf #3 <3 running)");
  EXPECT_EQ(in_record(world.record(2), "stamp"), "null");
  EXPECT_EQ(world.reply->deliveries.size(), 1u);
  ASSERT_EQ(entropies.size(), 2u);
  EXPECT_EQ(entropies[0], world.entropy);
  EXPECT_EQ(entropies[1], sha512(world.entropy + std::string("\0\0\0\x01", 4)));
}

struct BadEmission {
  std::string_view name;
  std::function<void(StepSaid&)> emit;
  std::string_view code;
};

// A bad emission fails the step, and nothing of it stays.
TEST(PostEvent, BadEmissionsFailTheStepWhole) {
  const BadEmission cases[] = {
      {"unknown schema", [](StepSaid& s) { s.event("t/Gone@1", note("x")); }, "event.invalid"},
      {"ill-typed", [](StepSaid& s) { s.event("t/Note@1", cbor_text("7")); }, "event.invalid"},
      {"no CBOR", [](StepSaid& s) { s.event("t/Note@1", "\xff"); }, "event.invalid"},
      {"sys", [](StepSaid& s) { s.event("sys/EffectError@1", cbor_text("{}")); },
       "event.reserved_schema"},
      {"reserved arm", [](StepSaid& s) { s.event("t/TimerEvent@1", cbor_text(R"({"Fired":{}})")); },
       "event.reserved_schema"},
      {"key",
       [](StepSaid& s) {
         s.event("t/Poke@1", cbor_text(R"({"id":"b"})"),
                 std::string_view("\x61"
                                  "c"));
       },
       "event.key_mismatch"},
      {"bad key", [](StepSaid& s) { s.event("t/Note@1", note("x"), std::string_view("\xff")); },
       "event.invalid"},
      {"state", [](StepSaid& s) { s.state(cbor_text("{}")); }, "step.state_invalid"},
      {"kind", [](StepSaid& s) { s.effect("other.do", work_params(1)); }, "step.undeclared_effect"},
      {"params", [](StepSaid& s) { s.effect("work.do", cbor_text(R"({"n":"1"})")); },
       "effect.invalid_params"},
      {"slot", [](StepSaid& s) { s.effect("work.do", work_params(1), "nowhere"); },
       "cap.missing_binding"},
      {"key size",
       [](StepSaid& s) { s.effect("work.do", work_params(1), "work", std::string_view("short")); },
       "effect.invalid_key"},
  };
  for (const BadEmission& bad : cases) {
    TestWorld world;
    world.post("t/Start@1", kStartA);
    world.host.set("flow", [&](std::string_view) {
      StepSaid said;
      said.state(log_state({"never"}))
          .event("t/Note@1", note("never"))
          .effect("work.do", work_params(1), "work");
      bad.emit(said);
      return said.call();
    });
    EXPECT_EQ(world.post("t/Poke@1", R"({"id":"a"})"),
              R"(domain_event Poke | step_failed flow["a"] #0 <0 )" + std::string(bad.code))
        << bad.name;
    EXPECT_EQ(world.instance(kFlow, kKeyA), "failed " + std::string(bad.code) + " Start")
        << bad.name;
    EXPECT_EQ(world.world().head().totals.intents, 0u);
    EXPECT_TRUE(world.opened.empty());
  }
}

TEST(PostEvent, HowACallEndsIsHowTheStepFails) {
  const std::pair<CallEnd, std::string_view> cases[] = {
      {CallEnd::Trap, "step.trap"},
      {CallEnd::FuelExceeded, "step.fuel_exceeded"},
      {CallEnd::Timeout, "step.timeout"},
      {CallEnd::BadOutput, "step.output_invalid"},
      {CallEnd::OutputLimit, "step.output_limit"},
  };
  for (const auto& [end, code] : cases) {
    TestWorld world;
    world.host.set("flow", [end = end](std::string_view) {
      return ModuleCall{.end = end, .output = "of the runtime", .fuel = 5};
    });
    EXPECT_EQ(world.post("t/Start@1", kStartA),
              R"(domain_event Start | step_failed flow["a"] #0 <0 )" + std::string(code));
    EXPECT_EQ(in_record(world.record(1), "detail").find("runtime"), std::string::npos);
  }
}

// Nothing is decided without a runtime: the event can be posted again.
TEST(PostEvent, WithoutARuntimeNothingIsWritten) {
  TestWorld world;
  world.host.available = false;
  EXPECT_EQ(world.post("t/Start@1", kStartA), "refused worlds.no_runtime");
  world.host.available = true;
  EXPECT_EQ(world.post("t/Start@1", kStartA),
            R"(domain_event Start | step flow["a"] #0 <0 running)");
}

// The one outcome that a replay takes from the journal.
TEST(PostEvent, AReplayDoesNotCallWhatRanOutOfTime) {
  TestWorld world;
  const std::vector<uint64_t> ordinals = {0};
  world.timed_out = &ordinals;
  const uint64_t calls = world.host.calls;
  EXPECT_EQ(world.post("t/Note@1", R"({"text":"x"})"),
            "domain_event Note | step_failed plain #0 <0 step.timeout | step deaf #1 <0 running");
  EXPECT_EQ(world.host.calls, calls + 1);
}

// R-9.4
TEST(PostEvent, AClientIdStandsForOneEvent) {
  TestWorld world;
  world.post("t/Note@1", R"({"text":"x"})", "", "c-1");
  const EventReply first = *world.reply;
  EXPECT_FALSE(first.duplicate);
  const auto before = world.items();
  EXPECT_EQ(world.post("t/Note@1", R"({"text":"x"})", "", "c-1"), "nothing");
  EXPECT_TRUE(world.reply->duplicate);
  EXPECT_EQ(world.reply->seq, first.seq);
  EXPECT_EQ(world.reply->event_hash, first.event_hash);
  ASSERT_EQ(world.reply->deliveries.size(), 2u);
  EXPECT_EQ(world.reply->deliveries[1].module, "t/deaf@1");
  EXPECT_EQ(world.reply->deliveries[1].run_id, first.deliveries[1].run_id);
  EXPECT_EQ(world.post("t/Note@1", R"({"text":"y"})", "", "c-1"), "refused event.client_id_reused");
  EXPECT_EQ(http_status(world.error.code), 422);
  EXPECT_EQ(world.items(), before);
  EXPECT_EQ(world.post("t/Note@1", R"({"text":"y"})", "", "c-2").substr(0, 12), "domain_event");
}

TEST(PostEvent, AWorldWithTooManyOpenIntentsIsBusy) {
  TestWorld world;
  world.run([&](Deciding& deciding) {
    Head head = deciding.world().head();
    head.totals.open_intents = kOpenIntentsMax + 1;
    deciding.writes().put(head_key(), codec::encoded(head));
    return ok_status();
  });
  EXPECT_EQ(world.post("t/Start@1", kStartA), "refused world.busy");
  EXPECT_EQ(http_status(world.error.code), 429);
  EXPECT_EQ(world.system_effect("work.do", R"({"n":1})", "cap_work"), "refused world.busy");
}

// The logical clock never goes back; a frame without a stamp in its records leaves it alone.
TEST(PostEvent, TheLogicalClockOnlyGoesOn) {
  TestWorld world;
  EXPECT_EQ(world.world().head().logical_now_ns, 0);
  world.post("t/Note@1", R"({"text":"x"})");
  const int64_t before = world.now_ns;
  world.now_ns -= 3'600'000'000'000;
  world.post("t/Note@1", R"({"text":"x"})");
  EXPECT_EQ(in_record(world.record(0), "stamp.logical_now_ns"), std::to_string(before));
  EXPECT_EQ(in_record(world.record(0), "stamp.now_ns"), std::to_string(world.now_ns));
  EXPECT_EQ(world.world().head().logical_now_ns, before);
}

TEST(Stamps, OfATestWorldFollowFromItsSeedAndClock) {
  Head head;
  head.height = 6;
  head.logical_now_ns = 50;
  EXPECT_EQ(next_stamp(head, 70, "e").now_ns, 70);
  EXPECT_EQ(next_stamp(head, 40, "e").logical_now_ns, 50);
  EXPECT_EQ(next_stamp(head, 70, "e").entropy, "e");
  head.test = true;
  head.seed = "seed";
  head.test_now_ns = 60;
  EXPECT_EQ(next_stamp(head, 70, "e").now_ns, 60);
  EXPECT_EQ(next_stamp(head, 70, "e").entropy,
            sha512(std::string("seed") + std::string("\0\0\0\0\0\0\0\x07", 8)));
}

TEST(Worlds, AQuarantinedOneTakesNoWrites) {
  Head head;
  EXPECT_TRUE(writable(head).ok());
  head.quarantine_code = "replay.divergence";
  EXPECT_EQ(wire_code(writable(head).error()), "world.quarantined");
  EXPECT_EQ(http_status(writable(head).error().code), 409);
}

}  // namespace
}  // namespace pawl::worlds
