// What is wrong with a manifest and its nodes: every fault at once, each at its place and with its
// code.
#include <gtest/gtest.h>

#include "worlds/manifest_reader.h"
#include "worlds/program.h"
#include "worlds/testing/program_text.h"

namespace pawl::worlds {
namespace {

using Lines = std::vector<std::string>;

struct Change {
  std::string_view part, other;  // of the order workflow's body
};
struct BadBody {
  std::vector<Change> changes;
  Lines faults;
};

void expect_faults(const std::vector<BadBody>& cases) {
  for (const BadBody& bad : cases) {
    OrderBody body;
    for (const Change& change : bad.changes) body.with(change.part, change.other);
    const ProgramText text = read_body(body.text());
    EXPECT_EQ(fault_lines(text.faults), bad.faults) << body.text();
    EXPECT_EQ(text.program == nullptr, !bad.faults.empty());
    for (const Complaint& fault : text.faults) EXPECT_NE(fault.message, "") << fault.path;
  }
}

TEST(ProgramFaults, OfTheManifestsShape) {
  expect_faults({
      {{{R"("air_version": "1")", R"("air_version": "2")"}}, {"air_version /manifest/air_version"}},
      {{{R"("air_version": "1")", R"("air_version": 1)"}}, {"air_version /manifest/air_version"}},
      {{{R"("air_version": "1",)", ""}}, {"air_version /manifest/air_version"}},
      {{{R"("air_version": "1")", R"("air_version": "1", "triggers": [])"}},
       {"field.unknown /manifest/triggers"}},
      {{{R"("air_version": "1")", R"("air_version": "1", "plans": [], "a/b~c": 1)"}},
       {"field.unknown /manifest/a~1b~0c", "field.unknown /manifest/plans"}},
      {{{R"("air_version": "1")", R"("$kind": "defplan", "air_version": "1")"}},
       {"kind.unknown /manifest/$kind"}},
      {{{R"("air_version": "1")", R"("air_version": "1", "secrets": {})"}},
       {"type.invalid /manifest/secrets"}},
      {{{R"("routing": {)", R"("routing": {"spare": 1,)"}},
       {"field.unknown /manifest/routing/spare"}},
      {{{R"("key_field": "order_id")", R"("key_field": "order_id", "filter": 1)"}},
       {"field.unknown /manifest/routing/subscriptions/0/filter"}},
      {{{R"("cap": "sys/HttpOut@1",)", R"("cap": "sys/HttpOut@1", "more": 1,)"}},
       {"field.unknown /manifest/defaults/cap_grants/1/more"}},
      {{{R"({"slots": {"payments": "cap_payments"}})",
         R"({"slots": {"payments": "cap_payments"}, "x": 1})"}},
       {"field.unknown /manifest/module_bindings/com.acme~1order_workflow@1/x"}},
  });
}

TEST(ProgramFaults, OfALimit) {
  auto limits = [](std::string_view text) {
    const std::string members = R"({"air_version":"1","limits":)" + std::string(text) + "}";
    return fault_lines(read_body(R"({"manifest":)" + members + "}").faults);
  };
  EXPECT_EQ(limits(R"({"fuel":1000000000,"memory_pages":4096})"), Lines{});
  EXPECT_EQ(limits(R"({"fuel":1,"memory_pages":1})"), Lines{});
  EXPECT_EQ(limits(R"({"fuel":1000000001,"memory_pages":4097})"),
            (Lines{"limit.invalid /manifest/limits/fuel",
                   "limit.invalid /manifest/limits/memory_pages"}));
  EXPECT_EQ(limits(R"({"fuel":0,"memory_pages":"9"})"),
            (Lines{"limit.invalid /manifest/limits/fuel",
                   "limit.invalid /manifest/limits/memory_pages"}));
  EXPECT_EQ(limits(R"({"fuel":1.5,"memory_pages":-1})"),
            (Lines{"limit.invalid /manifest/limits/fuel",
                   "limit.invalid /manifest/limits/memory_pages"}));
  EXPECT_EQ(limits(R"({"stack":1})"), Lines{"field.unknown /manifest/limits/stack"});
  EXPECT_EQ(limits("7"), Lines{"type.invalid /manifest/limits"});
}

TEST(ProgramFaults, OfNamesAndKinds) {
  expect_faults({
      {{{R"("$kind":"defschema","name":"com.acme/OrderState@1")",
         R"("$kind":"defplan","name":"com.acme/OrderState@1")"}},
       {"kind.unknown /nodes/2/$kind", "ref.unknown /nodes/6/abi/workflow/state"}},
      {{{R"("$kind":"defsecret",)", ""}}, {"field.missing /nodes/11/$kind"}},
      {{{R"("name":"com.acme/policy@1")", R"("name":"policy")"}},
       {"ref.unknown /manifest/defaults/policy", "name.invalid /nodes/10/name"}},
      {{{R"("name":"stripe@1")", R"("name":"stripe")"}}, {"name.invalid /nodes/11/name"}},
      {{{R"("name":"stripe@1")", R"("name":"pay/stripe@2")"}}, {}},
      {{{R"("name":"com.acme/Charge@1")", R"("name":"sys/Charge@1")"}},
       {"effect.unknown /nodes/6/abi/workflow/effects_emitted/0", "name.reserved /nodes/8/name"}},
      {{{R"("name":"com.acme/Charge@1")", R"("name":"com.acme/Charge@01")"}},
       {"effect.unknown /nodes/6/abi/workflow/effects_emitted/0", "name.invalid /nodes/8/name"}},
      {{{R"("name":"com.acme/ChargeReceipt@1")", R"("name":"com.acme/ChargeParams@1")"}},
       {"name.duplicate /nodes/5/name", "ref.unknown /nodes/8/receipt_schema"}},
      {{{R"("kind":"payment.charge")", R"("kind":"Payment Charge")"}},
       {"effect.unknown /nodes/6/abi/workflow/effects_emitted/0", "name.invalid /nodes/8/kind"}},
      {{{R"("kind":"payment.charge")", R"("kind":"timer.set")"}},
       {"effect.unknown /nodes/6/abi/workflow/effects_emitted/0", "name.reserved /nodes/8/kind"}},
      {{{R"("kind":"payment.charge")", R"("kind":"governance.apply")"}},
       {"effect.unknown /nodes/6/abi/workflow/effects_emitted/0", "name.reserved /nodes/8/kind"}},
      {{{R"("module_kind":"workflow")", R"("module_kind":"reducer")"}},
       {"kind.unknown /nodes/6/module_kind"}},
      {{{R"("name": "cap_http")", R"("name": "0cap")"}},
       {"name.invalid /manifest/defaults/cap_grants/1/name"}},
      {{{R"("cap_slots":{"payments":"payments"})",
         R"("cap_slots":{"payments":"payments","a b":"x"})"}},
       {"name.invalid /nodes/6/abi/workflow/cap_slots/a b"}},
  });
}

TEST(ProgramFaults, OfTwoEffectsOfOneKind) {
  OrderBody body;
  body.nodes.push_back(
      R"({"$kind":"defeffect","name":"com.acme/Other@1","kind":"payment.charge",
      "params_schema":"com.acme/ChargeParams@1","receipt_schema":"sys/EffectError@1","cap_type":"payments"})");
  EXPECT_EQ(fault_lines(read_body(body.text()).faults), Lines{"name.duplicate /nodes/12/kind"});
}

TEST(ProgramFaults, OfListsAndHashes) {
  const std::string schema = R"({"$kind":"defschema","name":"a/A@1","type":{"nat":{}}})";
  const std::string good =
      read_body(R"({"manifest":{"air_version":"1"},"nodes":[)" + schema + "]}").nodes.at(0).hash;
  auto faults = [&](const std::string& list, const std::string& nodes) {
    return fault_lines(read_body(R"({"manifest":{"air_version":"1","schemas":)" + list +
                                 R"(},"nodes":[)" + nodes + "]}")
                           .faults);
  };
  const std::string other = "sha256:" + std::string(64, 'a');
  EXPECT_EQ(faults(R"([{"name":"a/A@1","hash":")" + good + "\"}]", schema), Lines{});
  EXPECT_EQ(faults(R"([{"name":"a/A@1","hash":")" + other + "\"}]", schema),
            Lines{"hash.mismatch /manifest/schemas/0/hash"});
  EXPECT_EQ(faults(R"([{"name":"a/A@1","hash":")" + other + "\"}]", ""),
            Lines{"ref.unknown /manifest/schemas/0/hash"});
  EXPECT_EQ(faults(R"([{"name":"a/A@1","hash":"5"}])", schema),
            Lines{"hash.mismatch /manifest/schemas/0/hash"});
  EXPECT_EQ(faults(R"([{"name":"a/A@1"}])", ""), Lines{"ref.unknown /manifest/schemas/0/name"});
  EXPECT_EQ(faults(R"([{"name":"a/A@1"},{"name":"a/A@1"}])", schema),
            Lines{"name.duplicate /manifest/schemas/1/name"});
  EXPECT_EQ(faults(R"([{"name":"a/A@1"},{"name":"sys/EffectError@1"}])", schema),
            Lines{"name.reserved /manifest/schemas/1/name"});
  EXPECT_EQ(faults(R"([{"name":"a/A@1","size":1},7])", schema),
            (Lines{"field.unknown /manifest/schemas/0/size", "type.invalid /manifest/schemas/1"}));
  EXPECT_EQ(faults(R"([{"hash":")" + good + "\"}]", schema),
            Lines{"field.missing /manifest/schemas/0/name"});
}

