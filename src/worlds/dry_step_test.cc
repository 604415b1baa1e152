// Steps on what a client gives, of which nothing is kept.
#include <gtest/gtest.h>

#include "worlds/cbor.h"
#include "worlds/hash.h"
#include "worlds/reading.h"
#include "worlds/testing/busy_world.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

std::string dry(BusyWorld& world, std::string_view body) {
  const auto before = world.items();
  const auto doc = json::parse(body);
  EXPECT_TRUE(doc.ok()) << body;
  const auto reply = step_test(world.program(), world.world(), world.host, doc->root());
  EXPECT_EQ(world.items(), before);
  if (reply.ok()) return *reply;
  std::string line = "refused " + std::string(wire_code(reply.error()));
  for (const Complaint& complaint : reply.error().complaints) line += " " + complaint.path;
  return line;
}

TEST(StepTest, GivesStateEventsAndEffects) {
  BusyWorld world;
  const std::string state = log_state({"old", "Start2"});
  const std::string two = cbor_text(R"({"n":2})"), three = cbor_text(R"({"n":3})");
  EXPECT_EQ(dry(world, R"({"module":"t/flow@1","state":{"log":["old"]},
                          "event":{"schema":"t/Start@1","value":{"n":2,"id":"a"}}})"),
            "{\"state\":{\"log\":[\"old\",\"Start2\"]},\"state_b64\":\"" + base64(state) +
                "\",\"status\":\"running\",\"error\":null,\"domain_events\":[],\"effects\":["
                "{\"kind\":\"work.do\",\"params\":{\"n\":2},\"params_b64\":\"" +
                base64(two) + "\",\"params_hash\":\"" + hash_of_bytes(two) +
                "\",\"cap_slot\":\"work\",\"idempotency_key\":null},"
                "{\"kind\":\"safe.do\",\"params\":{\"n\":3},\"params_b64\":\"" +
                base64(three) + "\",\"params_hash\":\"" + hash_of_bytes(three) +
                "\",\"cap_slot\":\"safe\",\"idempotency_key\":null}],\"ann_b64\":null,"
                "\"fuel\":100}");
}

// As all bytes in JSON.
TEST(StepTest, AKeyOfTheModuleIsShownInBase64) {
  BusyWorld world;
  const std::string key(32, 'k');
  world.host.set("flow", [&](std::string_view) {
    return StepSaid()
        .state(log_state({}))
        .effect("work.do", cbor_text(R"({"n":1})"), "work", key)
        .call();
  });
  const std::string json = dry(
      world, R"({"module":"t/flow@1","event":{"schema":"t/Start@1","value":{"id":"a","n":1}}})");
  EXPECT_NE(json.find("\"idempotency_key\":\"" + base64(key) + "\""), std::string::npos) << json;
}

TEST(StepTest, EventsOfAStep) {
  BusyWorld world;
  const std::string json = dry(world, R"({"module":"t/flow@1",
    "event":{"schema":"t/FlowEvent@1","value":{"Start":{"n":3,"id":"a"}},"key":"a"}})");
  EXPECT_NE(json.find("\"domain_events\":[{\"schema\":\"t/Note@1\",\"value\":{\"text\":\"a\"},"
                      "\"value_b64\":\"" +
                      base64(cbor_text(R"({"text":"a"})")) + "\",\"key\":null}]"),
            std::string::npos)
      << json;
}

TEST(StepTest, HowAStepEnds) {
  BusyWorld world;
  const auto start = [&](int n) {
    return dry(world,
               R"({"module":"t/flow@1","event":{"schema":"t/Start@1","value":{"id":"a","n":)" +
                   std::to_string(n) + "}}}");
  };
  EXPECT_NE(start(4).find("\"status\":\"completed\",\"error\":null"), std::string::npos);
  EXPECT_TRUE(start(9).starts_with("{\"state\":null,\"state_b64\":null,\"status\":\"completed\""));
  EXPECT_NE(start(5).find("\"status\":\"failed\",\"error\":\"it was told to\""), std::string::npos);
  EXPECT_TRUE(start(6).starts_with("{\"failed\":{\"code\":\"step.trap\",\"detail\":"));
  EXPECT_TRUE(start(6).ends_with(",\"fuel\":7}"));
  EXPECT_TRUE(start(8).starts_with("{\"failed\":{\"code\":\"step.undeclared_effect\""));
}

