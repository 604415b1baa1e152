// Effects of steps and of operators, from the module's word to the open intent.
#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "worlds/hash.h"
#include "worlds/intent.h"
#include "worlds/step_io.h"
#include "worlds/testing/test_world.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kAllowed =
    R"(domain_event Start | step flow["a"] #0 <0 waiting | cap_decision cap_work allow | )"
    R"(policy_decision allow_all null allow | effect_intent work.do cap_work)";

WorldText with_policy(std::string_view rules) {
  WorldText text;
  text.with(R"("defaults":{)", R"("defaults":{"policy":"t/Policy@1",)");
  text.nodes.push_back(R"({"$kind":"defpolicy","name":"t/Policy@1","rules":)" + std::string(rules) +
                       "}");
  return text;
}

TEST(Effects, AnAllowedOneBecomesAnOpenIntent) {
  TestWorld world;
  world.host.set("flow",
                 saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(1), "work"); }));
  EXPECT_EQ(world.post("t/Start@1", kStartA), kAllowed);
  EXPECT_EQ(world.instance(kFlow, kKeyA), "waiting Start");
  EXPECT_EQ(world.opened, world.open());
  ASSERT_EQ(world.opened.size(), 1u);
  const auto instance = world.world().instance(kFlow, cbor_text("\"a\""));
  ASSERT_EQ(instance->inflight.size(), 1u);
  EXPECT_EQ(instance->inflight[0].hash, world.opened[0]);
  EXPECT_EQ(instance->inflight[0].kind, "work.do");
  EXPECT_EQ(instance->inflight[0].params_hash, hash_of_bytes(work_params(1)));
  EXPECT_EQ(instance->inflight[0].seq, 2u);
  EXPECT_EQ(world.world().head().totals.open_intents, 1u);
  EXPECT_EQ(world.world().head().totals.workflow_intents, 1u);
}

// R-3.1.1, R-3.2.2: the record, recomputed from the contract.
TEST(Effects, TheIntentsIdentityFollowsFromItsRecord) {
  TestWorld world;
  const std::string requested(32, 'r');
  world.host.set("flow", saying_at_first([&](StepSaid& s) {
                   s.effect("work.do", work_params(1), "work")
                       .effect("work.do", "\xbf\x61n\x02\xff", "work", std::string_view(requested));
                 }));
  world.post("t/Start@1", kStartA);
  // Indefinite lengths are no params.
  EXPECT_EQ(world.instance(kFlow, kKeyA), "failed effect.invalid_params without state");
  world.host.set("flow", saying_at_first([&](StepSaid& s) {
                   s.effect("work.do", work_params(1), "work")
                       .effect("work.do", std::string("\xa1\x61n\x18\x02", 5), "work",
                               std::string_view(requested));
                 }));
  world.post("t/Start@1", R"({"id":"b","n":1})");
  ASSERT_EQ(world.records_of("effect_intent"), "2");
  const std::string record = world.record(7);
  EXPECT_EQ(string_of(member_of(record, "params")), work_params(2));
  EXPECT_EQ(in_record(record, "params_hash"), hash_of_bytes(work_params(2)));
  EXPECT_EQ(string_of(member_of(record, "requested_key")), requested);
  EXPECT_EQ(in_record(record, "cap_name"), "cap_work");
  EXPECT_EQ(in_record(record, "origin.kind"), "workflow");
  EXPECT_EQ(in_record(record, "origin.name"), kFlow);
  EXPECT_EQ(in_record(record, "origin.emitted_at_seq"), "3");
  EXPECT_EQ(in_record(record, "origin.ordinal"), "0");
  EXPECT_EQ(in_record(record, "origin.effect_index"), "1");
  const std::string key = cbor_text("\"b\"");
  EXPECT_EQ(string_of(member_of(member_of(record, "origin"), "instance_key")), key);
  const std::string canonical = work_params(2);
  const std::string identity = idempotency_key({.origin_kind = "workflow",
                                                .origin_name = kFlow,
                                                .instance_key = std::string_view(key),
                                                .effect_kind = "work.do",
                                                .params = canonical,
                                                .requested_key = std::string_view(requested),
                                                .seq = 3,
                                                .ordinal = 0,
                                                .effect_index = 1});
  EXPECT_EQ(string_of(member_of(record, "idempotency_key")), identity);
  EXPECT_EQ(in_record(record, "intent_hash"),
            intent_hash("work.do", canonical, "cap_work", identity));
  EXPECT_EQ(world.world().intent(world.opened[1])->record, record);
}

