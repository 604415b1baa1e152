// What came of an event, and why an instance stands where it stands.
#include <gtest/gtest.h>

#include "base/json.h"
#include "worlds/frame.h"
#include "worlds/reading.h"
#include "worlds/testing/busy_world.h"

namespace pawl::worlds {
namespace {

// "root 2.0: 2.0 domain_event <null | …; waits work.do; waiting_receipt"
std::string trace(BusyWorld& world, const TraceQuery& query) {
  const auto json = trace_json(world.world(), world.program(), query);
  if (!json.ok()) return "refused " + std::string(wire_code(json.error()));
  const auto doc = json::parse(*json);
  EXPECT_TRUE(doc.ok()) << *json;
  const json::View root = doc->root();
  const auto raw = [](json::View view, std::string_view name) {
    const auto found = view.find(name);
    if (!found) return std::string();
    return found->is_string() ? found->string() : std::string(found->raw());
  };
  std::string out = "root " + raw(*root.find("root"), "seq") + "." + raw(*root.find("root"), "n");
  std::string separator = ": ";
  root.find("chain")->each_element([&](json::View link) {
    out += separator + raw(link, "seq") + "." + raw(link, "n") + " " + raw(link, "kind") + " <" +
           raw(link, "cause") + (link.find("route") ? " " + raw(link, "route") : "");
    separator = " | ";
  });
  root.find("live_wait")->each_element([&](json::View wait) {
    out += "; waits " + raw(wait, "effect_kind");
  });
  return out + "; " + raw(root, "terminal_state") + (root.find("cut") ? "; cut" : "");
}

std::string trace(BusyWorld& world, uint64_t seq) {
  TraceQuery query;
  query.seq = seq;
  return trace(world, query);
}

std::string trace(BusyWorld& world, std::string schema, std::string path, std::string value) {
  return trace(world, {.seq = {},
                       .schema = std::move(schema),
                       .correlate_by = std::move(path),
                       .value = std::move(value)});
}

// Event, intent, receipt, follow-up: one chain.
TEST(Trace, FollowsIntentsToTheirReceipts) {
  BusyWorld world;
  world.start("a", 1);
  world.start("b", 1);
  const std::string waiting =
      "root 2.0: 2.0 domain_event <null | 2.1 step <[2,0] subscription | 2.2 cap_decision <[2,1] | "
      "2.3 policy_decision <[2,1] | 2.4 effect_intent <[2,1]";
  EXPECT_EQ(trace(world, 2), waiting + "; waits work.do; waiting_receipt");
  world.host.set("flow", [](std::string_view input) {
    const StepSeen seen(input);
    return StepSaid()
        .state(log_state({"x"}))
        .event("t/Note@1", cbor_text(R"({"text":"paid"})"))
        .status("completed")
        .call();
  });
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  EXPECT_EQ(trace(world, 2), waiting +
                                 " | 4.0 effect_receipt <[2,4] | 4.1 step <[4,0] continuation | "
                                 "4.2 domain_event <[4,1] | 4.3 step <[4,2] subscription | "
                                 "4.4 step <[4,2] subscription; waiting_event");
  EXPECT_EQ(trace(world, 4).substr(0, 48), "root 4.0: 4.0 effect_receipt <[2,4] | 4.1 step <");
  EXPECT_EQ(trace(world, 9), "refused trace.unknown");
  EXPECT_EQ(trace(world, 0), "refused trace.unknown");
}

TEST(Trace, FindsAnEventByAValue) {
  BusyWorld world;
  world.start("a", 3);
  world.start("b", 0);
  world.start("a", 4);
  EXPECT_TRUE(trace(world, "t/Start@1", "id", "b").starts_with("root 3.0: 3.0 domain_event"));
  // The oldest of several is where it began.
  EXPECT_TRUE(trace(world, "t/Start@1", "id", "a").starts_with("root 2.0"));
  EXPECT_TRUE(trace(world, "t/Start@1", "n", "4").starts_with("root 4.0"));
  EXPECT_TRUE(trace(world, "t/Start@1", "", "").starts_with("root 2.0"));
  EXPECT_EQ(trace(world, "t/Start@1", "n", "\"4\""), "refused trace.unknown");
  EXPECT_EQ(trace(world, "t/Start@1", "none", "4"), "refused trace.unknown");
  EXPECT_EQ(trace(world, "t/Poke@1", "id", "a"), "refused trace.unknown");
}

// An event that a step emitted: only what came of it, not of its frame's input.
TEST(Trace, OfAnEmittedEventIsItsOwnBranch) {
  BusyWorld world;
  world.start("a", 3);
  EXPECT_EQ(world.last_frame(),
            "domain_event Start | step flow[\"a\"] #0 <0 running | domain_event Note <1 | "
            "step plain #1 <2 running | step deaf #2 <2 running");
  EXPECT_EQ(trace(world, "t/Note@1", "text", "a"),
            "root 2.2: 2.2 domain_event <[2,1] | 2.3 step <[2,2] subscription | "
            "2.4 step <[2,2] subscription; waiting_event");
}

// Decisions of a denial stand before the step that they failed.
TEST(Trace, DecisionsOfAFailedStepAreItsOwn) {
  BusyWorld world(WorldText().with(R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10}})",
                                   R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10},)"
                                   R"("expiry_ns":1})"));
  world.host.set("deaf", [](std::string_view) {
    return StepSaid().state(log_state({})).effect("work.do", cbor_text(R"({"n":1})")).call();
  });
  world.start("a", 3);
  EXPECT_EQ(trace(world, "t/Note@1", "text", "a"),
            "root 2.2: 2.2 domain_event <[2,1] | 2.3 step <[2,2] subscription | "
            "2.4 cap_decision <[2,5] | 2.5 step_failed <[2,2] subscription; failed");
}