// Caps and policies are not asked; params and the allowlist are.
TEST(StepTest, LooksAtNoCap) {
  BusyWorld world(
      WorldText().with(R"("slots":{"work":"cap_work","safe":"cap_safe"})", R"("slots":{})"));
  const std::string json = dry(world, R"({"module":"t/flow@1",
    "event":{"schema":"t/Start@1","value":{"id":"a","n":1}}})");
  EXPECT_NE(json.find("\"kind\":\"work.do\""), std::string::npos) << json;
  world.host.set("flow", [](std::string_view) {
    return StepSaid().state(log_state({})).effect("work.do", cbor_text(R"({"x":1})")).call();
  });
  EXPECT_TRUE(dry(world, R"({"module":"t/flow@1","event":{"schema":"t/Start@1",
    "value":{"id":"a","n":1}}})")
                  .starts_with("{\"failed\":{\"code\":\"effect.invalid_params\""));
}

// What a live step is given, byte for byte, when the same is given.
TEST(StepTest, SeesWhatALiveStepSees) {
  BusyWorld world;
  std::vector<std::string> inputs;
  world.host.set("flow", [&](std::string_view input) {
    inputs.emplace_back(input);
    return StepSaid().state(log_state({"x"})).call();
  });
  world.start("a", 1);
  const std::string stamp = world.record(0);
  const std::string context = R"("ctx":{"now_ns":)" + in_record(stamp, "stamp.now_ns") +
                              R"(,"logical_now_ns":)" + in_record(stamp, "stamp.logical_now_ns") +
                              R"(,"journal_height":2,"entropy_b64":)" +
                              in_record(stamp, "stamp.entropy") + "}";
  dry(world, R"({"module":"t/flow@1","event":{"schema":"t/Start@1","value":{"id":"a","n":1}},)" +
                 context + "}");
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0], inputs[1]);

  world.post("t/Start@1", R"({"id":"a","n":1})", "\"a\"");
  dry(world, R"({"module":"t/flow@1","event":{"schema":"t/Start@1","value_b64":")" +
                 base64(cbor_text(R"({"id":"a","n":1})")) + R"(","key":"a"},"state_b64":")" +
                 base64(log_state({"x"})) + R"("})");
  ASSERT_EQ(inputs.size(), 4u);
  EXPECT_EQ(in_record(string_of(member_of(inputs[2], "ctx")), "event_hash"),
            in_record(string_of(member_of(inputs[3], "ctx")), "event_hash"));
  EXPECT_EQ(member_of(inputs[2], "state"), member_of(inputs[3], "state"));
}

TEST(StepTest, ModulesWithoutAKeyAndContinuations) {
  BusyWorld world;
  EXPECT_TRUE(
      dry(world, R"({"module":"t/deaf@1","event":{"schema":"t/Note@1","value":{"text":"x"}}})")
          .starts_with("{\"state\":{\"log\":[\"event\"]}"));
  const std::string hash = "sha256:" + std::string(64, '0');
  EXPECT_TRUE(dry(world, R"({"module":"t/flow@1","event":{"schema":"sys/EffectDenied@1","key":"a",
    "value":{"origin_module_id":"t/flow@1","origin_instance_key":null,"effect_kind":"work.do",
    "params_hash":")" + hash +
                             R"(","effect_index":0,"stage":"cap","code":"c","message":"m",
    "emitted_at_seq":1}}})")
                  .starts_with("{\"state\":{\"log\":[\"Denied\"]}"));
}

TEST(StepTest, PureModules) {
  BusyWorld world;
  const std::string zeros = "sha256:" + std::string(64, '0');
  const std::string input = R"({"module":"t/guard@1","input":{"cap_def":"t/Safe@1",
    "grant_name":"g","cap_params":"","effect_kind":"safe.do","effect_params":"",
    "origin":{"kind":"workflow","name":"t/flow@1"},"logical_now_ns":1}})";
  const std::string check = [] {
    std::string out;
    cbor::Map(out).boolean("constraints_ok", true).null("deny").end();
    return out;
  }();
  EXPECT_EQ(dry(world, input),
            "{\"output\":{\"deny\":null,\"constraints_ok\":true},\"output_b64\":\"" +
                base64(check) + "\",\"fuel\":10}");
  const std::pair<ModuleCall, std::string> ends[] = {
      {{.end = CallEnd::Trap}, "pure.trap"},
      {{.end = CallEnd::FuelExceeded}, "pure.fuel_exceeded"},
      {{.end = CallEnd::BadOutput}, "pure.output_invalid"},
      {{.end = CallEnd::OutputLimit}, "pure.output_invalid"},
      {{.end = CallEnd::Returned, .output = "\xff"}, "pure.output_invalid"},
      // Bytes of a workflow's output.
      {StepSaid().state(log_state({})).effect("work.do", "x").call(), "pure.output_invalid"}};
  for (const auto& [call, code] : ends) {
    world.host.set("guard", [&](std::string_view) { return call; });
    EXPECT_TRUE(dry(world, input).starts_with("{\"failed\":{\"code\":\"" + code + "\"")) << code;
  }
}