// R-3.1.5, R-3.3.2
TEST(Effects, EqualOnesOfAStepAreIntentsOfTheirOwn) {
  TestWorld world;
  world.host.set("flow", saying_at_first([](StepSaid& s) {
                   for (int i = 0; i < 64; ++i) s.effect("work.do", work_params(1), "work");
                 }));
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.opened.size(), 64u);
  EXPECT_EQ(std::set<std::string>(world.opened.begin(), world.opened.end()).size(), 64u);
  EXPECT_EQ(world.open(), world.opened);
  EXPECT_EQ(in_record(world.record(4 + 3 * 40), "origin.effect_index"), "40");
}

struct Excess {
  std::string_view name;
  std::function<void(StepSaid&)> say;
};

TEST(Effects, TooMuchOutputFailsTheStep) {
  const Excess cases[] = {
      {"effects",
       [](StepSaid& s) {
         for (int i = 0; i < 65; ++i) s.effect("work.do", work_params(1), "work");
       }},
      {"events",
       [](StepSaid& s) {
         for (int i = 0; i < 257; ++i) s.event("t/Id@1", cbor_text("\"x\""));
       }},
      {"state", [](StepSaid& s) { s.state(log_state({std::string(1 << 20, 'x')})); }},
      {"annotations", [](StepSaid& s) { s.annotations(std::string(1 << 20, 'x')); }},
      {"values",
       [](StepSaid& s) {
         for (int i = 0; i < 2; ++i)
           s.event("t/Id@1", cbor_text("\"" + std::string(600'000, 'x') + "\""));
       }},
  };
  for (const Excess& excess : cases) {
    TestWorld world;
    world.host.set("flow", saying_at_first(excess.say));
    EXPECT_EQ(world.post("t/Start@1", kStartA),
              R"(domain_event Start | step_failed flow["a"] #0 <0 step.output_limit)")
        << excess.name;
    EXPECT_TRUE(world.open().empty());
  }
  TestWorld world;
  world.host.set("flow", saying_at_first([](StepSaid& s) {
                   for (int i = 0; i < 256; ++i) s.event("t/Id@1", cbor_text("\"x\""));
                 }));
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.records_of("domain_event"), "257");
}

// R-3.1.4: an undeclared kind is refused before anybody asks for its cap or the policy.
TEST(Effects, AnUndeclaredKindIsRefusedBeforeAnyDecision) {
  const WorldText text = with_policy("[]").with(
      R"("effects_emitted":["work.do","safe.do","timer.set","http.request"])",
      R"("effects_emitted":["timer.set"])");
  TestWorld world(text);
  world.host.set("flow",
                 saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(1), "none"); }));
  EXPECT_EQ(world.post("t/Start@1", kStartA),
            R"(domain_event Start | step_failed flow["a"] #0 <0 step.undeclared_effect)");
}

// R-3.1.3: without a list nothing is declared.
TEST(Effects, AModuleWithoutAListEmitsNothing) {
  TestWorld world(WorldText().with(R"("event":"t/Note@1","effects_emitted":["work.do"])",
                                   R"("event":"t/Note@1")"));
  for (const std::string_view name : {"plain", "deaf"})
    world.host.set(name, saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(1)); }));
  EXPECT_EQ(world.post("t/Note@1", R"({"text":"x"})"),
            "domain_event Note | step plain #0 <0 waiting | cap_decision cap_work allow | "
            "policy_decision allow_all null allow | effect_intent work.do cap_work | "
            "step_failed deaf #1 <0 step.undeclared_effect");
}

// R-5.6
TEST(Effects, TheDefaultSlotIsTheOnlyGrantOfTheType) {
  auto emit = [](TestWorld& world) {
    world.host.set("flow",
                   saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(1)); }));
    return world.post("t/Start@1", kStartA);
  };
  TestWorld one;
  EXPECT_EQ(emit(one), kAllowed);
  WorldText text;
  text.with(R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10}},)",
            R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10}},
               {"name":"cap_more","cap":"t/Work@1","params":{"max":20}},)");
  TestWorld two(text);
  EXPECT_EQ(emit(two), R"(domain_event Start | step_failed flow["a"] #0 <0 cap.missing_binding)");
  text.with(R"("cap_slots":{"work":"work",)", R"("cap_slots":{"default":"work","work":"work",)")
      .with(R"("slots":{"work":"cap_work",)",
            R"("slots":{"default":"cap_more","work":"cap_work",)");
  TestWorld bound(text);
  EXPECT_NE(emit(bound).find("effect_intent work.do cap_more"), std::string::npos);
}

