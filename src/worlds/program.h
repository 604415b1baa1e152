// Program: a manifest with its nodes, checked and resolved: what a world runs under. Never changes;
// shared by the threads that step worlds.
//
// Canonical text: what is stored, hashed and printed; reading it again gives the same bytes and
// hash.
//
// - A node is kept as it was given: JSON -> CBOR, optional members absent or null as the author has
//   them. Only a module whose code came along changes: wasm_b64 goes, wasm_hash is that of the
//   code.
// - A manifest always has air_version, the six lists (entries are {name, hash}),
//   defaults.cap_grants, module_bindings, routing.subscriptions and routing.inboxes, empty if the
//   author left them out. It has "$kind", defaults.policy, a grant's expiry_ns, a subscription's
//   key_field, limits and its members only if they were given and are not null: no default is
//   written in. A grant's params stay as they were given. What was called routing.events or reducer
//   has the name of today.
// - An absent list is made of the given nodes of its kind, sorted by name; a given one keeps its
//   order. Entries without a hash, or with one of zeros, get that of the given node of their name;
//   a hash that no given node has is looked up in the store. Given nodes that a given list does not
//   name are left out, with a warning.
//
// Names are unique within a kind of node. Those under sys/ are built in (worlds/builtins.h): never
// listed, never defined (name.reserved), and neither are the kinds of the server's own effects. A
// secret may do without a namespace (alias@N).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worlds/module_host.h"
#include "worlds/type.h"

namespace pawl::worlds {

enum class ModuleKind : uint8_t { Workflow, Pure };
enum class OriginKind : uint8_t { Workflow, System, Governance };
std::string_view origin_name(OriginKind kind);  // "workflow", "system", "governance"
std::optional<OriginKind> parse_origin(std::string_view name);

using TypeRef = std::shared_ptr<const Type>;

struct Module {
  std::string name;
  ModuleKind kind = ModuleKind::Workflow;
  std::string wasm_hash;
  std::string key_schema;  // "" = not keyed
  TypeRef key_type;
  bool has_context = false;
  // workflow
  std::string state_schema, event_schema, annotations_schema;
  TypeRef state_type, event_type, annotations_type;
  bool declares_effects = false;  // effects_emitted was given
  std::set<std::string, std::less<>> effects_emitted;
  std::map<std::string, std::string, std::less<>> cap_slots;  // slot -> cap type
  // pure
  std::string input_schema, output_schema;
  TypeRef input_type, output_type;

  bool keyed() const { return !key_schema.empty(); }
};

struct Effect {
  std::string name;
  std::string kind;
  std::string params_schema, receipt_schema, cap_type;
  TypeRef params_type, receipt_type;
};

struct Cap {
  std::string name;
  std::string cap_type;
  Type type;  // of a grant's params
  // A pure module, or sys/CapAllowAll@1. Of the sys caps with constraints a name of its own under
  // sys/: for those check_builtin_cap() decides.
  std::string enforcer;
};

struct Grant {
  std::string name;
  std::string cap;       // defcap
  std::string cap_type;  // of that
  std::string params;    // canonical CBOR
  std::optional<int64_t> expiry_ns;
  std::string hash;  // grant_hash
};

struct Rule {
  std::optional<std::string> effect_kind, cap_name, cap_type, origin_name;
  std::optional<OriginKind> origin_kind;
  bool allow = false;
};

struct Policy {
  std::string name;
  std::vector<Rule> rules;
};

struct Secret {
  std::string name;  // alias@version
  std::string binding_id;
  std::optional<std::string> expected_digest;
  std::vector<std::string> allowed_caps;
};

struct Subscription {
  std::string event;  // schema
  std::string module;
  std::string key_field;  // "" = none
  // The module's event schema is this variant, and the event goes into this arm; "" = taken as it
  // is.
  std::string arm;
};

struct Def {  // as GET B/defs lists it
  std::string name, kind, hash;
};

struct Program {
  std::string manifest_hash;
  std::string manifest;  // canonical CBOR, and as JSON:
  std::string manifest_json;
  std::vector<Def> defs;  // without sys/*; in the manifest's order of lists, then of entries
  Types types;            // sys/* too
  std::map<std::string, Module, std::less<>> modules;
  std::map<std::string, Effect, std::less<>> effects;  // by kind; built-in ones too
  std::map<std::string, Cap, std::less<>> caps;        // by name; built-in ones too
  std::map<std::string, Grant, std::less<>> grants;
  std::map<std::string, Secret, std::less<>> secrets;
  std::optional<Policy> policy;                         // defaults.policy
  std::map<std::string, Policy, std::less<>> policies;  // all
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>
      bindings;  // module -> slot -> grant
  std::vector<Subscription> subscriptions;
  ModuleLimits limits;

  const Module* module(std::string_view name) const;
  const Effect* effect(std::string_view kind) const;
};

// The name of the arm of this variant whose type is a ref to `schema`; "" if there is none, or it
// is no variant.
std::string arm_of(const Type& type, std::string_view schema);

// What a client sends as a world's code. nodes: each as canonical CBOR with its hash.
struct NodeBytes {
  std::string hash, bytes;
};
struct ProgramText {
  std::string manifest;  // canonical CBOR, complete: lists and hashes filled in
  std::string manifest_hash;
  std::vector<NodeBytes> nodes;
  std::map<std::string, std::string> blobs;  // hash -> code that came as wasm_b64
  std::vector<Complaint> faults;  // all at once (the first 1,000); path: JSON pointer into the body
  std::vector<Complaint> warnings;         // field.alias, node.unlisted
  std::shared_ptr<const Program> program;  // null if there are faults
};

// Where a reader finds what the body does not bring along: nodes and code by hash (nullopt:
// unknown).
using FindBytes = FunctionRef<std::optional<std::string>(std::string_view hash)>;

// Reads `manifest` and `nodes` of a request body; without nodes, all are found by hash. Never fails
// as a whole: faults tell. Fills in what authors leave out (canonical text, above). The host judges
// code, that which came along and that which find_blob knows. An error only if the host is
// Unavailable and code must be judged.
Result<ProgramText> read_program(std::optional<json::View> manifest,
                                 std::optional<json::View> nodes, FindBytes find_node,
                                 FindBytes find_blob, ModuleHost& host);

// The same from stored bytes, which were checked when they were stored: for opening a world.
// Corrupt if they are not what they were.
Result<std::shared_ptr<const Program>> load_program(std::string_view manifest_hash,
                                                    FindBytes find_node);

}  // namespace pawl::worlds