// A hash must be that of a node of this name and kind, wherever it is found.
TEST(ProgramFaults, OfAHashThatIsAnotherNodes) {
  ProgramStore store;
  const ProgramText kept = read_body(
      R"({"manifest":{"air_version":"1"},"nodes":[{"$kind":"defschema","name":"a/A@1","type":{"nat":{}}}]})");
  store.keep(kept);
  auto faults = [&](const std::string& list, const std::string& hash) {
    return fault_lines(
        read_body(R"({"manifest":{"air_version":"1",)" + list + hash + "\"}]}}", store).faults);
  };
  const std::string& hash = kept.nodes.at(0).hash;
  EXPECT_EQ(faults(R"("schemas":[{"name":"a/A@1","hash":")", hash), Lines{});
  EXPECT_EQ(faults(R"("schemas":[{"name":"a/B@1","hash":")", hash),
            Lines{"hash.mismatch /manifest/schemas/0/hash"});
  EXPECT_EQ(faults(R"("modules":[{"name":"a/A@1","hash":")", hash),
            Lines{"hash.mismatch /manifest/modules/0/hash"});
  EXPECT_EQ(faults(R"("schemas":[{"name":"a/A@1","hash":")", kept.manifest_hash),
            Lines{"field.missing /manifest/schemas/0"});
}

// A stored node has no place in the body but its entry in the manifest.
TEST(ProgramFaults, OfAStoredNodeStandAtItsEntry) {
  ProgramStore store;
  const ProgramText kept = read_body(OrderBody().text());
  store.keep(kept);
  std::string hash;
  for (const Def& def : kept.program->defs)
    if (def.name == "com.acme/Charge@1") hash = def.hash;
  const ProgramText text = read_body(
      R"({"manifest":{"air_version":"1","effects":[{"name":"com.acme/Charge@1","hash":")" + hash +
          "\"}]}}",
      store);
  EXPECT_EQ(fault_lines(text.faults),
            (Lines{"ref.unknown /manifest/effects/0", "ref.unknown /manifest/effects/0"}));
}

