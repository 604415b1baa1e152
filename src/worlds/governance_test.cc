#include "worlds/governance.h"

#include <gtest/gtest.h>

#include "worlds/digest.h"
#include "worlds/hash.h"
#include "worlds/reading.h"
#include "worlds/testing/busy_world.h"

namespace pawl::worlds {
namespace {

std::string state_of(BusyWorld& world, const std::string& id) {
  return std::string(proposal_state_name(named_proposal(world.world(), id)->state));
}

// Lets the world come to rest: every instance at its end, nothing open.
void come_to_rest(BusyWorld& world) {
  for (const std::string& hash : world.open())
    world.receipt(hash, "ok", R"({"text":"x","tags":null})");
  std::vector<std::pair<std::string, std::string>> left;
  world.world().each_instance("", "",
                              [&](std::string_view, const std::string& module,
                                  const std::string& key, const Instance& instance) {
                                if (instance.status == InstanceStatus::Running)
                                  left.emplace_back(module, key);
                                return true;
                              });
  for (const auto& [module, key] : left)
    world.run([&](Deciding& deciding) { return terminate_instance(deciding, module, key); });
}

TEST(Governance, AProposalGoesItsWay) {
  BusyWorld world;
  EXPECT_EQ(world.propose(other_body()), "effect_intent governance.propose  | governance proposed");
  const std::string id = world.last_proposal();
  EXPECT_EQ(id, "p2");
  EXPECT_EQ(in_record(world.record(1), "report"), "null");
  EXPECT_EQ(world.shadow(id, other_body()),
            "effect_intent governance.shadow  | governance shadow_report");
  EXPECT_EQ(world.world().blob(in_record(world.record(1), "report")), world.report);
  EXPECT_EQ(world.approve(id), "effect_intent governance.approve  | governance approved");
  EXPECT_EQ(world.apply(id, other_body()),
            "effect_intent governance.apply  | governance applied | manifest");
  EXPECT_EQ(state_of(world, id), "applied");
  EXPECT_EQ(world.world().head().manifest_hash, world.read(other_body()).manifest_hash);
  const Totals totals = world.world().head().totals;
  EXPECT_EQ(totals.proposed + totals.shadowed + totals.approved + totals.applied, 4u);
  EXPECT_EQ(totals.intents, 0u);  // of governance are not counted
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "ok 5");
}

TEST(Governance, AnIntentIsSettledAtOnceAndHasNoDecisions) {
  BusyWorld world;
  world.propose(other_body());
  const std::string record = world.record(0);
  EXPECT_EQ(in_record(record, "origin.kind"), "governance");
  EXPECT_EQ(in_record(record, "origin.name"), "propose");
  EXPECT_EQ(in_record(record, "cap_name"), "");
  const auto intent = world.world().intent(in_record(record, "intent_hash"));
  EXPECT_EQ(intent->settlement, Settlement::Dropped);
  EXPECT_TRUE(world.open().empty());
  EXPECT_EQ(json_of(intent->params), "{\"proposal_id\":\"p2\",\"manifest_hash\":\"" +
                                         world.read(other_body()).manifest_hash + "\"}");
}

TEST(Governance, WrongOrderIsRefused) {
  BusyWorld world;
  const WorldText other = other_body();
  world.propose(other);
  const std::string id = world.last_proposal();
  const Digest before = digest_of(world.world());
  EXPECT_EQ(world.approve(id), "refused gov.state");
  EXPECT_EQ(world.apply(id, other), "refused gov.state");
  EXPECT_EQ(digest_of(world.world()), before);
  world.shadow(id, other);
  EXPECT_EQ(world.apply(id, other), "refused gov.state");
  world.shadow(id, other);  // once more is fine
  world.approve(id);
  EXPECT_EQ(world.approve(id), "refused gov.state");
  EXPECT_EQ(world.shadow(id, other), "refused gov.state");
  world.apply(id, other);
  EXPECT_EQ(world.apply(id, other), "refused gov.state");
  EXPECT_EQ(world.reject(id), "refused gov.state");
}

TEST(Governance, ARejectedProposalStaysOne) {
  BusyWorld world;
  world.propose(other_body());
  const std::string id = world.last_proposal();
  world.shadow(id, other_body());
  world.approve(id);
  EXPECT_EQ(world.reject(id), "effect_intent governance.reject  | governance rejected");
  EXPECT_EQ(world.apply(id, other_body()), "refused gov.state");
  EXPECT_EQ(world.shadow(id, other_body()), "refused gov.state");
  EXPECT_EQ(state_of(world, id), "rejected");
}

TEST(Governance, EqualProposalsAreTwo) {
  BusyWorld world;
  world.propose(other_body());
  const std::string first = world.last_proposal();
  world.propose(other_body());
  EXPECT_NE(world.last_proposal(), first);
  world.reject(first);
  EXPECT_EQ(state_of(world, world.last_proposal()), "submitted");
}

TEST(Governance, AStaleBaseIsRefused) {
  BusyWorld world;
  const WorldText other = other_body();
  const ProgramText text = world.read(other);
  EXPECT_EQ(world.run([&](Deciding& deciding) -> Status {
    PAWL_TRY_DO(propose(deciding, text, "sha256:" + std::string(64, '0'), ""));
    return ok_status();
  }),
            "refused gov.stale_base");
  world.propose(other);
  world.propose(other);
  for (const std::string id : {"p2", "p3"}) {
    world.shadow(id, other);
    world.approve(id);
  }
  world.apply("p2", other);
  EXPECT_EQ(world.apply("p3", other), "refused gov.stale_base");
  world.propose(other);
  const std::string id = world.last_proposal();
  world.shadow(id, other);
  world.apply("", WorldText());
  EXPECT_EQ(world.approve(id), "refused gov.stale_base");
}

TEST(Governance, UnknownProposals) {
  BusyWorld world;
  world.propose(other_body());
  for (const std::string id : {"", "p", "p1", "2", "p02", "p+2", "p2 ", "P2",
                               "p99999999999999999999", "p18446744073709551617"})
    EXPECT_EQ(world.reject(id), "refused gov.unknown_proposal") << id;
}

TEST(Governance, ADenyRuleStopsAVerbAndNothingIsJournaled) {
  WorldText body;
  body.with(R"("defaults":{)", R"("defaults":{"policy":"t/policy@1",)");
  body.nodes.push_back(R"({"$kind":"defpolicy","name":"t/policy@1","rules":[
    {"when":{"origin_kind":"governance","origin_name":"approve"},"decision":"deny"},
    {"when":{"effect_kind":"governance.apply"},"decision":"deny"},
    {"when":{},"decision":"allow"}]})");
  BusyWorld world(body);
  WorldText other = body;
  other.with(R"("event":"t/Note@1","effects_emitted":["work.do"])",
             R"("event":"t/Note@1","effects_emitted":[])");
  world.propose(other);
  world.shadow("p2", other);
  const Digest before = digest_of(world.world());
  EXPECT_EQ(world.approve("p2"), "refused policy.denied");
  EXPECT_EQ(digest_of(world.world()), before);
  // A rule that does not name governance does not mean it.
  EXPECT_EQ(world.apply("", other),
            "effect_intent governance.apply  | governance applied | manifest");
}

