// The canonical text of a program: what is filled in, hashed, printed and loaded again.
#include "worlds/testing/program_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "worlds/hash.h"
#include "worlds/program.h"

namespace pawl::worlds {
namespace {

using Lines = std::vector<std::string>;

std::shared_ptr<const Program> loaded(const ProgramStore& store, const std::string& hash) {
  auto program = load_program(hash, [&](std::string_view wanted) { return store.node(wanted); });
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  return program.ok() ? *program : nullptr;
}

// A program as lines, so that two can be compared and a difference can be read.
class ProgramLines {
 public:
  explicit ProgramLines(const Program& program) {
    add({"manifest", program.manifest_hash, program.manifest_json, program.manifest});
    for (const Def& def : program.defs) add({"def", def.kind, def.name, def.hash});
    for (const auto& [name, module] : program.modules) add_module(name, module);
    for (const auto& [kind, effect] : program.effects)
      add({"effect", kind, effect.name, effect.params_schema, effect.receipt_schema,
           effect.cap_type, effect.params_type && effect.receipt_type ? "typed" : "untyped"});
    for (const auto& [name, cap] : program.caps) add({"cap", name, cap.cap_type, cap.enforcer});
    for (const auto& [name, grant] : program.grants)
      add({"grant", name, grant.cap, grant.cap_type, grant.params,
           std::to_string(grant.expiry_ns.value_or(-1)), grant.hash});
    for (const auto& [name, secret] : program.secrets)
      add({"secret", name, secret.binding_id, secret.expected_digest.value_or("-"),
           std::to_string(secret.allowed_caps.size())});
    add({"policy", program.policy ? program.policy->name : "-"});
    for (const auto& [name, policy] : program.policies)
      for (const Rule& rule : policy.rules)
        add({"rule", name, rule.effect_kind.value_or("*"), rule.cap_name.value_or("*"),
             rule.cap_type.value_or("*"), rule.origin_name.value_or("*"),
             rule.origin_kind ? std::string(origin_name(*rule.origin_kind)) : "*",
             rule.allow ? "allow" : "deny"});
    for (const auto& [module, slots] : program.bindings)
      for (const auto& [slot, grant] : slots) add({"slot", module, slot, grant});
    for (const Subscription& route : program.subscriptions)
      add({"route", route.event, route.module, route.key_field, route.arm});
    add({"limits", std::to_string(program.limits.fuel),
         std::to_string(program.limits.memory_pages)});
  }

  const Lines& lines() const { return lines_; }

 private:
  void add(std::initializer_list<std::string> parts) {
    std::string line;
    for (const std::string& part : parts) line += (line.empty() ? "" : "|") + part;
    lines_.push_back(line);
  }
  void add_module(const std::string& name, const Module& module) {
    std::string emitted, slots;
    for (const std::string& kind : module.effects_emitted) emitted += kind + " ";
    for (const auto& [slot, type] : module.cap_slots) slots += slot + "=" + type + " ";
    const bool typed = module.kind == ModuleKind::Workflow
                           ? module.state_type && module.event_type
                           : module.input_type && module.output_type;
    add({"module", name, module.kind == ModuleKind::Pure ? "pure" : "workflow", module.wasm_hash,
         module.key_schema, module.has_context ? "context" : "", module.state_schema,
         module.event_schema, module.annotations_schema, module.declares_effects ? "declares" : "",
         emitted, slots, module.input_schema, module.output_schema, typed ? "typed" : "untyped"});
  }