TEST(ProgramFaults, OfTypes) {
  expect_faults({
      {{{R"({"record":{"cents":{"nat":{}}}})", R"({"record":{"cents":{"float":{}}}})"}},
       {"type.invalid /nodes/2/type/record/cents"}},
      {{{R"({"record":{"cents":{"nat":{}}}})", R"({"ref":"com.acme/OrderState@1"})"}},
       {"type.invalid /nodes/2/type"}},
      {{{R"({"record":{"cents":{"nat":{}}}})", R"({"ref":"com.acme/None@1"})"}},
       {"ref.unknown /nodes/2/type/ref"}},
      {{{R"({"record":{"cents":{"nat":{}}}})", R"({"nat":1.5})"}},
       {"type.invalid /nodes/2/type/nat"}},
      {{{R"("type":{"text":{}})", R"("type":{"bytes":{}})"}}, {"type.invalid /nodes/6/key_schema"}},
      {{{R"({"record":{"max_cents":{"nat":{}}}})", R"({"record":{"max_cents":{"ref":"a/B@1"}}})"}},
       {"ref.unknown /nodes/9/schema/record/max_cents/ref"}},
      {{{R"({"record":{"max_cents":{"nat":{}}}})", R"({"option":{"option":{"nat":{}}}})"}},
       {"type.invalid /nodes/9/schema/option"}},
  });
}

