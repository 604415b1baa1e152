#include "worlds/testing/program_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::worlds {

void ProgramStore::keep(const ProgramText& text) {
  for (const NodeBytes& node : text.nodes) nodes[node.hash] = node.bytes;
  for (const auto& [hash, code] : text.blobs) blobs[hash] = code;
  nodes[text.manifest_hash] = text.manifest;
}

std::optional<std::string> ProgramStore::get(
    const std::map<std::string, std::string, std::less<>>& items, std::string_view hash) {
  const auto found = items.find(hash);
  if (found == items.end()) return std::nullopt;
  return found->second;
}

OrderBody::OrderBody()
    : manifest(R"({
  "air_version": "1",
  "defaults": {"policy": "com.acme/policy@1", "cap_grants": [
    {"name": "cap_payments", "cap": "com.acme/Payments@1", "params": {"max_cents": 10000}},
    {"name": "cap_http", "cap": "sys/HttpOut@1", "params": {"hosts": ["api.acme.com"]},
     "expiry_ns": 1700000000000000000}]},
  "routing": {"subscriptions": [
    {"event": "com.acme/OrderEvent@1", "module": "com.acme/order_workflow@1", "key_field": "order_id"}]},
  "module_bindings": {"com.acme/order_workflow@1": {"slots": {"payments": "cap_payments"}}}
})"),
      nodes({
          R"({"$kind":"defschema","name":"com.acme/OrderEvent@1","type":{"record":{
  "order_id":{"text":{}},"amount_cents":{"nat":{}}}}})",
          R"({"$kind":"defschema","name":"com.acme/OrderInput@1","type":{"variant":{
  "Order":{"ref":"com.acme/OrderEvent@1"},"Receipt":{"ref":"sys/EffectReceiptEnvelope@1"}}}})",
          R"({"$kind":"defschema","name":"com.acme/OrderState@1","type":{"record":{"cents":{"nat":{}}}}})",
          R"({"$kind":"defschema","name":"com.acme/OrderId@1","type":{"text":{}}})",
          R"({"$kind":"defschema","name":"com.acme/ChargeParams@1","type":{"record":{
  "order_id":{"text":{}},"amount_cents":{"nat":{}}}}})",
          R"({"$kind":"defschema","name":"com.acme/ChargeReceipt@1","type":{"record":{"charge_id":{"text":{}}}}})",
          R"({"$kind":"defmodule","name":"com.acme/order_workflow@1","module_kind":"workflow",
  "wasm_b64":"b3JkZXI=","key_schema":"com.acme/OrderId@1","abi":{"workflow":{
  "state":"com.acme/OrderState@1","event":"com.acme/OrderInput@1","context":"sys/WorkflowContext@1",
  "effects_emitted":["payment.charge","timer.set"],"cap_slots":{"payments":"payments"}}}})",
          R"({"$kind":"defmodule","name":"com.acme/enforcer@1","module_kind":"pure","wasm_b64":"ZW5mb3JjZQ==",
  "abi":{"pure":{"input":"sys/CapCheckInput@1","output":"sys/CapCheckOutput@1"}}})",
          R"({"$kind":"defeffect","name":"com.acme/Charge@1","kind":"payment.charge","params_schema":
  "com.acme/ChargeParams@1","receipt_schema":"com.acme/ChargeReceipt@1","cap_type":"payments",
  "origin_scope":"workflow"})",
          R"({"$kind":"defcap","name":"com.acme/Payments@1","cap_type":"payments",
  "schema":{"record":{"max_cents":{"nat":{}}}},"enforcer":{"module":"com.acme/enforcer@1"}})",
          R"({"$kind":"defpolicy","name":"com.acme/policy@1","rules":[
  {"when":{"effect_kind":"payment.charge","origin_kind":"workflow"},"decision":"allow"}]})",
          R"({"$kind":"defsecret","name":"stripe@1","binding_id":"STRIPE_KEY","allowed_caps":["cap_http"]})",
      }) {}

OrderBody& OrderBody::with(std::string_view part, std::string_view other) {
  std::vector<std::string*> texts{&manifest};
  for (std::string& node : nodes) texts.push_back(&node);
  int found = 0;
  for (std::string* text : texts) {
    const size_t at = text->find(part);
    if (at == std::string::npos) continue;
    if (found++ == 0) text->replace(at, part.size(), other);
  }
  EXPECT_EQ(found, 1) << part;
  return *this;
}

std::string OrderBody::text() const {
  std::string body = R"({"manifest":)" + manifest + R"(,"nodes":[)";
  for (const std::string& node : nodes) body += node + ",";
  if (!nodes.empty()) body.pop_back();
  return body + "]}";
}

Result<ProgramText> read_body(const std::string& body, JudgingHost& host,
                              const ProgramStore& store) {
  PAWL_TRY(const json::Doc doc, json::parse(body));
  return read_program(
      doc.root().find("manifest"), doc.root().find("nodes"),
      [&](std::string_view hash) { return store.node(hash); },
      [&](std::string_view hash) { return store.blob(hash); }, host);
}

ProgramText read_body(const std::string& body, const ProgramStore& store) {
  JudgingHost host;
  Result<ProgramText> text = read_body(body, host, store);
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().message);
  return text.ok() ? *std::move(text) : ProgramText{};
}

std::vector<std::string> fault_lines(const std::vector<Complaint>& complaints) {
  std::vector<Complaint> sorted = complaints;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Complaint& a, const Complaint& b) { return a.path < b.path; });
  std::vector<std::string> lines;
  for (const Complaint& complaint : sorted) lines.push_back(complaint.code + " " + complaint.path);
  return lines;
}

}  // namespace pawl::worlds
