// What people do to instances.
#include <gtest/gtest.h>

#include "worlds/frame.h"
#include "worlds/testing/test_world.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kPokeA = R"({"id":"a"})";

ModuleCall trap(std::string_view) { return {.end = CallEnd::Trap}; }

NativeHost::Function asking_twice() {
  return saying_at_first([](StepSaid& s) {
    s.effect("work.do", work_params(1), "work").effect("work.do", work_params(2), "work");
  });
}

TEST(Terminate, FailsTheInstanceAndDropsWhatItWaitsFor) {
  TestWorld world;
  world.host.set("flow", asking_twice());
  world.post("t/Start@1", kStartA);
  const std::vector<std::string> intents = world.opened;
  EXPECT_EQ(world.terminate(kFlow, kKeyA), R"(instance flow["a"] terminated dropped=2)");
  EXPECT_EQ(in_record(world.record(0), "stamp.now_ns"), std::to_string(world.now_ns));
  EXPECT_EQ(world.instance(kFlow, kKeyA), "failed terminated Start");
  EXPECT_EQ(world.settled, intents);
  EXPECT_EQ(world.world().head().totals.open_intents, 0u);
  EXPECT_EQ(world.receipt(intents[0], "ok", R"({"text":"late"})"), "nothing");
  EXPECT_EQ(world.receipt_reply->outcome, ReceiptOutcome::Duplicate);
  ASSERT_EQ(world.changed.size(), 0u);
}

TEST(Terminate, RefusesWhatHasEnded) {
  TestWorld world;
  EXPECT_EQ(world.terminate(kFlow, kKeyA), "refused not_found");
  world.host.set("flow", [](std::string_view) { return StepSaid().call(); });
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.terminate(kFlow, kKeyA), "refused conflict");
}

// Else nobody could make a world quiescent whose failed instance waits for an adapter that is gone.
TEST(Terminate, DropsTheIntentsOfAFailedInstance) {
  TestWorld world;
  world.host.set("flow", asking_twice());
  world.post("t/Start@1", kStartA);
  world.host.set("flow", trap);
  world.post("t/Poke@1", kPokeA);
  EXPECT_EQ(world.open().size(), 2u);
  EXPECT_EQ(world.terminate(kFlow, kKeyA), R"(instance flow["a"] terminated dropped=2)");
  EXPECT_EQ(world.terminate(kFlow, kKeyA), "refused conflict");
}

TEST(Retry, DeliversTheEventThatFailedAgain) {
  TestWorld world;
  world.post("t/Start@1", kStartA);
  world.host.set("flow", trap);
  world.post("t/Poke@1", kPokeA);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "failed step.trap Start");
  EXPECT_EQ(world.retry(kFlow, kKeyA),
            R"(instance flow["a"] retried dropped=0 | step_failed flow["a"] #0 <0 step.trap)");
  world.host.set("flow", saying_at_first([](StepSaid&) {}));
  EXPECT_EQ(world.retry(kFlow, kKeyA),
            R"(instance flow["a"] retried dropped=0 | step flow["a"] #0 <0 running)");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "running Start Poke");
  ASSERT_EQ(world.changed.size(), 1u);
  EXPECT_EQ(world.changed.begin()->second.before->status, InstanceStatus::Failed);
  EXPECT_EQ(world.changed.begin()->second.after->error_code, "");
}

TEST(Retry, DeliversTheInputOfAnInstanceThatFailedByItsOwnWord) {
  TestWorld world;
  world.host.set("flow", [](std::string_view input) {
    const bool again = StepSeen(input).state.has_value();
    StepSaid said;
    return said.state(log_state({"x"})).status(again ? "completed" : "failed", "why").call();
  });
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "failed module.failed x");
  EXPECT_EQ(world.retry(kFlow, kKeyA),
            R"(instance flow["a"] retried dropped=0 | step flow["a"] #0 <0 completed)");
}