  Lines lines_;
};

TEST(ProgramText, OneOfEverythingIsAcceptedWithoutWarning) {
  JudgingHost host;
  const auto read = read_body(OrderBody().text(), host);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(fault_lines(read->faults), Lines{});
  EXPECT_EQ(fault_lines(read->warnings), Lines{});
  EXPECT_EQ(host.judged, (Lines{"enforce run 256", "order step 256"}));
  ASSERT_NE(read->program, nullptr);
  const Program& program = *read->program;
  EXPECT_EQ(program.manifest_hash, read->manifest_hash);
  EXPECT_EQ(program.manifest_hash, hash_of_structure(program.manifest));
  const Module* module = program.module("com.acme/order_workflow@1");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->wasm_hash, hash_of_bytes("order"));
  EXPECT_EQ(read->blobs.at(module->wasm_hash), "order");
  EXPECT_EQ(module->key_type->plain().kind, TypeKind::Text);
  ASSERT_EQ(program.subscriptions.size(), 1u);
  EXPECT_EQ(program.subscriptions[0].arm, "Order");
  EXPECT_EQ(program.limits.fuel, 50'000'000u);
  ASSERT_NE(program.effect("payment.charge"), nullptr);
  EXPECT_NE(program.effect("timer.set"), nullptr);
  EXPECT_EQ(program.effect("payment.refund"), nullptr);
}

// modules.md R-8.1: the seed's own sketch, in a manifest around it.
TEST(ProgramText, TheSketchOfRoutingAndBindingIsTakenAsItIs) {
  OrderBody body;
  body.manifest = R"({"air_version":"1",
    "defaults":{"cap_grants":[{"name":"cap_payments","cap":"com.acme/Payments@1","params":{"max_cents":1}}]},
    "routing": {
    "subscriptions": [
      {
        "event": "com.acme/OrderEvent@1",
        "module": "com.acme/order_workflow@1",
        "key_field": "order_id"
      }
    ]
  },
  "module_bindings": {
    "com.acme/order_workflow@1": {
      "slots": { "payments": "cap_payments" }
    }
  }
})";
  const ProgramText text = read_body(body.text());
  EXPECT_EQ(fault_lines(text.faults), Lines{});
  ASSERT_NE(text.program, nullptr);
  EXPECT_EQ(text.program->bindings.at("com.acme/order_workflow@1").at("payments"), "cap_payments");
}

// The contract's vector V12.
TEST(ProgramText, ANodeIsHashedAsItWasGiven) {
  const ProgramText text = read_body(
      R"({"manifest":{"air_version":"1"},"nodes":[
        {"type":{"record":{"n":{"nat":{}}}},"name":"com.acme/Tick@1","$kind":"defschema"}]})");
  ASSERT_EQ(fault_lines(text.faults), Lines{});
  ASSERT_EQ(text.nodes.size(), 1u);
  EXPECT_EQ(text.nodes[0].hash.substr(0, 23), "sha256:0d3924a36e75aa82");
  EXPECT_EQ(text.nodes[0].hash, hash_of_structure(text.nodes[0].bytes));
}

TEST(ProgramText, AManifestIsPrintedComplete) {
  const ProgramText text = read_body(
      R"({"manifest":{"air_version":"1"},"nodes":[
        {"$kind":"defschema","name":"com.acme/Tick@1","type":{"record":{"n":{"nat":{}}}}}]})");
  ASSERT_NE(text.program, nullptr);
  EXPECT_EQ(text.program->manifest_json,
            R"({"caps":[],"effects":[],"modules":[],"routing":{"inboxes":[],"subscriptions":[]},)"
            R"("schemas":[{"hash":")" +
                text.nodes[0].hash +
                R"(","name":"com.acme/Tick@1"}],"secrets":[],"defaults":{"cap_grants":[]},)"
                R"("policies":[],"air_version":"1","module_bindings":{}})");
}

// A module's code and its hash are two ways to write the same node.
TEST(ProgramText, CodeThatComesAlongBecomesItsHash) {
  OrderBody by_hash;
  by_hash.with(R"("wasm_b64":"b3JkZXI=")", R"("wasm_hash":")" + hash_of_bytes("order") + "\"");
  ProgramStore store;
  store.blobs[hash_of_bytes("order")] = "order";
  const ProgramText text = read_body(by_hash.text(), store);
  EXPECT_EQ(fault_lines(text.faults), Lines{});
  EXPECT_EQ(text.manifest_hash, read_body(OrderBody().text()).manifest_hash);
  EXPECT_EQ(text.blobs.size(), 1u);  // the enforcer's

  OrderBody both;
  both.with(R"("wasm_b64":"b3JkZXI=")",
            R"("wasm_b64":"b3JkZXI=","wasm_hash":")" + hash_of_bytes("order") + "\"");
  EXPECT_EQ(read_body(both.text()).manifest_hash, text.manifest_hash);
  OrderBody zero;
  zero.with(R"("wasm_b64":"b3JkZXI=")",
            R"("wasm_b64":"b3JkZXI=","wasm_hash":"sha256:)" + std::string(64, '0') + "\"");
  EXPECT_EQ(read_body(zero.text()).manifest_hash, text.manifest_hash);
}