// --- apply

TEST(Apply, WaitsForInstances) {
  BusyWorld world;
  world.start("a", 0);
  EXPECT_EQ(world.apply("", other_body()), "refused apply.blocked");
  const std::string run = world.world().instance("t/flow@1", cbor_text("\"a\""))->run_id.text();
  EXPECT_EQ(world.error.json_details.at(0).first, "blockers");
  EXPECT_EQ(world.error.json_details.at(0).second,
            "{\"non_terminal_instances\":[{\"run_id\":\"" + run +
                "\",\"module\":\"t/flow@1\",\"key\":\"a\",\"status\":\"running\"}],"
                "\"inflight_intents\":[],\"queued_work\":0}");
  world.terminate("t/flow@1", "\"a\"");
  EXPECT_EQ(world.apply("", other_body()),
            "effect_intent governance.apply  | governance applied | manifest");
}

TEST(Apply, WaitsForIntentsAndSaysHowOldTheyAre) {
  BusyWorld world;
  world.start("a", 1);
  const Instance a = *world.world().instance("t/flow@1", cbor_text("\"a\""));
  EXPECT_EQ(world.apply("", other_body(), 1), "refused apply.blocked");
  EXPECT_EQ(world.error.json_details.at(0).second,
            "{\"non_terminal_instances\":[{\"run_id\":\"" + a.run_id.text() +
                "\",\"module\":\"t/flow@1\",\"key\":\"a\",\"status\":\"waiting\"}],"
                "\"inflight_intents\":[{\"run_id\":\"" +
                a.run_id.text() + "\",\"intent_hash\":\"" + world.open()[0] +
                "\",\"effect_kind\":\"work.do\",\"age_ns\":1000000000}],\"queued_work\":1}");
}