TEST(ProgramFaults, OfModules) {
  expect_faults({
      {{{R"("state":"com.acme/OrderState@1",)", R"("state":"com.acme/None@1",)"}},
       {"ref.unknown /nodes/6/abi/workflow/state"}},
      {{{R"("state":"com.acme/OrderState@1",)", ""}},
       {"field.missing /nodes/6/abi/workflow/state"}},
      {{{R"("key_schema":"com.acme/OrderId@1")", R"("key_schema":"com.acme/None@1")"}},
       {"ref.unknown /nodes/6/key_schema"}},
      {{{R"("sys/WorkflowContext@1")", R"("sys/PureContext@1")"}},
       {"abi.mismatch /nodes/6/abi/workflow/context"}},
      {{{R"("effects_emitted":["payment.charge","timer.set"])",
         R"("effects_emitted":["payment.charge","payment.refund",5],"annotations":"a/B@1")"}},
       {"ref.unknown /nodes/6/abi/workflow/annotations",
        "effect.unknown /nodes/6/abi/workflow/effects_emitted/1",
        "type.invalid /nodes/6/abi/workflow/effects_emitted/2"}},
      {{{R"("abi":{"workflow":{)", R"("abi":{},"x":{"workflow":{)"}},
       {"field.missing /nodes/6/abi/workflow", "field.unknown /nodes/6/x"}},
      {{{R"("wasm_b64":"b3JkZXI=",)", ""}}, {"field.missing /nodes/6/wasm_hash"}},
      {{{R"("wasm_b64":"b3JkZXI=")", R"("wasm_b64":"b3JkZXI")"}},
       {"module.invalid /nodes/6/wasm_b64"}},
      {{{R"("wasm_b64":"b3JkZXI=")", R"("wasm_hash":"sha256:12")"}},
       {"hash.mismatch /nodes/6/wasm_hash"}},
      {{{R"("wasm_b64":"b3JkZXI=")", R"("wasm_file":"x.wasm","wasm_b64":"b3JkZXI=")"}},
       {"field.unknown /nodes/6/wasm_file"}},
      {{{R"("wasm_b64":"b3JkZXI=")", R"("wasm_b64":["b3JkZXI="])"}},
       {"module.invalid /nodes/6/wasm_b64"}},
      // "module.imports", "module.memory": what the host says
      {{{"b3JkZXI=", "bW9kdWxlLmltcG9ydHM="}, {"ZW5mb3JjZQ==", "bW9kdWxlLm1lbW9yeQ=="}},
       {"module.imports /nodes/6/wasm_b64", "module.memory /nodes/7/wasm_b64"}},
  });
}

// modules.md R-3.1.2
TEST(ProgramFaults, OfAnAbiThatIsNotTheModulesKind) {
  const std::string_view pure =
      R"("pure":{"input":"sys/CapCheckInput@1","output":"sys/CapCheckOutput@1")";
  expect_faults({
      {{{pure, R"("workflow":{"state":"com.acme/OrderState@1","event":"com.acme/OrderEvent@1")"}},
       {"abi.mismatch /nodes/7/abi/workflow", "abi.mismatch /nodes/9/enforcer/module"}},
      {{{pure, std::string(pure) + R"(,"effects_emitted":["timer.set"])"}},
       {"field.unknown /nodes/7/abi/pure/effects_emitted"}},
      {{{R"("module_kind":"pure")", R"("module_kind":"pure","key_schema":"com.acme/OrderId@1")"}},
       {"abi.mismatch /nodes/7/key_schema"}},
      {{{R"("abi":{"workflow":{)", R"("abi":{"pure":{"input":"a","output":"b"},"workflow":{)"}},
       {"abi.mismatch /nodes/6/abi/pure"}},
  });
}