// --- denials

struct Denied {
  std::string_view name;
  WorldText text;
  std::function<void(StepSaid&)> say;
  std::string_view decisions;  // of the journal
  std::string_view code;       // in the denial
};

std::vector<Denied> denials() {
  auto work = [](StepSaid& s) { s.effect("work.do", work_params(1), "work"); };
  auto http = [](std::string_view url, std::string_view headers) {
    return [json = R"({"method":"GET","url":")" + std::string(url) + R"(","headers":)" +
                   std::string(headers) + R"(,"body":null,"timeout_ms":null})"](StepSaid& s) {
      s.effect("http.request", cbor_text(json));
    };
  };
  constexpr std::string_view kSecret =
      R"({"auth":{"$tag":"secret","$value":{"alias":"key","version":1}}})";
  auto with_secret = [](std::string_view caps) {
    WorldText text;
    text.nodes.push_back(R"({"$kind":"defsecret","name":"key@1","binding_id":"K","allowed_caps":)" +
                         std::string(caps) + "}");
    return text;
  };
  return {
      {"another cap type", WorldText(),
       [](StepSaid& s) { s.effect("work.do", work_params(1), "safe"); },
       "cap_decision cap_safe deny cap_type_mismatch", "cap_type_mismatch"},
      {"constraint", WorldText(), http("https://b.test/", "null"),
       "cap_decision cap_http deny constraint", "constraint"},
      {"expired",
       WorldText().with(
           R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10}})",
           R"({"name":"cap_work","cap":"t/Work@1","params":{"max":10},"expiry_ns":1700000000000000000})"),
       work, "cap_decision cap_work deny expired", "expired"},
      {"unknown secret", WorldText(), http("https://a.test/", kSecret),
       "cap_decision cap_http deny secret_not_allowed", "secret_not_allowed"},
      {"secret of another cap", with_secret(R"(["cap_work"])"), http("https://a.test/", kSecret),
       "cap_decision cap_http deny secret_not_allowed", "secret_not_allowed"},
      {"no rule matches", with_policy("[]"), work,
       "cap_decision cap_work allow | policy_decision Policy null deny", "policy.denied"},
      {"a rule denies", with_policy(R"([{"when":{"effect_kind":"other.do"},"decision":"allow"},
                       {"when":{"cap_name":"cap_work"},"decision":"deny"},
                       {"when":{},"decision":"allow"}])"),
       work, "cap_decision cap_work allow | policy_decision Policy 1 deny", "policy.denied"},
  };
}

// With an arm for it the module hears of the denial, and its step is kept without the intent.
TEST(Effects, ADenialIsDeliveredToAModuleThatHearsIt) {
  for (const Denied& denied : denials()) {
    TestWorld world(denied.text);
    std::string value;
    const auto listen = saying_at_first([&](StepSaid& s) {
      denied.say(s);
      s.event("t/Id@1", cbor_text("\"behind\""));
    });
    world.host.set("flow", [&](std::string_view input) {
      const StepSeen seen(input);
      if (seen.arm == "Denied") value = seen.arm_value;
      return listen(input);
    });
    const std::string frame = world.post("t/Start@1", kStartA);
    const std::string decided =
        std::to_string(denied.decisions.find("policy") == std::string::npos ? 2 : 3);
    const std::string emitted =
        std::to_string(denied.decisions.find("policy") == std::string::npos ? 3 : 4);
    EXPECT_EQ(frame, R"(domain_event Start | step flow["a"] #0 <0 running | )" +
                         std::string(denied.decisions) +
                         R"( | domain_event Id <1 | step flow["a"] #1 <)" + decided +
                         " continuation running")
        << denied.name << emitted;
    EXPECT_EQ(world.instance(kFlow, kKeyA), "running Start Denied") << denied.name;
    EXPECT_EQ(in_record(value, "code"), denied.code);
    EXPECT_EQ(in_record(value, "stage"), denied.code == "policy.denied" ? "policy" : "cap");
    EXPECT_EQ(in_record(value, "origin_module_id"), kFlow);
    EXPECT_EQ(in_record(value, "effect_index"), "0");
    EXPECT_EQ(in_record(value, "emitted_at_seq"), "2");
    EXPECT_EQ(string_of(member_of(value, "origin_instance_key")), cbor_text("\"a\""));
    EXPECT_EQ(*from_cbor(*world.program().types.find("sys/EffectDenied@1"), value), value);
    EXPECT_TRUE(world.open().empty());
  }
}