TEST(Retry, DeliversTheReceiptThatFailedAgain) {
  TestWorld world;
  world.host.set("flow", asking_twice());
  world.post("t/Start@1", kStartA);
  const std::string intent = world.opened.at(0);
  world.host.set("flow", trap);
  world.receipt(intent, "ok", R"({"text":"done"})");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "failed step.trap Start");
  std::string first, again;
  world.host.set("flow", [&](std::string_view input) {
    again = StepSeen(input).value;
    return asking_twice()(input);
  });
  EXPECT_EQ(world.retry(kFlow, kKeyA),
            R"(instance flow["a"] retried dropped=0 | step flow["a"] #0 <0 continuation waiting)");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "waiting Start Receipt");
  EXPECT_NE(json_of(again).find(intent), std::string::npos);
  EXPECT_EQ(world.open().size(), 1u);
}

// A receipt that no arm took is delivered once the module has one.
TEST(Retry, DeliversAReceiptThatTheModuleHadNoArmFor) {
  TestWorld world;
  world.host.set("deaf", saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(1)); }));
  world.post("t/Note@1", R"({"text":"x"})");
  world.receipt(world.opened.at(0), "ok", R"({"text":"done"})");
  EXPECT_EQ(world.instance("t/deaf@1"), "failed receipt.delivery_failed event");
  EXPECT_EQ(world.retry("t/deaf@1"), "refused run.unsupported");
  world.use(WorldText().with(R"("event":"t/Note@1","effects_emitted")",
                             R"("event":"t/PlainEvent@1","effects_emitted")"));
  EXPECT_EQ(world.retry("t/deaf@1"),
            "instance deaf retried dropped=0 | step deaf #0 <0 continuation running");
  EXPECT_EQ(world.instance("t/deaf@1"), "running event Receipt");
}

TEST(Retry, RefusesWhatCannotBeDeliveredAgain) {
  TestWorld world;
  EXPECT_EQ(world.retry(kFlow, kKeyA), "refused not_found");
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.retry(kFlow, kKeyA), "refused run.unsupported");
  EXPECT_EQ(http_status(world.error.code), 409);
  world.terminate(kFlow, kKeyA);
  EXPECT_EQ(world.retry(kFlow, kKeyA), "refused run.unsupported");

  // The journal does not hold what a denial was about.
  world.host.set("flow", [](std::string_view input) {
    if (StepSeen(input).arm == "Denied") return trap(input);
    return StepSaid().state(log_state({})).effect("work.do", work_params(1), "safe").call();
  });
  world.post("t/Start@1", R"({"id":"b","n":1})");
  EXPECT_EQ(world.instance(kFlow, R"("b")"), "failed step.trap");
  EXPECT_EQ(world.retry(kFlow, R"("b")"), "refused run.unsupported");

  // Nor one that retention has removed.
  world.host.set("flow", trap);
  world.post("t/Start@1", R"({"id":"c","n":1})");
  world.run([&](Deciding& deciding) {
    deciding.writes().remove(frame_key(deciding.world().head().height));
    return ok_status();
  });
  EXPECT_EQ(world.retry(kFlow, R"("c")"), "refused run.unsupported");
}

// A world restored from a snapshot knows that an instance failed, and not of what: the journal
// does.
TEST(Retry, FindsTheInputInTheJournalWhereTheInstanceDoesNotSay) {
  TestWorld world;
  world.post("t/Start@1", kStartA);
  world.host.set("flow", trap);
  world.post("t/Poke@1", kPokeA);
  world.retry(kFlow, kKeyA);
  world.post("t/Note@1", R"({"text":"x"})");
  world.retry(kFlow, kKeyA);
  world.run([&](Deciding& deciding) {
    Instance instance = *deciding.world().instance(kFlow, cbor_text(kKeyA));
    instance.failed_cause_seq = 0;
    instance.failed_cause_n = 0;
    deciding.writes().put(instance_key(kFlow, cbor_text(kKeyA)), codec::encoded(instance));
    return ok_status();
  });
  world.host.set("flow", saying_at_first([](StepSaid&) {}));
  EXPECT_EQ(world.retry(kFlow, kKeyA),
            R"(instance flow["a"] retried dropped=0 | step flow["a"] #0 <0 running)");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "running Start Poke");
}

// --- what a command reports

