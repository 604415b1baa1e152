#include "rehearse/worlds/world_suite.h"

#include <gtest/gtest.h>

#include "worlds/cbor.h"

namespace pawl::rehearse {
namespace {

// A native module in the place of code: counts its events, and sets a timer for each.
class CountingHost final : public worlds::ModuleHost {
 public:
  Result<std::vector<Complaint>> judge(std::string_view, worlds::Entry, uint32_t) override {
    return std::vector<Complaint>{};
  }
  worlds::ModuleCall call(std::string_view, worlds::LoadCode, worlds::Entry, std::string_view input,
                          const worlds::ModuleLimits&) override {
    worlds::ModuleCall done;
    const auto given = worlds::cbor::read(input);
    if (!given.ok()) return {.end = worlds::CallEnd::Trap};
    uint64_t count = forgetful ? ++calls_ : 1;
    if (const auto* state = given->find("state");
        !forgetful && state != nullptr && !state->string.empty()) {
      const std::string bytes(state->string);
      const auto before = worlds::cbor::read(bytes);
      count += before->find("count")->number;
    }
    std::string state, params, effect;
    {
      worlds::cbor::Map map(state);
      map.nat("count", count).end();
    }
    {
      worlds::cbor::Map map(params);
      map.nat("deliver_at_ns", 5'000).null("key").end();
    }
    {
      worlds::cbor::Map map(effect);
      map.text("kind", "timer.set").bytes("params_cbor", params).end();
    }
    worlds::cbor::Map map(done.output);
    map.bytes("state", state);
    if (count == 1) map.raw("effects", "\x81" + effect);
    map.end();
    done.fuel = 7;
    return done;
  }

  bool forgetful = false;  // its results depend on what is not in its input

 private:
  uint64_t calls_ = 0;
};

constexpr std::string_view kCountingProgram = R"({
  "manifest":{"air_version":"1","routing":{"subscriptions":[{"event":"a/Add@1","module":"a/m@1"}]},
    "defaults":{"cap_grants":[{"name":"t","cap":"sys/Timer@1","params":{}}]}},
  "nodes":[
    {"$kind":"defschema","name":"a/Add@1","type":{"record":{"by":{"nat":{}}}}},
    {"$kind":"defschema","name":"a/In@1","type":{"variant":{"Add":{"ref":"a/Add@1"},
      "Receipt":{"ref":"sys/EffectReceiptEnvelope@1"}}}},
    {"$kind":"defschema","name":"a/Count@1","type":{"record":{"count":{"nat":{}}}}},
    {"$kind":"defmodule","name":"a/m@1","module_kind":"workflow","wasm_b64":"YQ==","abi":{"workflow":
      {"state":"a/Count@1","event":"a/In@1","effects_emitted":["timer.set"]}}}]})";

// "passed", or the complaints.
std::string verdict(std::string_view script, bool forgetful = false) {
  const auto read = read_world_test_file("worlds:\n- now: 1000\n  script:\n" + std::string(script));
  if (!read.valid()) return "invalid: " + read.errors[0].path + " " + read.errors[0].message;
  CountingHost host;
  host.forgetful = forgetful;
  const WorldSuite suite{host, std::string(kCountingProgram)};
  const CaseResult result = run_script_case(suite, read.file.worlds[0]);
  if (result.passed) return "passed";
  std::string text;
  for (const std::string& problem : result.run.problems) text += problem + "\n";
  for (const Difference& one : result.differences)
    text += one.path + ": wanted " + one.wanted + ", got " + one.got + "\n";
  return text;
}

TEST(WorldSuite, TimersFireWhenTheScriptMovesTheClock) {
  EXPECT_EQ(
      verdict(
          "  - event: {schema: a/Add@1, value: {by: 1}}\n"
          "  - expect: {instances: [{status: waiting, state: {count: 1}, inflight: [timer.set]}]}\n"
          "  - clock: 4999\n"
          "  - expect: {effects: [{kind: timer.set, params: {deliver_at_ns: 5000, key: null}}]}\n"
          "  - clock: 5000\n"
          "  - expect: {effects: [], instances: [{status: running, state: {count: 2}}],"
          " journal: [effect_receipt, step]}\n"),
      "passed");
}

TEST(WorldSuite, ADifferenceIsNamedByItsPlace) {
  EXPECT_EQ(verdict("  - event: {schema: a/Add@1, value: {by: 1}}\n"
                    "  - expect: {instances: [{state: {count: 3}}], effects: []}\n"),
            "worlds[0].script[1].expect.instances[0].state.count: wanted 3, got 1\n"
            "worlds[0].script[1].expect.effects[0]: wanted nothing, got "
            "{\"kind\":\"timer.set\",\"module\":\"a/m@1\",\"key\":null,\"params\":"
            "{\"key\":null,\"deliver_at_ns\":5000},\"cap_name\":\"t\"}\n");
}

TEST(WorldSuite, ARefusalMustBeExpectedAndAnExpectedOneMustCome) {
  const std::string bad = "  - event: {schema: a/Add@1, value: {by: -1}}\n";
  EXPECT_EQ(verdict(bad + "    refused: event.invalid\n"), "passed");
  EXPECT_EQ(verdict(bad).substr(0, 34), "worlds[0].script[0]: event.invalid");
  EXPECT_EQ(verdict("  - event: {schema: a/Add@1, value: {by: 1}}\n    refused: event.invalid\n"),
            "worlds[0].script[0]: wanted refused: event.invalid, got it was not refused\n");
}

TEST(WorldSuite, AReceiptWithoutAnOpenEffectSaysWhatIsOpen) {
  EXPECT_EQ(verdict("  - event: {schema: a/Add@1, value: {by: 1}}\n"
                    "  - receipt: {of: mail.send, status: ok}\n"),
            "worlds[0].script[1]: not_found: no open effect fits this receipt; open: timer.set "
            "{\"key\":null,\"deliver_at_ns\":5000}\n");
}

TEST(WorldSuite, AWorldThatDoesNotReplayFails) {
  const std::string events = "  - event: {schema: a/Add@1, value: {by: 1}}\n";
  EXPECT_EQ(verdict(events), "passed");
  EXPECT_NE(verdict(events, true).find("replay.divergence"), std::string::npos)
      << verdict(events, true);
}

TEST(WorldSuite, FaultsOfTheProgramAreToldBeforeAnyCase) {
  CountingHost host;
  EXPECT_EQ(program_faults({host, std::string(kCountingProgram)}), std::vector<Complaint>{});
  std::string faulty(kCountingProgram);
  faulty.replace(faulty.find("a/m@1"), 5, "a/n@1");
  const auto faults = program_faults({host, faulty});
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].path, "/manifest/routing/subscriptions/0/module");
  EXPECT_EQ(faults[0].code, "ref.unknown");
}