TEST(ProgramFaults, OfCapsAndGrants) {
  expect_faults({
      {{{R"("enforcer":{"module":"com.acme/enforcer@1"})",
         R"("enforcer":{"module":"com.acme/x@1"})"}},
       {"ref.unknown /nodes/9/enforcer/module"}},
      {{{R"("enforcer":{"module":"com.acme/enforcer@1"})",
         R"("enforcer":{"module":"com.acme/order_workflow@1"})"}},
       {"abi.mismatch /nodes/9/enforcer/module"}},
      {{{R"("enforcer":{"module":"com.acme/enforcer@1"})",
         R"("enforcer":{"module":"sys/None@1"})"}},
       {"ref.unknown /nodes/9/enforcer/module"}},
      {{{R"(,"enforcer":{"module":"com.acme/enforcer@1"})", ""}}, {}},
      {{{R"("output":"sys/CapCheckOutput@1")", R"("output":"sys/EffectError@1")"}},
       {"abi.mismatch /nodes/9/enforcer/module"}},
      {{{R"("cap": "sys/HttpOut@1")", R"("cap": "sys/HttpIn@1")"}},
       {"cap.unknown /manifest/defaults/cap_grants/1/cap"}},
      {{{R"("name": "cap_http")", R"("name": "cap_payments")"}},
       {"grant.duplicate /manifest/defaults/cap_grants/1/name"}},
      {{{R"({"max_cents": 10000})", R"({"max_cents": -1})"}},
       {"grant.invalid_params /manifest/defaults/cap_grants/0/params"}},
      {{{R"({"max_cents": 10000})", R"({"max_cents": 1.5})"}},
       {"grant.invalid_params /manifest/defaults/cap_grants/0/params"}},
      {{{R"({"hosts": ["api.acme.com"]})", R"({"ports": [80]})"}},
       {"grant.invalid_params /manifest/defaults/cap_grants/1/params"}},
      {{{R"(, "params": {"max_cents": 10000})", ""}},
       {"field.missing /manifest/defaults/cap_grants/0/params"}},
      {{{R"("expiry_ns": 1700000000000000000)", R"("expiry_ns": -1)"}},
       {"type.invalid /manifest/defaults/cap_grants/1/expiry_ns"}},
  });
}

// modules.md R-5.5, R-5.6
TEST(ProgramFaults, OfSlots) {
  const std::string place = "/manifest/module_bindings/com.acme~1order_workflow@1/slots/";
  expect_faults({
      {{{R"({"payments": "cap_payments"})", R"({"payment": "cap_payments"})"}},
       {"slot.unknown " + place + "payment"}},
      {{{R"({"payments": "cap_payments"})", R"({"payments": "cap_none"})"}},
       {"grant.unknown " + place + "payments"}},
      {{{R"({"payments": "cap_payments"})", R"({"payments": "cap_http"})"}},
       {"slot.type_mismatch " + place + "payments"}},
      {{{R"({"payments": "cap_payments"})", R"({"default": "cap_http"})"}}, {}},
      {{{R"("module_bindings": {"com.acme/order_workflow@1")",
         R"("module_bindings": {"com.acme/other@1")"}},
       {"ref.unknown /manifest/module_bindings/com.acme~1other@1"}},
  });
}

