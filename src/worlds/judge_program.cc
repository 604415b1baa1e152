#include "worlds/judge_program.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/quote.h"
#include "worlds/builtins.h"
#include "worlds/hash.h"
#include "worlds/json_pointer.h"
#include "worlds/members.h"

namespace pawl::worlds {
namespace {

using Complaints = std::vector<Complaint>;

// All its refs have targets, and those too: what is complained of stays without one.
bool is_resolved(const Type& type) {
  if (type.kind == TypeKind::Ref) return type.target != nullptr;
  return std::all_of(type.inner.begin(), type.inner.end(), is_resolved) &&
         std::all_of(type.members.begin(), type.members.end(),
                     [](const auto& member) { return is_resolved(member.second); });
}

// A structure's hash: H{cap, cap_type, params, expiry_ns}.
std::string grant_hash(const Grant& grant) {
  std::string preimage;
  cbor::Map map(preimage);
  map.text("cap", grant.cap).text("cap_type", grant.cap_type).bytes("params", grant.params);
  if (grant.expiry_ns)
    map.integer("expiry_ns", *grant.expiry_ns);
  else
    map.null("expiry_ns");
  map.end();
  return hash_of_structure(preimage);
}

// The manifest keeps params as the author wrote them, in the sugar of the cap's schema.
Result<std::string> read_params(const Type& type, const std::string& plain) {
  PAWL_TRY(const cbor::Item item, cbor::read(plain));
  std::string text;
  cbor::append_json(text, item);
  PAWL_TRY(const json::Doc doc, json::parse(text));
  return from_json(type, doc.root());
}

class ProgramJudge {
 public:
  ProgramJudge(const Draft& draft, Program& program, Complaints& faults)
      : draft_(draft), program_(program), faults_(faults) {
    for (const DefKind kind : kDefKinds)
      if (const auto& list = draft.manifest.list(kind))
        for (const EntryDraft& entry : *list) listed_.emplace(kind, entry.name);
  }

  void run() {
    list_defs();
    judge_types();
    add_builtin_effects(program_);
    add_builtin_caps(program_);
    each<Effect>(
        [this](const NodeDraft& node, const Effect& effect) { judge_effect(node, effect); });
    each<ModuleDraft>(
        [this](const NodeDraft& node, const ModuleDraft& module) { judge_module(node, module); });
    each<Cap>([this](const NodeDraft& node, const Cap& cap) { judge_cap(node, cap); });
    each<Policy>([this](const NodeDraft&, const Policy& policy) {
      program_.policies.emplace(policy.name, policy);
    });
    each<Secret>([this](const NodeDraft&, const Secret& secret) {
      program_.secrets.emplace(secret.name, secret);
    });
    judge_policy();
    for (const GrantDraft& grant : draft_.manifest.grants) judge_grant(grant);
    for (const BindingDraft& binding : draft_.manifest.bindings) judge_binding(binding);
    for (const RouteDraft& route : draft_.manifest.routes) judge_route(route);
    for (const InboxDraft& inbox : draft_.manifest.inboxes)
      find_module(inbox.workflow, inbox.path + "/workflow");
    if (const auto& limits = draft_.manifest.limits) {
      program_.limits.fuel = limits->fuel.value_or(program_.limits.fuel);
      program_.limits.memory_pages = limits->memory_pages.value_or(program_.limits.memory_pages);
    }
  }

 private:
  template <class Def, class Visit>
  void each(Visit&& visit) {
    for (const NodeDraft& node : draft_.nodes)
      if (const Def* def = std::get_if<Def>(&node.def)) visit(node, *def);
  }

  void fault(std::string path, std::string_view code, std::string message) {
    complain(faults_, std::move(path), code, std::move(message));
  }
  // What is listed and still not there was complained of before.
  bool is_listed(DefKind kind, std::string_view name) const {
    return listed_.contains(std::pair(kind, std::string(name)));
  }

  void list_defs() {
    for (const NodeDraft& node : draft_.nodes)
      program_.defs.push_back({node.name, std::string(def_kind_name(node.kind)), node.hash});
  }

  void judge_types() {
    add_builtin_types(program_.types);
    std::map<std::string, std::string> paths;
    each<Type>([&](const NodeDraft& node, const Type& type) {
      program_.types.add(node.name, type);
      if (!node.sound) unsound_.insert(node.name);
      paths.emplace(node.name, node.path + "/type");
    });
    program_.types.resolve(paths, faults_);
  }

