#include "worlds/reading.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "worlds/hash.h"
#include "worlds/testing/busy_world.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

template <class Write>
std::string written(Write&& write) {
  std::string out;
  json::Writer w(out);
  write(w);
  return out;
}

std::string instance_json(BusyWorld& world, const std::string& module, const std::string& key) {
  const Instance instance = *world.world().instance(module, key);
  return written(
      [&](json::Writer& w) { write_instance(w, world.program(), module, key, instance); });
}

std::string effect_json(BusyWorld& world, const std::string& hash, const IntentWork& work = {},
                        int64_t lease_until_ms = 0) {
  const Intent intent = *world.world().intent(hash);
  return written([&](json::Writer& w) {
    write_effect(w, world.program(), hash, intent, work, lease_until_ms);
  });
}

TEST(WriteInstance, Waiting) {
  BusyWorld world;
  world.start("a", 1);
  const std::string key = cbor_text("\"a\"");
  const Instance a = *world.world().instance("t/flow@1", key);
  EXPECT_EQ(instance_json(world, "t/flow@1", key),
            "{\"run_id\":\"" + a.run_id.text() + "\",\"module\":\"t/flow@1\",\"key\":\"a\"," +
                "\"key_b64\":\"" + base64(key) + "\",\"status\":\"waiting\",\"state_hash\":\"" +
                a.state_hash + "\",\"inflight\":[{\"intent_hash\":\"" + world.open()[0] +
                "\",\"effect_kind\":\"work.do\",\"params_hash\":\"" + a.inflight[0].params_hash +
                "\",\"emitted_at_seq\":2}],\"last_seq\":2,\"module_version\":\"" +
                hash_of_bytes("flow") + "\",\"error\":null}");
}

TEST(WriteInstance, FailedWithoutStateAndKey) {
  BusyWorld world;
  world.host.set("deaf", [](std::string_view) { return ModuleCall{.end = CallEnd::Trap}; });
  world.note("x");
  const Instance deaf = *world.world().instance("t/deaf@1", "");
  EXPECT_EQ(instance_json(world, "t/deaf@1", ""),
            "{\"run_id\":\"" + deaf.run_id.text() +
                "\",\"module\":\"t/deaf@1\",\"key\":null,\"key_b64\":null,\"status\":\"failed\","
                "\"state_hash\":null,\"inflight\":[],\"last_seq\":2,\"module_version\":\"" +
                hash_of_bytes("deaf") + "\",\"error\":{\"code\":\"step.trap\",\"detail\":\"" +
                deaf.error_detail + "\",\"seq\":2}}");
}

TEST(WriteEffect, FromQueuedToSettled) {
  BusyWorld world;
  world.start("a", 1);
  const std::string hash = world.open()[0];
  const Intent intent = *world.world().intent(hash);
  const std::string hex = to_hex(string_of(member_of(intent.record, "idempotency_key")));
  const std::string head =
      "{\"intent_hash\":\"" + hash + "\",\"kind\":\"work.do\",\"params\":{\"n\":1}," +
      "\"params_b64\":\"" + base64(intent.params) + "\",\"params_hash\":\"" + intent.params_hash +
      "\",\"cap_name\":\"cap_work\",\"idempotency_key\":\"" + hex + "\",\"state\":\"";
  const std::string origin =
      "\",\"origin\":{\"kind\":\"workflow\",\"name\":\"t/flow@1\",\"instance_key\":\"" +
      base64(cbor_text("\"a\"")) + "\",\"emitted_at_seq\":2,\"ordinal\":0,\"effect_index\":0}";
  EXPECT_EQ(effect_json(world, hash), head + "queued" + origin + "}");
  const IntentWork leased{.inflight = true, .adapter_id = "hand", .until_ms = 1'700'000'000'123};
  EXPECT_EQ(effect_json(world, hash, leased),
            head + "inflight" + origin +
                ",\"lease\":{\"adapter_id\":\"hand\",\"until\":\"2023-11-14T22:13:20.123Z\"}}");
  EXPECT_EQ(effect_json(world, hash, {}, 1'700'000'000'123),
            head + "queued" + origin + ",\"lease_until\":\"2023-11-14T22:13:20.123Z\"}");
  world.receipt(hash, "error", R"({"code":"E","message":"m"})");
  EXPECT_EQ(effect_json(world, hash, leased),
            head + "settled" + origin +
                ",\"receipt\":{\"seq\":3,\"status\":\"error\",\"adapter_id\":\"hand\"}}");
}