TEST(StepTest, BodiesThatAreRefused) {
  BusyWorld world;
  const std::pair<std::string, std::string> cases[] = {
      {"[]", "/"},
      {"{}", "/module"},
      {R"({"module":"t/none@1"})", "/module"},
      {R"({"module":"t/flow@1"})", "/event"},
      {R"({"module":"t/flow@1","events":[]})", "/events"},
      {R"({"module":"t/flow@1","event":{"schema":"t/Note@1","value":{"text":"x"}}})",
       "/event/schema"},
      {R"({"module":"t/flow@1","event":{"schema":"t/Start@1","value":{"id":"a"}}})",
       "/event/value"},
      {R"({"module":"t/flow@1","event":{"schema":"t/Start@1"}})", "/event/value"},
      {R"({"module":"t/flow@1","event":{"schema":"t/Start@1","value":{"id":"a","n":1},"value_b64":""}})",
       "/event/value"},
      {R"({"module":"t/flow@1","event":{"schema":"t/Start@1","value_b64":"/w=="}})",
       "/event/value_b64"},
      {R"({"module":"t/flow@1","event":{"schema":"t/Start@1","value_b64":"!"}})",
       "/event/value_b64"},
      {R"({"module":"t/flow@1","event":{"schema":"t/Start@1","value":{"id":"a","n":1},"key":1}})",
       "/event/key"},
      {R"({"module":"t/flow@1","event":{"schema":"t/FlowEvent@1","value":{"Start":{"id":"a","n":1}}}})",
       "/event/key"},
      {R"({"module":"t/deaf@1","event":{"schema":"t/Note@1","value":{"text":"x"},"key":"a"}})",
       "/event/key"},
      {R"({"module":"t/deaf@1","state":{"log":1},"event":{"schema":"t/Note@1","value":{"text":"x"}}})",
       "/state"},
      {R"({"module":"t/deaf@1","event":{"schema":"t/Note@1","value":{"text":"x"}},"ctx":{"now":1}})",
       "/ctx/now"},
      {R"({"module":"t/deaf@1","event":{"schema":"t/Note@1","value":{"text":"x"}},"ctx":{"now_ns":-1}})",
       "/ctx/now_ns"},
      {R"({"module":"t/deaf@1","event":{"schema":"t/Note@1","value":{"text":"x"}},
          "ctx":{"entropy_b64":"AAAA"}})",
       "/ctx/entropy_b64"},
      {R"({"module":"t/guard@1"})", "/input"},
      {R"({"module":"t/guard@1","input":{}})", "/input"},
      {R"({"module":"t/guard@1","state":{}})", "/state"},
  };
  for (const auto& [body, path] : cases)
    EXPECT_EQ(dry(world, body), "refused validation_error " + path) << body;
  world.host.available = false;
  EXPECT_EQ(
      dry(world, R"({"module":"t/deaf@1","event":{"schema":"t/Note@1","value":{"text":"x"}}})"),
      "refused worlds.no_runtime");
}

// The key finds the instance; the event of a continuation has none.
TEST(StepTest, SeesWhatALiveContinuationSees) {
  BusyWorld world;
  std::vector<std::string> inputs;
  world.host.set("flow", [&](std::string_view input) {
    inputs.emplace_back(input);
    StepSaid said = StepSaid().state(log_state({"x"}));
    if (inputs.size() == 1) said.effect("work.do", cbor_text(R"({"n":1})"));
    return said.call();
  });
  world.start("a", 1);
  ASSERT_EQ(world.opened.size(), 1u);
  world.receipt(world.opened.at(0), "ok", R"({"text":"done"})");
  ASSERT_EQ(inputs.size(), 2u);
  const std::string event(string_of(member_of(member_of(inputs[1], "event"), "value")));
  dry(world, R"({"module":"t/flow@1","event":{"schema":"sys/EffectReceiptEnvelope@1","key":"a",
                 "value_b64":")" +
                 base64(member_of(event, "$value")) + R"("},"state_b64":")" +
                 base64(log_state({"x"})) + R"("})");
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(in_record(string_of(member_of(inputs[2], "ctx")), "event_hash"),
            in_record(string_of(member_of(inputs[1], "ctx")), "event_hash"));
}

}  // namespace
}  // namespace pawl::worlds