  // The type of this schema; null, and a complaint, if there is none. Null also if something was
  // said about the schema itself.
  TypeRef find_type(const std::string& schema, const std::string& path) {
    if (schema.empty() || unsound_.contains(schema)) return nullptr;
    TypeRef type = program_.types.find(schema);
    if (type == nullptr && !is_listed(DefKind::Schema, schema))
      fault(path, "ref.unknown", "there is no schema " + in_quotes(schema));
    return type != nullptr && is_resolved(*type) ? type : nullptr;
  }

  const Module* find_module(const std::string& name, const std::string& path) {
    if (name.empty()) return nullptr;
    const Module* module = program_.module(name);
    if (module == nullptr && !is_listed(DefKind::Module, name))
      fault(path, "ref.unknown", "there is no module " + in_quotes(name));
    return module;
  }

  void judge_effect(const NodeDraft& node, const Effect& given) {
    Effect effect = given;
    effect.params_type = find_type(effect.params_schema, node.path + "/params_schema");
    effect.receipt_type = find_type(effect.receipt_schema, node.path + "/receipt_schema");
    if (effect.kind.empty()) return;
    if (is_reserved_effect(effect.kind))
      fault(node.path + "/kind", "name.reserved",
            in_quotes(effect.kind) + " is an effect of the server and cannot be defined");
    else if (!program_.effects.emplace(effect.kind, effect).second)
      fault(node.path + "/kind", "name.duplicate",
            "another effect has the kind " + in_quotes(effect.kind));
  }

  void judge_module(const NodeDraft& node, const ModuleDraft& draft) {
    if (!draft.has_kind) return;
    Module module = draft.module;
    if (module.keyed()) {
      module.key_type = find_type(module.key_schema, node.path + "/key_schema");
      if (module.key_type != nullptr && !is_key_kind(module.key_type->plain().kind)) {
        fault(node.path + "/key_schema", "type.invalid", "a key is int, nat, text, uuid or hash");
        module.key_type.reset();  // nothing could be of it: key_field is not to blame
      }
    }
    const std::string workflow = node.path + "/abi/workflow", pure = node.path + "/abi/pure";
    module.state_type = find_type(module.state_schema, workflow + "/state");
    module.event_type = find_type(module.event_schema, workflow + "/event");
    module.annotations_type = find_type(module.annotations_schema, workflow + "/annotations");
    module.input_type = find_type(module.input_schema, pure + "/input");
    module.output_type = find_type(module.output_schema, pure + "/output");
    for (const auto& [index, kind] : draft.effects_emitted)
      if (program_.effect(kind) == nullptr)
        fault(below(workflow + "/effects_emitted", index), "effect.unknown",
              "no effect has the kind " + in_quotes(kind));
    program_.modules.emplace(module.name, std::move(module));
  }

  void judge_cap(const NodeDraft& node, const Cap& given) {
    Cap cap = given;
    program_.types.resolve(cap.type, node.path + "/schema", faults_);
    if (!node.sound || !is_resolved(cap.type)) unsound_.insert(node.name);
    if (!is_reserved_name(cap.enforcer))
      judge_enforcer(cap.enforcer, node.path + "/enforcer/module");
    else if (cap.enforcer != "sys/CapAllowAll@1")
      fault(node.path + "/enforcer/module", "ref.unknown",
            "the server's only enforcer for other caps is sys/CapAllowAll@1");
    program_.caps.emplace(cap.name, std::move(cap));
  }

  void judge_enforcer(const std::string& name, const std::string& path) {
    const Module* module = find_module(name, path);
    if (module == nullptr) return;
    if (module->kind != ModuleKind::Pure || module->input_schema != "sys/CapCheckInput@1" ||
        module->output_schema != "sys/CapCheckOutput@1")
      fault(path, "abi.mismatch",
            "an enforcer is a pure module from sys/CapCheckInput@1 to sys/CapCheckOutput@1");
  }

  void judge_policy() {
    if (!draft_.manifest.policy) return;
    const std::string& name = *draft_.manifest.policy;
    if (const auto found = program_.policies.find(name); found != program_.policies.end())
      program_.policy = found->second;
    else if (!is_listed(DefKind::Policy, name))
      fault("/manifest/defaults/policy", "ref.unknown", "there is no policy " + in_quotes(name));
  }

