// Draft: what the readers make of a manifest and of nodes, each by itself, before the parts are
// checked against each other (judge_program). Where a reader has complained, a text is "" and a
// list is shorter; later checks pass over what is "", so that one mistake is told once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "worlds/program.h"

namespace pawl::worlds {

enum class DefKind : uint8_t {
  Schema,
  Module,
  Effect,
  Cap,
  Policy,
  Secret
};  // in the order of defs
constexpr std::array kDefKinds = {DefKind::Schema, DefKind::Module, DefKind::Effect,
                                  DefKind::Cap,    DefKind::Policy, DefKind::Secret};
std::string_view def_kind_name(DefKind kind);  // "defschema"
std::string_view def_list_name(DefKind kind);  // "schemas", the manifest's list of them

// A node that came from the store has no place in the body. Its path is that of its entry in the
// manifest and this mark, behind which readers append as they do for any node; cut_at_mark() takes
// it off in the end.
constexpr char kStoredMark = '\0';
void cut_at_mark(std::vector<Complaint>& faults);

struct ModuleDraft {
  Module module;
  bool has_kind = false;                                        // module_kind was one of the two
  std::vector<std::pair<size_t, std::string>> effects_emitted;  // by their places in the list
};

struct NodeDraft {
  DefKind kind = DefKind::Schema;
  std::string name;
  std::string path;
  std::string hash, bytes;          // canonical
  bool sound = true;                // nothing in it was complained of so far
  std::optional<std::string> code;  // of a module whose WASM came along
  std::variant<Type, ModuleDraft, Effect, Cap, Policy, Secret> def;

  bool is_stored() const { return !path.empty() && path.back() == kStoredMark; }
};

struct EntryDraft {  // of one of the manifest's lists
  std::string name;
  std::string hash;  // "" = to be filled in
  std::string path;
  bool hash_is_bad = false;
};

struct GrantDraft {
  std::string name, cap;
  std::optional<std::string> params;  // as given: canonical CBOR of the plain JSON
  std::optional<int64_t> expiry_ns;
  std::string path;
};

struct BindingDraft {
  std::string module;
  std::vector<std::pair<std::string, std::string>> slots;  // slot -> grant; "" = bad
  std::string path;
};

struct RouteDraft {
  std::string event, module;
  std::optional<std::string> key_field;
  bool key_field_is_bad = false;  // it was complained of
  std::string path;
  std::string_view module_member = "module";  // or "reducer", as it was written
};

struct InboxDraft {
  std::string source, workflow;
  std::string path;
};

struct LimitsDraft {
  std::optional<uint64_t> fuel;
  std::optional<uint32_t> memory_pages;
};

struct ManifestDraft {
  bool says_kind = false;  // "$kind": "manifest" was given
  std::array<std::optional<std::vector<EntryDraft>>, kDefKinds.size()> lists;  // nullopt: absent
  std::optional<std::string> policy;
  std::vector<GrantDraft> grants;
  std::vector<BindingDraft> bindings;
  std::vector<RouteDraft> routes;
  std::vector<InboxDraft> inboxes;
  std::optional<LimitsDraft> limits;

  std::optional<std::vector<EntryDraft>>& list(DefKind kind) {
    return lists[static_cast<size_t>(kind)];
  }
  const std::optional<std::vector<EntryDraft>>& list(DefKind kind) const {
    return lists[static_cast<size_t>(kind)];
  }
};

struct Draft {
  ManifestDraft manifest;
  std::vector<NodeDraft> nodes;  // those that the manifest lists, in the order of its lists
};

}  // namespace pawl::worlds