// Without one the step fails; of it only the decisions stay, in front of the record that it failed.
TEST(Effects, ADenialFailsTheStepOfAModuleThatDoesNotHearIt) {
  for (Denied& denied : denials()) {
    TestWorld world(denied.text.with(R"(,
  "Denied":{"ref":"sys/EffectDenied@1"})",
                                     ""));
    world.host.set("flow", saying_at_first([&](StepSaid& s) {
                     s.effect("timer.set", cbor_text(R"({"deliver_at_ns":5,"key":null})"));
                     denied.say(s);
                     s.event("t/Id@1", cbor_text("\"never\""));
                   }));
    const std::string stage = denied.code == "policy.denied" ? "policy" : "cap";
    // The timer is denied first by a policy that allows nothing.
    const bool timer = denied.name == "no rule matches";
    const std::string decisions =
        timer ? "cap_decision cap_timer allow | policy_decision Policy null deny"
              : std::string(denied.decisions);
    EXPECT_EQ(world.post("t/Start@1", kStartA), "domain_event Start | " + decisions +
                                                    R"( | step_failed flow["a"] #0 <0 )" + stage +
                                                    ".denied")
        << denied.name;
    EXPECT_EQ(world.instance(kFlow, kKeyA), "failed " + stage + ".denied without state");
    EXPECT_TRUE(world.open().empty());
    EXPECT_EQ(world.world().head().totals.intents, 0u);
  }
}

TEST(Effects, ASecretThatTheGrantMayUsePasses) {
  for (const std::string_view caps : {R"(["cap_http"])", "[]"}) {
    WorldText text;
    text.nodes.push_back(R"({"$kind":"defsecret","name":"key@1","binding_id":"K","allowed_caps":)" +
                         std::string(caps) + "}");
    TestWorld world(text);
    world.host.set("flow", saying_at_first([](StepSaid& s) {
                     s.effect("http.request",
                              cbor_text(
                                  R"({"method":"GET","url":"https://a.test/","headers":{"auth":
                                     {"$tag":"secret","$value":{"alias":"key","version":1}}},"body":null,"timeout_ms":null})"));
                   }));
    EXPECT_NE(world.post("t/Start@1", kStartA).find("effect_intent http.request"),
              std::string::npos);
  }
}

// A denied effect among others: those stay, and the denial comes before what the step emitted is
// delivered.
TEST(Effects, OnlyTheDeniedOneIsLeftOut) {
  TestWorld world;
  world.host.set("flow", saying_at_first([](StepSaid& s) {
                   s.effect("work.do", work_params(1), "safe")
                       .effect("work.do", work_params(2), "work")
                       .event("t/Poke@1", cbor_text(R"({"id":"a"})"));
                 }));
  EXPECT_EQ(
      world.post("t/Start@1", kStartA),
      R"(domain_event Start | step flow["a"] #0 <0 waiting | cap_decision cap_safe deny cap_type_mismatch | )"
      R"(cap_decision cap_work allow | policy_decision allow_all null allow | effect_intent work.do cap_work | )"
      R"(domain_event Poke <1 | step flow["a"] #1 <2 continuation waiting | step flow["a"] #2 <6 waiting)");
  EXPECT_EQ(world.instance(kFlow, kKeyA), "waiting Start Denied Poke");
  EXPECT_EQ(in_record(world.record(5), "origin.effect_index"), "1");
  const Totals& totals = world.world().head().totals;
  EXPECT_EQ(totals.cap_allow, 1u);
  EXPECT_EQ(totals.cap_deny, 1u);
  EXPECT_EQ(totals.policy_allow, 1u);
}