TEST(Changes, TellWhatBecameOfInstances) {
  TestWorld world;
  world.post("t/Start@1", kStartA);
  ASSERT_EQ(world.changed.size(), 1u);
  const InstanceChange& made = world.changed.begin()->second;
  EXPECT_EQ(world.changed.begin()->first, instance_key(kFlow, cbor_text(kKeyA)));
  EXPECT_EQ(made.module, kFlow);
  EXPECT_EQ(made.key, cbor_text(kKeyA));
  EXPECT_FALSE(made.before);
  EXPECT_EQ(made.after->status, InstanceStatus::Running);
  EXPECT_EQ(made.after->created_ms, world.now_ns / 1'000'000);
  EXPECT_TRUE(made.after->run_id.is_v7());
  EXPECT_EQ(made.after->run_id.unix_ms(), made.after->created_ms);
  EXPECT_EQ(made.after->run_id.partition(), 0);
  world.post("t/Poke@1", kPokeA);
  EXPECT_TRUE(world.changed.empty());  // still running
  world.host.set("flow", trap);
  world.post("t/Poke@1", kPokeA);
  ASSERT_EQ(world.changed.size(), 1u);
  EXPECT_EQ(world.changed.begin()->second.before->status, InstanceStatus::Running);
  EXPECT_EQ(world.changed.begin()->second.after->error_code, "step.trap");
  EXPECT_EQ(world.changed.begin()->second.after->ended_ms, world.now_ns / 1'000'000);
}

TEST(Changes, RunIdsFollowFromWorldInstanceAndFrame) {
  auto run_of = [](std::string_view id, int frames_before) {
    TestWorld world;
    for (int i = 0; i < frames_before; ++i) {
      world.post("t/Id@1", R"("x")");
      world.now_ns -= 1'000'000'000;
    }
    world.post("t/Start@1", R"({"id":")" + std::string(id) + R"(","n":1})");
    return world.reply->deliveries.at(0).run_id;
  };
  EXPECT_EQ(run_of("a", 0), run_of("a", 0));
  EXPECT_NE(run_of("a", 0), run_of("b", 0));
  EXPECT_NE(run_of("a", 0), run_of("a", 1));
}

TEST(Changes, ANewVersionOfTheCodeIsAChange) {
  TestWorld world;
  world.post("t/Start@1", kStartA);
  const std::string before = world.world().instance(kFlow, cbor_text(kKeyA))->module_version;
  world.host.set("next", saying_at_first([](StepSaid&) {}));
  world.use(WorldText().with("\"" + base64("flow") + "\"", "\"" + base64("next") + "\""));
  world.post("t/Poke@1", kPokeA);
  ASSERT_EQ(world.changed.size(), 1u);
  EXPECT_EQ(world.changed.begin()->second.before->module_version, before);
  EXPECT_EQ(world.changed.begin()->second.after->module_version,
            in_record(world.record(1), "module_version"));
  EXPECT_NE(before, in_record(world.record(1), "module_version"));
}

// What a governance verb leaves: an intent that nobody can lease, and that counts as no effect of a
// module.
TEST(Governance, ItsIntentsAreSettledAtOnce) {
  TestWorld world;
  const std::string frame = world.run([](Deciding& deciding) {
    Frame made(deciding, Frame::Clock::Stays);
    add_governance_intent(made, "approve", "p7", "sha256:00");
    made.finish();
    return ok_status();
  });
  EXPECT_EQ(frame, "effect_intent governance.approve ");
  EXPECT_TRUE(world.open().empty());
  EXPECT_TRUE(world.opened.empty());
  EXPECT_TRUE(world.settled.empty());
  EXPECT_EQ(world.world().head().totals.intents, 0u);
  EXPECT_EQ(world.world().head().totals.open_intents, 0u);
  EXPECT_EQ(world.world().head().logical_now_ns, 0);
  const std::string record = world.record(0);
  EXPECT_EQ(in_record(record, "origin.kind"), "governance");
  EXPECT_EQ(in_record(record, "origin.name"), "approve");
  EXPECT_EQ(world.world().intent(in_record(record, "intent_hash"))->settlement,
            Settlement::Dropped);
}

}  // namespace
}  // namespace pawl::worlds