  void judge_grant(const GrantDraft& draft) {
    Grant grant;
    grant.name = draft.name;
    grant.cap = draft.cap;
    grant.expiry_ns = draft.expiry_ns;
    const auto cap = program_.caps.find(draft.cap);
    if (cap == program_.caps.end()) {
      if (!draft.cap.empty() && !is_listed(DefKind::Cap, draft.cap))
        fault(draft.path + "/cap", "cap.unknown", "there is no cap " + in_quotes(draft.cap));
    } else {
      grant.cap_type = cap->second.cap_type;
      judge_params(cap->second, draft, grant);
    }
    if (!grant.name.empty() && !program_.grants.emplace(grant.name, std::move(grant)).second)
      fault(draft.path + "/name", "grant.duplicate",
            "another grant is called " + in_quotes(draft.name));
  }

  void judge_params(const Cap& cap, const GrantDraft& draft, Grant& grant) {
    if (!draft.params || unsound_.contains(cap.name)) return;
    Result<std::string> params = read_params(cap.type, *draft.params);
    if (!params.ok()) {
      fault(draft.path + "/params", "grant.invalid_params", params.error().message);
      return;
    }
    grant.params = *std::move(params);
    grant.hash = grant_hash(grant);
  }

  // Its node was complained of, and says nothing of its slots.
  static bool lacks_abi(const Module& module) {
    return module.kind == ModuleKind::Workflow && module.state_schema.empty() &&
           module.event_schema.empty();
  }

  void judge_binding(const BindingDraft& draft) {
    const Module* module = find_module(draft.module, draft.path);
    auto& slots = program_.bindings[draft.module];
    for (const auto& [slot, name] : draft.slots) {
      const std::string path = below(draft.path + "/slots", slot);
      std::string cap_type;  // "": any
      if (module != nullptr) {
        const auto declared = module->cap_slots.find(slot);
        if (declared != module->cap_slots.end())
          cap_type = declared->second;
        else if (slot != "default" && !lacks_abi(*module))
          fault(path, "slot.unknown", "the module declares no slot " + in_quotes(slot));
      }
      if (name.empty()) continue;
      slots.emplace(slot, name);
      const auto grant = program_.grants.find(name);
      if (grant == program_.grants.end())
        fault(path, "grant.unknown", "there is no grant " + in_quotes(name));
      else if (!cap_type.empty() && !grant->second.cap_type.empty() &&
               grant->second.cap_type != cap_type)
        fault(path, "slot.type_mismatch",
              "the slot takes " + cap_type + ", the grant is of " + grant->second.cap_type);
    }
  }

  void judge_route(const RouteDraft& draft) {
    const Module* module = find_module(draft.module, below(draft.path, draft.module_member));
    const TypeRef event = find_type(draft.event, draft.path + "/event");
    if (module == nullptr) return;
    if (module->kind != ModuleKind::Workflow) {
      fault(below(draft.path, draft.module_member), "abi.mismatch",
            "a pure module takes no events");
      return;
    }
    Subscription subscription{draft.event, draft.module, draft.key_field.value_or(""), ""};
    if (event != nullptr && module->event_type != nullptr && draft.event != module->event_schema) {
      subscription.arm = arm_of(*module->event_type, draft.event);
      if (subscription.arm.empty())
        fault(draft.path + "/event", "routing.event_mismatch",
              "is neither the module's event schema " + module->event_schema +
                  " nor one of its arms");
    }
    judge_key_field(draft, *module, event.get());
    program_.subscriptions.push_back(std::move(subscription));
  }

  void judge_key_field(const RouteDraft& draft, const Module& module, const Type* event) {
    if (draft.key_field_is_bad) return;
    const std::string path = draft.path + "/key_field";
    if (module.keyed() != draft.key_field.has_value()) {
      fault(path, "routing.key_field",
            module.keyed() ? "is required: the module is keyed" : "the module is not keyed");
      return;
    }
    if (!module.keyed() || event == nullptr || module.key_type == nullptr) return;
    const Type* field = path_type(*event, *draft.key_field);
    if (field == nullptr)
      fault(path, "routing.key_field", "the event has nothing at " + in_quotes(*draft.key_field));
    else if (field->plain().kind != module.key_type->plain().kind)
      fault(path, "routing.key_field",
            "has not the type of the module's key schema " + module.key_schema);
  }

  const Draft& draft_;
  Program& program_;
  Complaints& faults_;
  std::set<std::pair<DefKind, std::string>> listed_;
  std::set<std::string> unsound_;  // schemas and caps that were complained of
};

}  // namespace

std::shared_ptr<Program> judge_program(const Draft& draft, Complaints& faults) {
  auto program = std::make_shared<Program>();
  ProgramJudge(draft, *program, faults).run();
  return program;
}

}  // namespace pawl::worlds
