#include "worlds/records.h"

#include <gtest/gtest.h>

#include "base/unreadable.h"
#include "worlds/cbor.h"
#include "worlds/testing/test_world.h"

namespace pawl::worlds {
namespace {

const StampRecord kStamp{.now_ns = 5, .logical_now_ns = 6, .entropy = "E", .manifest_hash = "m"};

struct Written {
  std::string record;
  std::string_view json;
};

// R-3.2.4: canonical, and every member there, null where there is nothing.
TEST(Records, AreCanonicalAndWhole) {
  const std::string_view key = "\x61k";
  const Written cases[] = {
      {manifest_record("m"), R"({"manifest_hash":"m"})"},
      {snapshot_record("s", 7), R"({"height":7,"snapshot_ref":"s"})"},
      {domain_event_record(
           {.schema = "s", .value = "v", .event_hash = "h", .client_id = {}, .stamp = kStamp}),
       R"({"key":null,"cause":null,"stamp":{"now_ns":5,"entropy":"RQ==","manifest_hash":"m","logical_now_ns":6},)"
       R"("value":"dg==","schema":"s","client_id":null,"event_hash":"h"})"},
      {domain_event_record({.schema = "s",
                            .value = "v",
                            .key = key,
                            .event_hash = "h",
                            .client_id = "c",
                            .cause = Cause{3, 4}}),
       R"({"key":"YWs=","cause":[3,4],"stamp":null,"value":"dg==","schema":"s","client_id":"c","event_hash":"h"})"},
      {step_record({.module = "m",
                    .ordinal = 2,
                    .cause = {3, 4},
                    .status = "running",
                    .state_hash = {},
                    .module_version = "w"}),
       R"({"key":null,"cause":[3,4],"route":"subscription","module":"m","status":"running","ordinal":2,)"
       R"("state_hash":null,"module_version":"w"})"},
      {step_failed_record({.module = "m",
                           .key = key,
                           .ordinal = 1,
                           .cause = {3, 4},
                           .route = Route::Continuation,
                           .code = "c",
                           .detail = "d"}),
       R"({"key":"YWs=","code":"c","cause":[3,4],"route":"continuation","detail":"d","module":"m","ordinal":1})"},
      {delivery_skipped_record({.module = "m", .cause = {3, 4}, .code = "c"}),
       R"({"key":null,"code":"c","cause":[3,4],"module":"m"})"},
      {cap_decision_record({.intent_hash = "i",
                            .effect_kind = "k",
                            .cap_name = "n",
                            .cap_type = "t",
                            .grant_hash = "g",
                            .enforcer_module = "e",
                            .allow = true,
                            .expiry_ns = 9,
                            .logical_now_ns = 8}),
       R"({"deny":null,"stage":"enqueue","cap_name":"n","cap_type":"t","decision":"allow","expiry_ns":9,)"
       R"("grant_hash":"g","effect_kind":"k","intent_hash":"i","logical_now_ns":8,"enforcer_module":"e"})"},
      {cap_decision_record({.intent_hash = "i",
                            .effect_kind = "k",
                            .cap_name = "n",
                            .cap_type = "t",
                            .grant_hash = "g",
                            .enforcer_module = "e",
                            .deny_code = "c",
                            .deny_message = "m"}),
       R"({"deny":{"code":"c","message":"m"},"stage":"enqueue","cap_name":"n","cap_type":"t","decision":"deny",)"
       R"("expiry_ns":null,"grant_hash":"g","effect_kind":"k","intent_hash":"i","logical_now_ns":0,"enforcer_module":"e"})"},
      {policy_decision_record({.intent_hash = "i", .policy_name = "p", .rule_index = 0}),
       R"({"decision":"deny","rule_index":0,"intent_hash":"i","policy_name":"p"})"},
      {policy_decision_record({.intent_hash = "i", .policy_name = "p", .allow = true}),
       R"({"decision":"allow","rule_index":null,"intent_hash":"i","policy_name":"p"})"},
      {effect_intent_record({.intent_hash = "i",
                             .kind = "k",
                             .cap_name = "c",
                             .params = "p",
                             .params_hash = "h",
                             .idempotency_key = "x",
                             .origin = {.kind = "workflow",
                                        .name = "n",
                                        .instance_key = key,
                                        .emitted_at_seq = 3,
                                        .ordinal = 1,
                                        .effect_index = 2}}),
       R"({"kind":"k","origin":{"kind":"workflow","name":"n","ordinal":1,"effect_index":2,"instance_key":"YWs=",)"
       R"("emitted_at_seq":3},"params":"cA==","cap_name":"c","intent_hash":"i","params_hash":"h",)"
       R"("requested_key":null,"idempotency_key":"eA=="})"},
      {effect_receipt_record({.intent_hash = "i",
                              .adapter_id = "a",
                              .status = "ok",
                              .payload = "p",
                              .payload_hash = "h",
                              .signature = "s",
                              .stamp = kStamp}),
       R"({"stamp":{"now_ns":5,"entropy":"RQ==","manifest_hash":"m","logical_now_ns":6},"status":"ok",)"
       R"("payload":"cA==","signature":"cw==","adapter_id":"a","cost_cents":null,"intent_hash":"i","payload_hash":"h"})"},
      {receipt_fault_record(
           {.intent_hash = "i", .code = "c", .delivered_rejected = true, .dropped = 2}),
       R"({"code":"c","dropped":2,"intent_hash":"i","workflow_failed":false,"delivered_rejected":true})"},
      {governance_record({.action = "applied",
                          .proposal_id = {},
                          .manifest_hash = "m",
                          .base = {},
                          .report = {}}),
       R"({"base":null,"action":"applied","report":null,"proposal_id":null,"manifest_hash":"m"})"},
      {instance_record({.module = "m", .key = key, .action = "retried", .stamp = kStamp}),
       R"({"key":"YWs=","stamp":{"now_ns":5,"entropy":"RQ==","manifest_hash":"m","logical_now_ns":6},)"
       R"("action":"retried","module":"m","dropped":0})"},
  };
  for (const Written& given : cases) {
    EXPECT_EQ(json_of(given.record), given.json);
    EXPECT_EQ(*cbor::canonical(given.record), given.record) << given.json;
  }
}

TEST(Records, KindsHaveNames) {
  for (uint8_t number = 0; number < 64; ++number) {
    const auto kind = static_cast<RecordKind>(number);
    const std::string_view name = record_kind_name(kind);
    EXPECT_EQ(parse_record_kind(name), name == "unknown" ? std::nullopt : std::optional(kind));
  }
  EXPECT_EQ(record_kind_name(RecordKind::LegacyPlanResult), "legacy_plan_result");
  EXPECT_TRUE(is_legacy(RecordKind::LegacyPlanStarted));
  EXPECT_FALSE(is_legacy(RecordKind::Instance));
  EXPECT_FALSE(parse_record_kind("plan_result"));
}

TEST(Records, TheirCauseIsRead) {
  EXPECT_EQ(cause_of(step_record({.cause = {300, 70000}})), (Cause{300, 70000}));
  EXPECT_EQ(cause_of(domain_event_record({})), Cause{});
  EXPECT_EQ(cause_of("broken"), Cause{});
}

// A flipped byte, or a frame in another's place, is found when the frame is read.
TEST(Frames, AreCheckedWhenTheyAreRead) {
  TestWorld world;
  world.post("t/Id@1", R"("x")");
  world.post("t/Id@1", R"("y")");
  const std::string good = *world.world().table().get(frame_key(2));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    EmptyTable empty;
    Overlay table(empty);
    table.put(frame_key(2), bad);
    try {
      const auto frame = World(table).frame(2);
      ASSERT_TRUE(frame);
      EXPECT_EQ(frame_checksum(2, *frame), frame_checksum(2, *world.world().frame(2)));
    } catch (const Unreadable& unreadable) {
      EXPECT_EQ(unreadable.error.code, ErrorCode::Corrupt);
    }
  }
  EmptyTable empty;
  Overlay table(empty);
  table.put(frame_key(3), good);
  EXPECT_THROW(World(table).frame(3), Unreadable);
}

}  // namespace
}  // namespace pawl::worlds