TEST(WriteEffect, ADroppedOneHasNoReceipt) {
  BusyWorld world;
  world.start("a", 1);
  const std::string hash = world.open()[0];
  world.terminate("t/flow@1", "\"a\"");
  const std::string json = effect_json(world, hash);
  EXPECT_NE(json.find("\"state\":\"settled\""), std::string::npos);
  EXPECT_EQ(json.find("receipt"), std::string::npos);
}

// Params of a schema that the program has no longer print as plain CBOR.
TEST(WriteEffect, OfAnotherProgram) {
  BusyWorld world;
  world.start("a", 1);
  const std::string hash = world.open()[0];
  world.use(WorldText().with(R"({"record":{"n":{"nat":{}}}})", R"({"record":{"m":{"text":{}}}})"));
  EXPECT_NE(effect_json(world, hash).find("\"params\":{\"n\":1}"), std::string::npos);
}

TEST(WriteRecord, HasTheRecordAndItsBytes) {
  BusyWorld world;
  world.snapshot();
  const JournalRecord record = world.world().frame(2)->records[0];
  EXPECT_EQ(
      written([&](json::Writer& w) { write_record(w, 2, 0, record); }),
      "{\"seq\":2,\"n\":0,\"kind\":\"snapshot\",\"record\":{\"height\":1,\"snapshot_ref\":\"" +
          in_record(record.bytes, "snapshot_ref") + "\"},\"record_b64\":\"" + base64(record.bytes) +
          "\"}");
}

TEST(WriteProposal, AndItsState) {
  BusyWorld world;
  world.propose(other_body());
  world.shadow("p2", other_body());
  const Proposal proposal = *world.world().proposal(2);
  EXPECT_EQ(written([&](json::Writer& w) { write_proposal(w, proposal); }),
            "{\"proposal_id\":\"p2\",\"state\":\"shadowed\",\"manifest_hash\":\"" +
                proposal.manifest_hash + "\",\"base\":\"" + world.program().manifest_hash +
                "\",\"description\":\"a change\"}");
}

TEST(StateJson, HasSugarBytesAndWhereItStands) {
  BusyWorld world;
  world.start("a", 0);
  world.note("x");
  const Instance a = *world.world().instance("t/flow@1", cbor_text("\"a\""));
  EXPECT_EQ(
      state_json(world.world().head(), world.program().module("t/flow@1")->state_type.get(), a),
      "{\"state\":{\"log\":[\"Start0\"]},\"state_b64\":\"" + base64(log_state({"Start0"})) +
          "\",\"state_hash\":\"" + hash_of_bytes(log_state({"Start0"})) +
          "\",\"meta\":{\"height\":3,\"manifest_hash\":\"" + world.program().manifest_hash +
          "\",\"status\":\"running\",\"last_seq\":2}}");
}