// modules.md R-5.2, R-6.1, T67
TEST(ProgramFaults, OfRouting) {
  const std::string place = "/manifest/routing/subscriptions/0/";
  expect_faults({
      {{{R"("event": "com.acme/OrderEvent@1", )", ""}}, {"field.missing " + place + "event"}},
      {{{R"("module": "com.acme/order_workflow@1", )", ""}}, {"field.missing " + place + "module"}},
      {{{R"("event": "com.acme/OrderEvent@1")", R"("event": "com.acme/None@1")"}},
       {"ref.unknown " + place + "event"}},
      {{{R"("module": "com.acme/order_workflow@1")", R"("module": "com.acme/none@1")"}},
       {"ref.unknown " + place + "module"}},
      {{{R"("module": "com.acme/order_workflow@1")", R"("module": "com.acme/enforcer@1")"}},
       {"abi.mismatch " + place + "module"}},
      {{{R"("event": "com.acme/OrderEvent@1")", R"("event": "com.acme/ChargeParams@1")"}},
       {"routing.event_mismatch " + place + "event"}},
      {{{R"(, "key_field": "order_id")", ""}}, {"routing.key_field " + place + "key_field"}},
      {{{R"("key_schema":"com.acme/OrderId@1",)", ""}},
       {"routing.key_field " + place + "key_field"}},
      {{{R"("key_field": "order_id")", R"("key_field": 5)"}},
       {"routing.key_field " + place + "key_field"}},
      {{{R"("key_field": "order_id")", R"("key_field": "order.id")"}},
       {"routing.key_field " + place + "key_field"}},
      {{{R"("key_field": "order_id")", R"("key_field": "amount_cents")"}},
       {"routing.key_field " + place + "key_field"}},
      {{{R"("event": "com.acme/OrderEvent@1")", R"("event": "com.acme/OrderInput@1")"},
        {R"("key_field": "order_id")", R"("key_field": "$value.order_id")"}},
       {}},
      {{{R"("subscriptions": [)",
         R"("inboxes": [{"source":"mail","workflow":"com.acme/none@1"}], "subscriptions": [)"}},
       {"ref.unknown /manifest/routing/inboxes/0/workflow"}},
      {{{R"("subscriptions": [)", R"("events": [], "subscriptions": [)"}},
       {"field.unknown /manifest/routing/events"}},
  });
}

// Receipts ignore the table (modules.md R-3.3.3): a module may well name their schemas in it.
TEST(ProgramFaults, ASubscriptionToReceiptsIsNone) {
  expect_faults({{{{R"("subscriptions": [)",
                    R"("subscriptions": [{"event":"sys/EffectReceiptEnvelope@1",
                      "module":"com.acme/order_workflow@1","key_field":"origin_module_id"},)"}},
                  {}}});
}

TEST(ProgramFaults, OfPolicies) {
  const std::string rule = "/nodes/10/rules/0/";
  expect_faults({
      {{{R"("policy": "com.acme/policy@1")", R"("policy": "com.acme/none@1")"}},
       {"ref.unknown /manifest/defaults/policy"}},
      {{{R"("origin_kind":"workflow")", R"("origin_kind":"plan")"}},
       {"policy.invalid " + rule + "when/origin_kind"}},
      {{{R"("origin_kind":"workflow")", R"("origin_kind":"reducer")"}},
       {"policy.invalid " + rule + "when/origin_kind"}},
      {{{R"("decision":"allow")", R"("decision":"require_approval")"}},
       {"policy.invalid " + rule + "decision"}},
      {{{R"("origin_kind":"workflow")", R"("cap_name":5,"host":"x")"}},
       {"policy.invalid " + rule + "when/cap_name", "field.unknown " + rule + "when/host"}},
      {{{R"("when":{"effect_kind":"payment.charge","origin_kind":"workflow"},)", ""}},
       {"field.missing " + rule + "when"}},
  });
}

TEST(ProgramFaults, OfSecretsAndEffects) {
  expect_faults({
      {{{R"("binding_id":"STRIPE_KEY",)", R"("expected_digest":"x",)"}},
       {"field.missing /nodes/11/binding_id", "type.invalid /nodes/11/expected_digest"}},
      {{{R"("origin_scope":"workflow")", R"("origin_scope":"everywhere")"}},
       {"type.invalid /nodes/8/origin_scope"}},
      {{{R"("receipt_schema":"com.acme/ChargeReceipt@1",)", R"("receipt_schema":"a/B@1",)"}},
       {"ref.unknown /nodes/8/receipt_schema"}},
  });
}

