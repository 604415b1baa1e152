#include "worlds/node_reader.h"

#include <utility>

#include "base/quote.h"
#include "worlds/hash.h"
#include "worlds/json_pointer.h"
#include "worlds/members.h"

namespace pawl::worlds {
namespace {

using Complaints = std::vector<Complaint>;

std::optional<DefKind> read_kind(const cbor::Item& node, const std::string& path,
                                 Complaints& faults) {
  const cbor::Item* given = node.find("$kind");
  if (given == nullptr || given->is_null()) {
    complain(faults, path + "/$kind", "field.missing", "is required");
    return std::nullopt;
  }
  for (const DefKind kind : kDefKinds)
    if (given->is_text() && given->string == def_kind_name(kind)) return kind;
  complain(faults, path + "/$kind", "kind.unknown",
           "must be one of defschema, defmodule, defeffect, defcap, defpolicy, defsecret");
  return std::nullopt;
}

std::string read_name(const Members& members, DefKind kind, Complaints& faults) {
  std::string name = members.text("name", "name.invalid");
  if (name.empty()) return name;
  if (is_reserved_name(name)) {
    complain(faults, members.path("name"), "name.reserved",
             "names under sys/ belong to the server and cannot be defined");
    return {};
  }
  const bool good = kind == DefKind::Secret ? is_secret_name(name) : is_def_name(name);
  if (good) return name;
  complain(faults, members.path("name"), "name.invalid",
           in_quotes(name) + (kind == DefKind::Secret ? " is not of the form alias@N"
                                                      : " is not of the form ns/name@N"));
  return {};
}

std::string dotted_text(const Members& members, std::string_view name, Complaints& faults) {
  std::string text = members.text(name, "name.invalid");
  if (text.empty() || is_dotted_name(text)) return text;
  complain(faults, members.path(name), "name.invalid",
           in_quotes(text) + " is not of the form lower.case.words");
  return {};
}

void read_schema(const cbor::Item& node, NodeDraft& draft, Complaints& faults) {
  const Members members(node, draft.path, {"$kind", "name", "type"}, faults);
  draft.name = read_name(members, draft.kind, faults);
  Type type;
  if (const cbor::Item* given = members.need("type"))
    type = read_type(*given, members.path("type"), faults);
  draft.def = std::move(type);
}

// The one context that modules of a kind may ask for.
bool read_context(const Members& abi, std::string_view allowed, Complaints& faults) {
  const std::optional<std::string> context = abi.optional_text("context");
  if (context && *context != allowed)
    complain(faults, abi.path("context"), "abi.mismatch", "must be " + std::string(allowed));
  return context.has_value();
}

void read_cap_slots(const Members& abi, Module& module, Complaints& faults) {
  const cbor::Item* given = abi.find("cap_slots");
  if (given == nullptr) return;
  if (!given->is_map()) {
    complain(faults, abi.path("cap_slots"), "type.invalid", "must be an object of slot: cap type");
    return;
  }
  for (size_t i = 0; i < given->items.size(); i += 2) {
    const std::string_view slot = given->items[i].string;
    const std::string path = below(abi.path("cap_slots"), slot);
    if (!is_slot_name(slot))
      complain(faults, path, "name.invalid", in_quotes(slot) + " is no name for a slot");
    const std::string cap_type = text_of(given->items[i + 1], path, "name.invalid", faults);
    if (!cap_type.empty() && !is_dotted_name(cap_type))
      complain(faults, path, "name.invalid", in_quotes(cap_type) + " is no cap type");
    module.cap_slots.emplace(slot, cap_type);
  }
}

void read_workflow_abi(const cbor::Item& given, const std::string& path, ModuleDraft& draft,
                       Complaints& faults) {
  const Members abi(given, path,
                    {"state", "event", "context", "annotations", "effects_emitted", "cap_slots"},
                    faults);
  Module& module = draft.module;
  module.state_schema = abi.text("state");
  module.event_schema = abi.text("event");
  module.annotations_schema = abi.optional_text("annotations").value_or("");
  module.has_context = read_context(abi, "sys/WorkflowContext@1", faults);
  module.declares_effects = abi.find("effects_emitted") != nullptr;
  size_t index = 0;
  for (const cbor::Item& given_kind : abi.array("effects_emitted")) {
    const std::string at = below(abi.path("effects_emitted"), index);
    std::string kind = text_of(given_kind, at, "type.invalid", faults);
    if (!kind.empty() && module.effects_emitted.insert(kind).second)
      draft.effects_emitted.emplace_back(index, std::move(kind));
    ++index;
  }
  read_cap_slots(abi, module, faults);
}

void read_pure_abi(const cbor::Item& given, const std::string& path, ModuleDraft& draft,
                   Complaints& faults) {
  const Members abi(given, path, {"input", "output", "context"}, faults);
  draft.module.input_schema = abi.text("input");
  draft.module.output_schema = abi.text("output");
  draft.module.has_context = read_context(abi, "sys/PureContext@1", faults);
}

void read_abi(const cbor::Item& given, const std::string& path, ModuleDraft& draft,
              Complaints& faults) {
  const Members abi(given, path, {"workflow", "pure"}, faults);
  const bool workflow = draft.module.kind == ModuleKind::Workflow;
  const std::string_view own = workflow ? "workflow" : "pure";
  const std::string_view other = workflow ? "pure" : "workflow";
  const bool has_other = abi.find(other) != nullptr;
  if (has_other)
    complain(faults, abi.path(other), "abi.mismatch",
             "a " + std::string(own) + " module has no such part");
  if (has_other && abi.find(own) == nullptr) return;  // one mistake, told once
  const cbor::Item* part = abi.need(own);
  if (part == nullptr) return;
  if (workflow)
    read_workflow_abi(*part, abi.path(own), draft, faults);
  else
    read_pure_abi(*part, abi.path(own), draft, faults);
}

void read_module(const cbor::Item& node, NodeDraft& draft, Complaints& faults) {
  const Members members(
      node, draft.path,
      {"$kind", "name", "module_kind", "wasm_hash", "wasm_b64", "key_schema", "abi"}, faults);
  ModuleDraft out;
  out.module.name = draft.name = read_name(members, draft.kind, faults);
  const std::string kind = members.text("module_kind", "kind.unknown");
  out.has_kind = kind == "workflow" || kind == "pure";
  out.module.kind = kind == "pure" ? ModuleKind::Pure : ModuleKind::Workflow;
  if (!out.has_kind && !kind.empty())
    complain(faults, members.path("module_kind"), "kind.unknown", "must be workflow or pure");
  out.module.key_schema = members.optional_text("key_schema").value_or("");
  if (out.has_kind && out.module.kind == ModuleKind::Pure && out.module.keyed())
    complain(faults, members.path("key_schema"), "abi.mismatch", "a pure module has no key");
  const cbor::Item* abi = members.need("abi");
  if (abi != nullptr && out.has_kind) read_abi(*abi, members.path("abi"), out, faults);

  const cbor::Item* hash = members.find("wasm_hash");
  const bool has_code = members.find("wasm_b64") != nullptr;
  if (hash == nullptr || (hash->is_text() && is_zero_hash(hash->string))) {
    if (!has_code) complain(faults, members.path("wasm_hash"), "field.missing", "is required");
  } else if (!hash->is_text() || !is_hash(hash->string)) {
    complain(faults, members.path("wasm_hash"), "hash.mismatch",
             "must be \"sha256:\" and 64 hexadecimal digits in lower case");
  } else {
    out.module.wasm_hash = std::string(hash->string);
  }
  draft.def = std::move(out);
}

void read_effect(const cbor::Item& node, NodeDraft& draft, Complaints& faults) {
  const Members members(
      node, draft.path,
      {"$kind", "name", "kind", "params_schema", "receipt_schema", "cap_type", "origin_scope"},
      faults);
  Effect effect;
  effect.name = draft.name = read_name(members, draft.kind, faults);
  effect.kind = dotted_text(members, "kind", faults);
  effect.params_schema = members.text("params_schema");
  effect.receipt_schema = members.text("receipt_schema");
  effect.cap_type = dotted_text(members, "cap_type", faults);
  const std::string scope = members.optional_text("origin_scope").value_or("both");
  if (scope != "workflow" && scope != "plan" && scope != "both")
    complain(faults, members.path("origin_scope"), "type.invalid",
             "must be workflow, plan or both");
  draft.def = std::move(effect);
}

void read_cap(const cbor::Item& node, NodeDraft& draft, Complaints& faults) {
  const Members members(node, draft.path, {"$kind", "name", "cap_type", "schema", "enforcer"},
                        faults);
  Cap cap;
  cap.name = draft.name = read_name(members, draft.kind, faults);
  cap.cap_type = dotted_text(members, "cap_type", faults);
  if (const cbor::Item* schema = members.need("schema"))
    cap.type = read_type(*schema, members.path("schema"), faults);
  cap.enforcer = "sys/CapAllowAll@1";
  if (const cbor::Item* enforcer = members.find("enforcer"))
    cap.enforcer = Members(*enforcer, members.path("enforcer"), {"module"}, faults).text("module");
  draft.def = std::move(cap);
}

// Nothing if it says not even when.
std::optional<Rule> read_rule(const cbor::Item& given, const std::string& path,
                              Complaints& faults) {
  const Members members(given, path, {"when", "decision"}, faults);
  Rule rule;
  const std::string decision = members.text("decision", "policy.invalid");
  rule.allow = decision == "allow";
  if (!decision.empty() && decision != "allow" && decision != "deny")
    complain(faults, members.path("decision"), "policy.invalid", "must be allow or deny");
  const cbor::Item* condition = members.need("when");
  if (condition == nullptr) return std::nullopt;
  const Members when(*condition, members.path("when"),
                     {"effect_kind", "cap_name", "cap_type", "origin_kind", "origin_name"}, faults);
  rule.effect_kind = when.optional_text("effect_kind", "policy.invalid");
  rule.cap_name = when.optional_text("cap_name", "policy.invalid");
  rule.cap_type = when.optional_text("cap_type", "policy.invalid");
  rule.origin_name = when.optional_text("origin_name", "policy.invalid");
  const auto origin = when.optional_text("origin_kind", "policy.invalid");
  if (!origin) return rule;
  rule.origin_kind = parse_origin(*origin);
  if (!rule.origin_kind)
    complain(faults, when.path("origin_kind"), "policy.invalid",
             "must be workflow, system or governance");
  return rule;
}

void read_policy(const cbor::Item& node, NodeDraft& draft, Complaints& faults) {
  const Members members(node, draft.path, {"$kind", "name", "rules"}, faults);
  Policy policy;
  policy.name = draft.name = read_name(members, draft.kind, faults);
  size_t index = 0;
  for (const cbor::Item& rule : members.needed_array("rules"))
    if (auto read = read_rule(rule, below(members.path("rules"), index++), faults))
      policy.rules.push_back(*std::move(read));
  draft.def = std::move(policy);
}

void read_secret(const cbor::Item& node, NodeDraft& draft, Complaints& faults) {
  const Members members(node, draft.path,
                        {"$kind", "name", "binding_id", "expected_digest", "allowed_caps"}, faults);
  Secret secret;
  secret.name = draft.name = read_name(members, draft.kind, faults);
  secret.binding_id = members.text("binding_id");
  secret.expected_digest = members.optional_text("expected_digest");
  if (secret.expected_digest && !is_hash(*secret.expected_digest))
    complain(faults, members.path("expected_digest"), "type.invalid",
             "must be \"sha256:\" and 64 hexadecimal digits in lower case");
  size_t index = 0;
  for (const cbor::Item& given : members.array("allowed_caps")) {
    const std::string at = below(members.path("allowed_caps"), index++);
    if (std::string cap = text_of(given, at, "type.invalid", faults); !cap.empty())
      secret.allowed_caps.push_back(std::move(cap));
  }
  draft.def = std::move(secret);
}

}  // namespace

std::string_view def_kind_name(DefKind kind) {
  switch (kind) {
    case DefKind::Schema:
      return "defschema";
    case DefKind::Module:
      return "defmodule";
    case DefKind::Effect:
      return "defeffect";
    case DefKind::Cap:
      return "defcap";
    case DefKind::Policy:
      return "defpolicy";
    case DefKind::Secret:
      return "defsecret";
  }
  return {};
}

bool is_zero_hash(std::string_view text) {
  return is_hash(text) && text.find_first_not_of('0', text.find(':') + 1) == std::string_view::npos;
}

std::optional<NodeDraft> read_node(const cbor::Item& node, const std::string& path,
                                   Complaints& faults) {
  if (!node.is_map()) {
    complain(faults, path, "type.invalid", "must be an object");
    return std::nullopt;
  }
  const std::optional<DefKind> kind = read_kind(node, path, faults);
  if (!kind) return std::nullopt;
  const size_t faults_before = faults.size();
  NodeDraft draft;
  draft.kind = *kind;
  draft.path = path;
  switch (*kind) {
    case DefKind::Schema:
      read_schema(node, draft, faults);
      break;
    case DefKind::Module:
      read_module(node, draft, faults);
      break;
    case DefKind::Effect:
      read_effect(node, draft, faults);
      break;
    case DefKind::Cap:
      read_cap(node, draft, faults);
      break;
    case DefKind::Policy:
      read_policy(node, draft, faults);
      break;
    case DefKind::Secret:
      read_secret(node, draft, faults);
      break;
  }
  draft.sound = faults.size() == faults_before;
  return draft;
}

}  // namespace pawl::worlds