TEST(Trace, FailedAndCompletedAndNothing) {
  BusyWorld world;
  world.start("a", 6);
  EXPECT_TRUE(trace(world, 2).ends_with("; failed"));
  world.start("b", 4);
  EXPECT_TRUE(trace(world, 3).ends_with("; completed"));
  world.start("a", 1);  // skipped: the instance has failed
  EXPECT_EQ(trace(world, 4),
            "root 4.0: 4.0 domain_event <null | 4.1 delivery_skipped <[4,0]; failed");
  world.post("t/State@1", R"({"log":[]})");
  EXPECT_EQ(trace(world, 5), "root 5.0: 5.0 domain_event <null; unknown");
  world.system_effect("work.do", R"({"n":1})", "cap_work");
  EXPECT_TRUE(trace(world, 6).ends_with("; waits work.do; waiting_receipt"));
}

// A receipt that fails its instance without a step.
TEST(Trace, OfAFaultedReceiptIsFailed) {
  BusyWorld world(WorldText().with(R"("Rejected":{"ref":"sys/EffectReceiptRejected@1"},)", ""));
  world.start("a", 1);
  world.receipt(world.open()[0], "ok", R"({"wrong":1})");
  EXPECT_EQ(trace(world, 3),
            "root 3.0: 3.0 effect_receipt <[2,4] | 3.1 receipt_fault <[3,0]; failed");
}

// Retention took the settled intent; its receipt is found by looking for it.
TEST(Trace, FindsReceiptsOfForgottenIntents) {
  BusyWorld world;
  world.start("a", 1);
  world.start("b", 0);
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  const std::string before = trace(world, 2);
  world.forget(world.now_ns / 1'000'000 + 1'000'000);
  EXPECT_TRUE(world.last_frame().find("forgotten dropped=1") != std::string::npos);
  EXPECT_EQ(trace(world, 2), before);
}