TEST(WorldSuite, ARefusedStepSaysWhichMemberIsWrong) {
  CountingHost host;
  const WorldSuite suite{host, std::string(kCountingProgram)};
  const auto read = read_world_test_file(
      "steps:\n- module: a/none@1\n  event: {schema: a/Add@1, value: {by: 1}}\n  expect: {}\n");
  ASSERT_TRUE(read.valid());
  EXPECT_EQ(run_step_case(suite, read.file.steps[0]).run.problems,
            std::vector<std::string>{"validation_error: /module: is no module of the manifest"});
}

TEST(WorldSuite, AStepIsComparedWithItsGoldenResult) {
  CountingHost host;
  const WorldSuite suite{host, std::string(kCountingProgram)};
  const auto read = read_world_test_file(
      "steps:\n- module: a/m@1\n  state: {count: 4}\n  event: {schema: a/Add@1, value: {by: 1}}\n"
      "  expect: {state: {count: 5}, effects: [], status: running}\n"
      "- module: a/m@1\n  event: {schema: a/Add@1, value: {by: 1}}\n  expect: {failed: "
      "step.trap}\n");
  ASSERT_TRUE(read.valid());
  EXPECT_TRUE(run_step_case(suite, read.file.steps[0]).passed);
  const CaseResult other = run_step_case(suite, read.file.steps[1]);
  ASSERT_EQ(other.differences.size(), 1u);
  EXPECT_EQ(other.differences[0], (Difference{"failed", "\"step.trap\"", "nothing"}));
}

}  // namespace
}  // namespace pawl::rehearse