TEST(Effects, DecisionsAreJournaledWithAllTheirMembers) {
  TestWorld world;
  world.host.set(
      "flow", saying_at_first([](StepSaid& s) {
        s.effect("work.do", work_params(1), "safe").effect("work.do", work_params(1), "work");
      }));
  world.post("t/Start@1", kStartA);
  const Program& program = world.program();
  const std::string denied = world.record(2), allowed = world.record(3);
  EXPECT_EQ(in_record(denied, "stage"), "enqueue");
  EXPECT_EQ(in_record(denied, "effect_kind"), "work.do");
  EXPECT_EQ(in_record(denied, "cap_type"), "work");
  EXPECT_EQ(in_record(denied, "grant_hash"), program.grants.at("cap_safe").hash);
  EXPECT_EQ(in_record(denied, "enforcer_module"), "t/guard@1");
  EXPECT_EQ(in_record(denied, "expiry_ns"), "null");
  EXPECT_EQ(in_record(denied, "logical_now_ns"), std::to_string(world.now_ns));
  EXPECT_NE(in_record(denied, "deny.message"), "");
  EXPECT_EQ(in_record(allowed, "deny"), "null");
  EXPECT_EQ(in_record(allowed, "enforcer_module"), "sys/CapAllowAll@1");
  EXPECT_EQ(in_record(allowed, "intent_hash"), world.opened[0]);
  const std::string policy = world.record(4);
  EXPECT_EQ(in_record(policy, "intent_hash"), world.opened[0]);
  EXPECT_EQ(in_record(policy, "policy_name"), "allow_all");
  EXPECT_EQ(in_record(policy, "rule_index"), "null");
  EXPECT_EQ(in_record(policy, "decision"), "allow");
}

// --- enforcers

ModuleCall enforcer_says(std::string_view check) {
  std::string out;
  cbor::Map(out).bytes("output", check).end();
  return {.end = CallEnd::Returned, .output = out, .fuel = 10};
}

TEST(Effects, AnEnforcerSeesTheGrantAndTheEffect) {
  TestWorld world;
  std::string seen;
  world.host.set("guard", [&](std::string_view input) {
    seen = input;
    return enforcer_says(cbor_text(R"({"constraints_ok":true,"deny":null})"));
  });
  world.host.set("flow",
                 saying_at_first([](StepSaid& s) { s.effect("safe.do", work_params(4), "safe"); }));
  EXPECT_NE(world.post("t/Start@1", kStartA).find("effect_intent safe.do cap_safe"),
            std::string::npos);
  EXPECT_EQ(member_of(seen, "ctx"), "");
  const std::string input(string_of(member_of(seen, "input")));
  EXPECT_EQ(*from_cbor(*world.program().types.find("sys/CapCheckInput@1"), input), input);
  EXPECT_EQ(in_record(input, "cap_def"), "t/Safe@1");
  EXPECT_EQ(in_record(input, "grant_name"), "cap_safe");
  EXPECT_EQ(string_of(member_of(input, "cap_params")), cbor_text(R"({"max":10})"));
  EXPECT_EQ(string_of(member_of(input, "effect_params")), work_params(4));
  EXPECT_EQ(in_record(input, "origin.kind"), "workflow");
  EXPECT_EQ(in_record(input, "origin.name"), kFlow);
  EXPECT_EQ(in_record(input, "logical_now_ns"), std::to_string(world.now_ns));
}

TEST(Effects, AnEnforcerDeniesInItsOwnWordsOrByFailing) {
  const std::pair<ModuleCall, std::string_view> cases[] = {
      {enforcer_says(
           cbor_text(R"({"constraints_ok":false,"deny":{"code":"too_much","message":"n > 3"}})")),
       "too_much"},
      {enforcer_says(cbor_text(R"({"constraints_ok":false,"deny":null})")), "constraint"},
      {enforcer_says(cbor_text(R"({"constraints_ok":true})")), ""},
      {enforcer_says(cbor_text(R"({"constraints_ok":1,"deny":null})")), "enforcer_failed"},
      {enforcer_says("\xff"), "enforcer_failed"},
      {StepSaid().call(), "enforcer_failed"},
      {ModuleCall{.end = CallEnd::Returned, .output = ""}, "enforcer_failed"},
      {ModuleCall{.end = CallEnd::Trap}, "enforcer_failed"},
      {ModuleCall{.end = CallEnd::FuelExceeded}, "enforcer_failed"},
  };
  for (const auto& [call, code] : cases) {
    TestWorld world;
    world.host.set("guard", [said = call](std::string_view) { return said; });
    world.host.set(
        "flow", saying_at_first([](StepSaid& s) { s.effect("safe.do", work_params(4), "safe"); }));
    const std::string expected = code.empty() ? "cap_decision cap_safe allow"
                                              : "cap_decision cap_safe deny " + std::string(code);
    EXPECT_NE(world.post("t/Start@1", kStartA).find(expected), std::string::npos) << code;
  }
}