TEST(Trace, ALongChainIsCutAndSaysIt) {
  BusyWorld world;
  world.run([](Deciding& deciding) {
    Frame frame(deciding, Frame::Clock::Stays);
    for (int i = 0; i < 10'050; ++i) frame.append(RecordKind::LegacyPlanStarted, cbor_text("{}"));
    frame.finish();
    return ok_status();
  });
  EXPECT_TRUE(trace(world, 2).ends_with("; unknown; cut"));
}

// --- diagnosis

// "cause (evidence)"
std::string diagnosis(BusyWorld& world, std::string_view id = "a") {
  const std::string key = cbor_text("\"" + std::string(id) + "\"");
  const auto instance = world.world().instance("t/flow@1", key);
  const std::string json = diagnose_json(world.world(), "t/flow@1", key, *instance);
  const auto doc = json::parse(json);
  EXPECT_TRUE(doc.ok()) << json;
  std::string out = doc->root().find("cause")->string();
  EXPECT_TRUE(doc->root().find("detail")->is_string());
  doc->root().find("evidence")->each_element([&](json::View place) {
    out += " " + std::string(place.find("seq")->raw()) + "." + std::string(place.find("n")->raw());
  });
  return out;
}

WorldText with_policy(std::string_view rules) {
  WorldText body;
  body.with(R"("defaults":{)", R"("defaults":{"policy":"t/policy@1",)");
  body.nodes.push_back(R"({"$kind":"defpolicy","name":"t/policy@1","rules":)" + std::string(rules) +
                       "}");
  return body;
}

TEST(Diagnose, WaitingAndCompletedAndFailedSteps) {
  BusyWorld world;
  world.start("a", 1);
  EXPECT_EQ(diagnosis(world), "waiting_receipt 2.4");
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  EXPECT_EQ(diagnosis(world), "waiting_event 3.1");
  world.start("a", 4);
  EXPECT_EQ(diagnosis(world), "completed 4.1");
  world.start("b", 6);
  EXPECT_EQ(diagnosis(world, "b"), "trap 5.1");
  world.start("c", 8);
  EXPECT_EQ(diagnosis(world, "c"), "step_failed 6.1");
  world.start("d", 5);
  EXPECT_EQ(diagnosis(world, "d"), "step_failed 7.1");
  world.terminate("t/flow@1", "\"b\"");
  world.start("e", 0);
  world.terminate("t/flow@1", "\"e\"");
  EXPECT_EQ(diagnosis(world, "e"), "unknown 9.0");
  world.host.set("flow", [](std::string_view) { return ModuleCall{.end = CallEnd::FuelExceeded}; });
  world.start("f", 0);
  EXPECT_EQ(diagnosis(world, "f"), "fuel_exceeded 10.1");
}

TEST(Diagnose, Adapters) {
  BusyWorld world;
  world.start("a", 2);
  world.receipt(world.open()[0], "error", R"({"code":"E","message":"m"})");
  EXPECT_EQ(diagnosis(world), "adapter_error 3.0");  // still waiting for the other
  world.receipt(world.open()[0], "timeout", R"({"code":"T","message":"m"})");
  world.start("b", 0);
  world.poke("a");  // the last receipt counts, however many events came since
  EXPECT_EQ(diagnosis(world), "adapter_timeout 4.0");
  world.start("a", 1);
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  EXPECT_EQ(diagnosis(world), "waiting_event 8.1");
  world.start("a", 1);
  world.receipt(world.open()[0], "error", R"({"code":"E","message":"m"})");
  world.start("a", 4);
  EXPECT_EQ(diagnosis(world), "completed 11.1");
  world.start("c", 1);
  world.receipt(world.open()[0], "error", R"({"code":"E","message":"m"})");
  world.start("c", 5);
  EXPECT_EQ(diagnosis(world, "c"), "adapter_error 13.0");  // and then it failed itself
}

TEST(Diagnose, ReceiptFaults) {
  BusyWorld world;
  world.start("a", 1);
  world.receipt(world.open()[0], "ok", R"({"wrong":1})");
  EXPECT_EQ(world.instance("t/flow@1", "\"a\""), "running Start1 Rejected");
  EXPECT_EQ(diagnosis(world), "receipt_fault 3.0 3.1");
}

TEST(Diagnose, Denials) {
  BusyWorld by_policy(with_policy(R"([{"when":{"effect_kind":"safe.do"},"decision":"allow"}])"));
  by_policy.start("a", 1);
  EXPECT_EQ(by_policy.instance("t/flow@1", "\"a\""), "running Start1 Denied");
  EXPECT_EQ(diagnosis(by_policy), "policy_denied 2.3");
  by_policy.poke("a");
  EXPECT_EQ(diagnosis(by_policy), "waiting_event 3.1");

  BusyWorld by_cap(WorldText().with(R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10}})",
                                    R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10},)"
                                    R"("expiry_ns":1})"));
  by_cap.start("a", 1);
  EXPECT_EQ(diagnosis(by_cap), "capability_denied 2.2");
}

// Modules that do not hear of denials fail.
TEST(Diagnose, DenialsThatFailTheStep) {
  const auto deaf_asks = [](BusyWorld& world) {
    world.host.set("deaf", [](std::string_view) {
      return StepSaid().state(log_state({})).effect("work.do", cbor_text(R"({"n":1})")).call();
    });
    world.note("x");
    const auto instance = world.world().instance("t/deaf@1", "");
    return diagnose_json(world.world(), "t/deaf@1", "", *instance);
  };
  BusyWorld by_policy(with_policy(R"([{"when":{"effect_kind":"safe.do"},"decision":"allow"}])"));
  EXPECT_TRUE(deaf_asks(by_policy).starts_with("{\"cause\":\"policy_denied\""));
  BusyWorld by_cap(WorldText().with(R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10}})",
                                    R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10},)"
                                    R"("expiry_ns":1})"));
  EXPECT_TRUE(deaf_asks(by_cap).starts_with("{\"cause\":\"capability_denied\""));
}

}  // namespace
}  // namespace pawl::worlds