TEST(ProgramText, WhatIsFilledInHasTheHashOfWhatIsWrittenOut) {
  const ProgramText filled = read_body(OrderBody().text());
  ASSERT_NE(filled.program, nullptr);
  ProgramStore store;
  store.keep(filled);

  // What GET prints, with the nodes found by their hashes.
  const std::string printed = R"({"manifest":)" + filled.program->manifest_json + "}";
  const ProgramText again = read_body(printed, store);
  EXPECT_EQ(fault_lines(again.faults), Lines{});
  EXPECT_EQ(again.manifest_hash, filled.manifest_hash);
  EXPECT_EQ(again.manifest, filled.manifest);

  // The same with the nodes at hand.
  OrderBody written;
  written.manifest = filled.program->manifest_json;
  EXPECT_EQ(read_body(written.text()).manifest_hash, filled.manifest_hash);

  // And with hashes of zeros, or none, in a list that is written out.
  std::string zeros = filled.program->manifest_json;
  for (size_t at = 0; (at = zeros.find("sha256:", at)) != std::string::npos; ++at)
    zeros.replace(at + 7, 64, 64, '0');
  written.manifest = zeros;
  EXPECT_EQ(read_body(written.text()).manifest_hash, filled.manifest_hash);
}

TEST(ProgramText, AGivenListKeepsItsOrderAndAnAbsentOneIsSorted) {
  const std::string nodes = R"("nodes":[
    {"$kind":"defschema","name":"a/B@1","type":{"nat":{}}},
    {"$kind":"defschema","name":"a/A@1","type":{"nat":{}}}]})";
  auto names = [&](const std::string& manifest) {
    Lines out;
    const ProgramText text = read_body(R"({"manifest":)" + manifest + "," + nodes);
    EXPECT_EQ(fault_lines(text.faults), Lines{});
    if (text.program != nullptr)
      for (const Def& def : text.program->defs) out.push_back(def.name);
    return out;
  };
  EXPECT_EQ(names(R"({"air_version":"1"})"), (Lines{"a/A@1", "a/B@1"}));
  EXPECT_EQ(names(R"({"air_version":"1","schemas":[{"name":"a/B@1"},{"name":"a/A@1"}]})"),
            (Lines{"a/B@1", "a/A@1"}));
}

TEST(ProgramText, NodesThatNoListNamesAreLeftOutWithAWarning) {
  const ProgramText text = read_body(
      R"({"manifest":{"air_version":"1","schemas":[]},"nodes":[
        {"$kind":"defschema","name":"a/B@1","type":{"nat":{}}}]})");
  EXPECT_EQ(fault_lines(text.faults), Lines{});
  EXPECT_EQ(fault_lines(text.warnings), Lines{"node.unlisted /nodes/0"});
  EXPECT_TRUE(text.nodes.empty());
  ASSERT_NE(text.program, nullptr);
  EXPECT_TRUE(text.program->defs.empty());
}

// modules.md R-6.4
TEST(ProgramText, OldNamesOfRoutingAreReadWithAWarningAndNeverPrinted) {
  OrderBody old;
  old.with(R"("subscriptions")", R"("events")")
      .with(R"("module": "com.acme/order_workflow@1")",
            R"("reducer": "com.acme/order_workflow@1")");
  const ProgramText text = read_body(old.text());
  EXPECT_EQ(fault_lines(text.faults), Lines{});
  EXPECT_EQ(fault_lines(text.warnings), (Lines{"field.alias /manifest/routing/events",
                                               "field.alias /manifest/routing/events/0/reducer"}));
  EXPECT_EQ(text.manifest_hash, read_body(OrderBody().text()).manifest_hash);
  ASSERT_NE(text.program, nullptr);
  EXPECT_EQ(text.program->manifest_json.find("reducer"), std::string::npos);
  EXPECT_EQ(text.program->manifest_json.find("events"), std::string::npos);
}

TEST(ProgramText, NullIsAsGoodAsAbsentInAManifest) {
  OrderBody with_nulls;
  with_nulls.with(R"("air_version": "1",)",
                  R"("air_version": "1", "limits": null, "schemas": null, "secrets": null,)");
  EXPECT_EQ(read_body(with_nulls.text()).manifest_hash,
            read_body(OrderBody().text()).manifest_hash);
}

TEST(ProgramText, OptionalMembersStayAsTheyWereGiven) {
  OrderBody limited;
  limited.with(R"("air_version": "1",)",
               R"("$kind": "manifest", "air_version": "1", "limits": {"fuel": 7},)");
  const ProgramText text = read_body(limited.text());
  ASSERT_NE(text.program, nullptr);
  EXPECT_EQ(text.program->limits.fuel, 7u);
  EXPECT_EQ(text.program->limits.memory_pages, 256u);
  EXPECT_NE(text.program->manifest_json.find(R"("$kind":"manifest")"), std::string::npos);
  EXPECT_NE(text.program->manifest_json.find(R"("limits":{"fuel":7})"), std::string::npos);
}