// What an enforcer does in real time is not in the journal: so its whole step fails, which is.
TEST(Effects, AnEnforcerThatRunsOutOfTimeFailsTheStepWhole) {
  TestWorld world;
  world.host.set("guard", [](std::string_view) { return ModuleCall{.end = CallEnd::Timeout}; });
  world.host.set(
      "flow", saying_at_first([](StepSaid& s) {
        s.effect("work.do", work_params(4), "safe").effect("safe.do", work_params(4), "safe");
      }));
  EXPECT_EQ(world.post("t/Start@1", kStartA),
            R"(domain_event Start | step_failed flow["a"] #0 <0 step.timeout)");
  const std::vector<uint64_t> ordinals = {0};
  world.timed_out = &ordinals;
  world.host.set("flow", [](std::string_view) { return StepSaid().call(); });
  EXPECT_EQ(world.post("t/Start@1", R"({"id":"b","n":1})"),
            R"(domain_event Start | step_failed flow["b"] #0 <0 step.timeout)");
}

// --- operators

TEST(SystemEffects, PassTheSameGate) {
  TestWorld world;
  EXPECT_EQ(world.system_effect("work.do", R"({"n":1})", "cap_work"),
            "cap_decision cap_work allow | policy_decision allow_all null allow | effect_intent "
            "work.do cap_work");
  const std::string record = world.record(2);
  EXPECT_EQ(in_record(record, "origin.kind"), "system");
  EXPECT_EQ(in_record(record, "origin.name"), "system");
  EXPECT_EQ(in_record(record, "origin.instance_key"), "null");
  EXPECT_EQ(world.opened.size(), 1u);
  EXPECT_EQ(world.world().head().totals.workflow_intents, 0u);
  EXPECT_EQ(world.world().head().totals.open_intents, 1u);
  EXPECT_EQ(world.world().head().logical_now_ns, world.now_ns);
}

TEST(SystemEffects, WhatIsRefusedIsNotJournaled) {
  TestWorld world;
  EXPECT_EQ(world.system_effect("gone.do", R"({"n":1})", "cap_work"), "refused effect.unknown");
  EXPECT_EQ(world.system_effect("work.do", R"({"n":"1"})", "cap_work"),
            "refused effect.invalid_params");
  EXPECT_EQ(world.system_effect("work.do", R"({"n":1})", "cap_gone"), "refused cap.denied");
  EXPECT_EQ(world.system_effect("work.do", R"({"n":1})", "cap_safe"), "refused cap.denied");
  EXPECT_EQ(http_status(world.error.code), 403);
  EXPECT_EQ(world.world().head().height, 1u);
}

// R-3.9.1, R-3.9.2
TEST(SystemEffects, RulesTellOriginsApart) {
  TestWorld world(with_policy(R"([{"when":{"origin_kind":"workflow"},"decision":"allow"}])"));
  EXPECT_EQ(world.system_effect("work.do", R"({"n":1})", "cap_work"), "refused policy.denied");
  world.host.set("flow",
                 saying_at_first([](StepSaid& s) { s.effect("work.do", work_params(1), "work"); }));
  EXPECT_NE(world.post("t/Start@1", kStartA).find("policy_decision Policy 0 allow"),
            std::string::npos);
  world.use(with_policy(
      R"([{"when":{"origin_kind":"system","origin_name":"system"},"decision":"allow"}])"));
  EXPECT_NE(world.system_effect("work.do", R"({"n":1})", "cap_work")
                .find("policy_decision Policy 0 allow"),
            std::string::npos);
}

TEST(Effects, ATimerKnowsItsDeadline) {
  TestWorld world;
  world.host.set("flow", saying_at_first([](StepSaid& s) {
                   s.effect("timer.set",
                            cbor_text(R"({"deliver_at_ns":1700000100000000000,"key":"k"})"));
                 }));
  world.post("t/Start@1", kStartA);
  EXPECT_EQ(world.world().intent(world.opened.at(0))->deliver_at_ns, 1'700'000'100'000'000'000);
}

}  // namespace
}  // namespace pawl::worlds