// A failed instance is at its end, but what it has asked for is not.
TEST(Apply, WaitsForIntentsOfFailedInstances) {
  BusyWorld world;
  world.start("a", 1);
  world.start("a", 6);
  EXPECT_EQ(world.instance("t/flow@1", "\"a\""), "failed step.trap Start1");
  EXPECT_EQ(world.apply("", other_body()), "refused apply.blocked");
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  EXPECT_EQ(world.apply("", other_body()),
            "effect_intent governance.apply  | governance applied | manifest");
}

TEST(Apply, WaitsForQueuedWorkOfAnyOrigin) {
  BusyWorld world;
  world.system_effect("work.do", R"({"n":1})", "cap_work");
  EXPECT_EQ(world.apply("", other_body(), 1), "refused apply.blocked");
  EXPECT_EQ(world.apply("", other_body(), 0),  // at work: nobody waits for it but the operator
            "effect_intent governance.apply  | governance applied | manifest");
}

TEST(Apply, ABlockedOneChangesNothingAndTheOldModuleGoesOn) {
  BusyWorld world;
  world.start("a", 1);
  const auto items = world.items();
  EXPECT_EQ(world.apply("", other_body()), "refused apply.blocked");
  EXPECT_EQ(world.items(), items);
  world.snapshot();
  world.receipt(world.open()[0], "ok", R"({"text":"x","tags":null})");
  EXPECT_EQ(world.instance("t/flow@1", "\"a\""), "running Start1 Receipt");
  world.start("a", 4);

  world.host.set("flow two",
                 [](std::string_view) { return StepSaid().state(log_state({"two"})).call(); });
  const WorldText two = WorldText().with(base64("flow"), base64("flow two"));
  EXPECT_EQ(world.apply("", two),
            "effect_intent governance.apply  | governance applied | manifest");
  const std::string version =
      world.world().instance("t/flow@1", cbor_text("\"a\""))->module_version;
  EXPECT_EQ(version, hash_of_bytes("flow"));
  world.start("a", 0);
  EXPECT_EQ(world.instance("t/flow@1", "\"a\""), "running two");
  EXPECT_EQ(world.world().instance("t/flow@1", cbor_text("\"a\""))->module_version,
            hash_of_bytes("flow two"));
  for (const ReplayFrom from : {ReplayFrom::Genesis, ReplayFrom::Baseline})
    EXPECT_TRUE(replayed(world, from).starts_with("ok")) << replayed(world, from);
}

TEST(Apply, KeepsStatesTerminalInstancesAndFences) {
  BusyWorld world;
  world.start("a", 1, "once");
  const std::string intent = world.open()[0];
  world.start("b", 5);
  world.start("c", 9);
  come_to_rest(world);
  const Digest before = digest_of(world.world());
  const Totals totals = world.world().head().totals;
  EXPECT_EQ(world.apply("", other_body()),
            "effect_intent governance.apply  | governance applied | manifest");
  const Digest after = digest_of(world.world());
  EXPECT_EQ(after.state_root, before.state_root);
  EXPECT_EQ(after.instances_root, before.instances_root);
  EXPECT_EQ(world.world().head().totals.failed, totals.failed);
  EXPECT_EQ(world.receipt(intent, "ok", R"({"text":"x","tags":null})"), "nothing");
  EXPECT_EQ(world.start("a", 1, "once"), "nothing");
  EXPECT_TRUE(world.reply->duplicate);
}

TEST(Apply, CountersAreThoseOfTheSummary) {
  BusyWorld world;
  world.start("a", 2);
  world.start("b", 0);
  world.apply("", other_body(), 2);
  const std::string summary = summary_json(world.world(), 2);
  EXPECT_NE(summary.find("\"strict_quiescence\":{\"non_terminal_instances\":2,"
                         "\"inflight_intents\":2,\"queued_work\":2}"),
            std::string::npos)
      << summary;
}

TEST(Apply, ADirectOneHasNoProposal) {
  BusyWorld world;
  const std::string live = world.world().head().manifest_hash;
  world.apply("", other_body());
  EXPECT_EQ(in_record(world.record(1), "proposal_id"), "null");
  EXPECT_EQ(in_record(world.record(1), "base"), live);
  EXPECT_EQ(in_record(world.record(1), "manifest_hash"),
            in_record(world.record(2), "manifest_hash"));
  EXPECT_EQ(replayed(world, ReplayFrom::Genesis), "ok 2");
}

}  // namespace
}  // namespace pawl::worlds