TEST(ProgramText, WhatWasReadLoadsToTheSameProgram) {
  OrderBody body;
  body.with(R"("air_version": "1",)", R"("air_version": "1", "limits": {"memory_pages": 9},)");
  const ProgramText text = read_body(body.text());
  ASSERT_NE(text.program, nullptr);
  ProgramStore store;
  store.keep(text);
  const auto program = loaded(store, text.manifest_hash);
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(ProgramLines(*program).lines(), ProgramLines(*text.program).lines());
}

TEST(ProgramText, StoredBytesThatAreNotWhatTheyWereAreCorrupt) {
  const ProgramText text = read_body(OrderBody().text());
  ProgramStore store;
  store.keep(text);
  auto code_of = [&](const ProgramStore& from) {
    const auto program =
        load_program(text.manifest_hash, [&](std::string_view hash) { return from.node(hash); });
    return program.ok() ? std::string("loaded") : std::string(wire_code(program.error()));
  };
  EXPECT_EQ(code_of(store), "loaded");
  for (const auto& [hash, bytes] : store.nodes) {
    ProgramStore changed = store;
    changed.nodes[hash].back() ^= 1;
    EXPECT_EQ(code_of(changed), "corrupt") << hash;
    changed.nodes.erase(hash);
    EXPECT_EQ(code_of(changed), "corrupt") << hash;
  }
}

// The contract's vector.
TEST(ProgramText, AGrantHasTheHashOfWhatItAllows) {
  const ProgramText text = read_body(OrderBody().text());
  ASSERT_NE(text.program, nullptr);
  EXPECT_EQ(text.program->grants.at("cap_payments").hash.substr(0, 23), "sha256:b77c831925a29dc3");
  // Params that mean the same make the same grant.
  OrderBody other;
  other.with(R"({"hosts": ["api.acme.com"]})",
             R"({"methods": null, "hosts": ["api.acme.com", "api.acme.com"]})");
  const ProgramText same = read_body(other.text());
  ASSERT_NE(same.program, nullptr);
  EXPECT_EQ(same.program->grants.at("cap_http").hash, text.program->grants.at("cap_http").hash);
}

// Nodes of the live program need not be sent again with a candidate.
TEST(ProgramText, NodesAndCodeAreFoundByHash) {
  const ProgramText first = read_body(OrderBody().text());
  ProgramStore store;
  store.keep(first);
  JudgingHost host;
  const auto again = read_body(R"({"manifest":)" + first.program->manifest_json + "}", host, store);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(fault_lines(again->faults), Lines{});
  EXPECT_EQ(host.judged.size(), 2u);  // code that is at hand is judged again: limits may be new
  EXPECT_EQ(again->nodes.size(), first.nodes.size());

  store.blobs.clear();
  const ProgramText codeless =
      read_body(R"({"manifest":)" + first.program->manifest_json + "}", store);
  EXPECT_EQ(fault_lines(codeless.faults),
            (Lines{"ref.unknown /manifest/modules/0", "ref.unknown /manifest/modules/1"}));
  EXPECT_EQ(codeless.program, nullptr);
}

TEST(ProgramText, WithoutARuntimeOnlyCodeCannotBeJudged) {
  JudgingHost host;
  host.available = false;
  const auto with_code = read_body(OrderBody().text(), host);
  ASSERT_FALSE(with_code.ok());
  EXPECT_EQ(with_code.error().code, ErrorCode::Unavailable);
  const auto without = read_body(R"({"manifest":{"air_version":"1"}})", host);
  ASSERT_TRUE(without.ok());
  EXPECT_NE(without->program, nullptr);
}

TEST(ProgramText, AnArmIsFoundByWhatItRefersTo) {
  const ProgramText text = read_body(OrderBody().text());
  ASSERT_NE(text.program, nullptr);
  const auto input = text.program->types.find("com.acme/OrderInput@1");
  EXPECT_EQ(arm_of(*input, "sys/EffectReceiptEnvelope@1"), "Receipt");
  EXPECT_EQ(arm_of(*input, "sys/EffectDenied@1"), "");
  EXPECT_EQ(arm_of(*text.program->types.find("com.acme/OrderEvent@1"), "com.acme/OrderEvent@1"),
            "");
}

TEST(ProgramText, OriginsAreNamedInOneVocabulary) {
  for (const OriginKind kind : {OriginKind::Workflow, OriginKind::System, OriginKind::Governance})
    EXPECT_EQ(parse_origin(origin_name(kind)), kind);
  EXPECT_EQ(parse_origin("plan"), std::nullopt);
  EXPECT_EQ(parse_origin("reducer"), std::nullopt);
}

}  // namespace
}  // namespace pawl::worlds