TEST(ProgramFaults, AreAllToldAtOnce) {
  expect_faults(
      {{{{R"("air_version": "1")", R"("air_version": "0", "limits": {"fuel": -2})"},
         {R"("key_field": "order_id")", R"("key_field": "id")"},
         {R"({"max_cents": 10000})", R"({"max_cents": "x"})"},
         {R"({"record":{"cents":{"nat":{}}}})", R"({"record":{"cents":{"money":{}}}})"},
         {R"("timer.set")", R"("timer.stop")"},
         {R"("decision":"allow")", R"("decision":"maybe")"}},
        {"air_version /manifest/air_version",
         "grant.invalid_params /manifest/defaults/cap_grants/0/params",
         "limit.invalid /manifest/limits/fuel",
         "routing.key_field /manifest/routing/subscriptions/0/key_field",
         "policy.invalid /nodes/10/rules/0/decision", "type.invalid /nodes/2/type/record/cents",
         "effect.unknown /nodes/6/abi/workflow/effects_emitted/1"}}});
}

TEST(ProgramFaults, OfBodiesThatAreNothingOfTheKind) {
  auto faults = [](const std::string& body) { return fault_lines(read_body(body).faults); };
  EXPECT_EQ(faults("{}"), Lines{"field.missing /manifest"});
  EXPECT_EQ(faults(R"({"manifest":null,"nodes":null})"), Lines{"field.missing /manifest"});
  EXPECT_EQ(faults(R"({"manifest":[],"nodes":{}})"),
            (Lines{"type.invalid /manifest", "type.invalid /nodes"}));
  EXPECT_EQ(
      faults(R"({"manifest":{"air_version":"1"},"nodes":[5,[],{"$kind":7}]})"),
      (Lines{"type.invalid /nodes/0", "type.invalid /nodes/1", "kind.unknown /nodes/2/$kind"}));
  EXPECT_EQ(faults(R"({"manifest":{"air_version":"1","air_version":"1"}})"),
            Lines{"type.invalid /manifest/air_version"});
  EXPECT_EQ(faults(R"({"manifest":{"air_version":"1","x":[1.5]}})"),
            Lines{"field.unknown /manifest/x"});
  EXPECT_EQ(faults(R"({"manifest":{"air_version":"1","schemas":[1.5]}})"),
            Lines{"type.invalid /manifest/schemas/0"});
}

TEST(ProgramFaults, OfMoreThanCanBeTaken) {
  std::string nodes, entries;
  for (size_t i = 0; i <= kNodesMax; ++i) {
    nodes += i == 0 ? "7" : ",7";
    entries += i == 0 ? "7" : ",7";
  }
  const ProgramText text = read_body(R"({"manifest":{"air_version":"1","caps":[)" + entries +
                                     R"(]},"nodes":[)" + nodes + "]}");
  EXPECT_EQ(fault_lines(text.faults),
            (Lines{"limit.invalid /manifest/caps", "limit.invalid /nodes"}));
  const ProgramText bad = read_body(R"({"manifest":{"air_version":"1"},"nodes":[)" +
                                    nodes.substr(0, 2 * kNodesMax - 1) + "]}");
  EXPECT_EQ(bad.faults.size(), 1000u);

  const std::string large(size_t{8} << 20, 'x');
  auto secrets = [&](const std::string& second) {
    return fault_lines(read_body(R"({"manifest":{"air_version":"1"},"nodes":[
      {"$kind":"defsecret","name":"a@1","binding_id":")" +
                                 large.substr(100) + R"("},
      {"$kind":"defsecret","name":"b@1","binding_id":")" +
                                 second + R"("},
      {"$kind":"defsecret","name":"c@1","binding_id":"c"}]})")
                           .faults);
  };
  EXPECT_EQ(secrets("b"), Lines{"limit.invalid /nodes/2"});
  EXPECT_EQ(secrets(large), Lines{"limit.invalid /nodes/1"});
  EXPECT_EQ(fault_lines(read_body(R"({"manifest":{"air_version":")" + large + R"("}})").faults),
            Lines{"limit.invalid /manifest"});
}

}  // namespace
}  // namespace pawl::worlds