TEST(Summary, CountsWhatTheJournalSays) {
  BusyWorld world;
  world.start("a", 2);
  world.start("b", 6);
  world.start("c", 4);
  world.receipt(world.open()[0], "error", R"({"code":"E","message":"m"})");
  world.receipt(world.open()[0], "ok", R"({"wrong":1})");
  world.start("d", 1);
  world.system_effect("work.do", R"({"n":1})", "cap_work");
  world.propose(other_body());
  world.reject("p9");
  const Instance d = *world.world().instance("t/flow@1", cbor_text("\"d\""));
  EXPECT_EQ(summary_json(world.world(), 3),
            "{\"height\":10,\"totals\":{\"steps\":5,\"step_failures\":1,\"effects\":{\"intents\":4,"
            "\"receipts\":{\"ok\":1,\"error\":1,\"timeout\":0},\"faults\":1},\"policy_decisions\":{"
            "\"allow\":4,\"deny\":0},\"cap_decisions\":{\"allow\":4,\"deny\":0},\"workflows\":{"
            "\"total\":4,\"running\":1,\"waiting\":1,\"completed\":1,\"failed\":1,"
            "\"inflight_intents\":1},\"governance\":{\"proposed\":1,\"shadowed\":0,\"approved\":0,"
            "\"rejected\":1,\"applied\":0}},\"runtime_wait\":{\"pending_receipts\":1,"
            "\"queued_effects\":3},\"strict_quiescence\":{\"non_terminal_instances\":2,"
            "\"inflight_intents\":1,\"queued_work\":3},\"continuations\":[{\"run_id\":\"" +
                d.run_id.text() + "\",\"module\":\"t/flow@1\",\"key\":\"d\",\"intent_hash\":\"" +
                d.inflight[0].hash + "\",\"effect_kind\":\"work.do\",\"emitted_at_seq\":7}]}");
}

// The summary's counts are kept; counted out, they are the same.
TEST(Summary, CountsStayTrueOverALife) {
  for (uint64_t seed = 1; seed < 6; ++seed) {
    BusyWorld world;
    lead_life(world, seed, 150);
    Totals counted;
    world.world().each_instance(
        "", "",
        [&](std::string_view, const std::string&, const std::string&, const Instance& instance) {
          ++counted.instances;
          counted.running += instance.status == InstanceStatus::Running ? 1 : 0;
          counted.waiting += instance.status == InstanceStatus::Waiting ? 1 : 0;
          counted.completed += instance.status == InstanceStatus::Completed ? 1 : 0;
          counted.failed += instance.status == InstanceStatus::Failed ? 1 : 0;
          counted.workflow_intents += instance.inflight.size();
          return true;
        });
    const Totals kept = world.world().head().totals;
    EXPECT_EQ(kept.instances, counted.instances);
    EXPECT_EQ(kept.running, counted.running);
    EXPECT_EQ(kept.waiting, counted.waiting);
    EXPECT_EQ(kept.completed, counted.completed);
    EXPECT_EQ(kept.failed, counted.failed);
    EXPECT_EQ(kept.workflow_intents, counted.workflow_intents);
    EXPECT_EQ(kept.open_intents, world.open().size());
  }
}

TEST(Blockers, LongListsAreCutAndSayIt) {
  BusyWorld world;
  for (int i = 0; i < 5; ++i) world.start("k" + std::to_string(i), 1);
  const std::string json = blockers_json(world.world(), 5, world.now_ns, 2);
  EXPECT_NE(json.find("\"queued_work\":5,\"non_terminal_instances_cut\":{\"total\":5,\"shown\":2},"
                      "\"inflight_intents_cut\":{\"total\":5,\"shown\":2}}"),
            std::string::npos)
      << json;
}

// Words of the model that modules replaced.
TEST(Reading, NoReplyNamesPlans) {
  BusyWorld world;
  lead_life(world, 2, 60);
  world.propose(other_body());
  world.shadow(world.last_proposal(), other_body());
  for (const std::string& json : {world.report, summary_json(world.world(), 0),
                                  blockers_json(world.world(), 0, world.now_ns, 100)}) {
    EXPECT_EQ(json.find("plan_results"), std::string::npos);
    EXPECT_EQ(json.find("pending_plan_receipts"), std::string::npos);
  }
}

}  // namespace
}  // namespace pawl::worlds
