#include "worlds/fill_in.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/quote.h"
#include "worlds/hash.h"
#include "worlds/json_pointer.h"
#include "worlds/manifest_reader.h"
#include "worlds/members.h"
#include "worlds/node_reader.h"

namespace pawl::worlds {
namespace {

using Complaints = std::vector<Complaint>;

// The node as it is stored: its code is elsewhere, under wasm_hash.
std::string with_hash_for_code(const cbor::Item& node, const std::string& wasm_hash) {
  cbor::Item out;
  out.kind = cbor::Kind::Map;
  for (size_t i = 0; i < node.items.size(); i += 2) {
    const std::string_view name = node.items[i].string;
    if (name == "wasm_b64" || (name == "wasm_hash" && !wasm_hash.empty())) continue;
    out.items.push_back(node.items[i]);
    out.items.push_back(node.items[i + 1]);
  }
  if (!wasm_hash.empty()) {
    cbor::Item key, value;
    key.kind = value.kind = cbor::Kind::Text;
    key.string = "wasm_hash";
    value.string = wasm_hash;
    out.items.push_back(std::move(key));
    out.items.push_back(std::move(value));
  }
  std::string bytes;
  cbor::append(bytes, out);
  return bytes;
}

// Decodes wasm_b64, if it is there, and sees that it is what wasm_hash says.
void take_code(const cbor::Item& node, NodeDraft& draft, Complaints& faults) {
  const cbor::Item* given = node.find("wasm_b64");
  if (given == nullptr || given->is_null()) return;
  std::string& wasm_hash = std::get<ModuleDraft>(draft.def).module.wasm_hash;
  std::string code;
  if (!given->is_text() || !from_base64(given->string, code)) {
    complain(faults, draft.path + "/wasm_b64", "module.invalid", "must be padded base64");
    return;
  }
  const std::string hash = hash_of_bytes(code);
  if (!wasm_hash.empty() && wasm_hash != hash)
    complain(faults, draft.path + "/wasm_hash", "hash.mismatch", "wasm_b64 has the hash " + hash);
  wasm_hash = hash;
  draft.code = std::move(code);
}

// `room`: how much text may still come.
std::optional<NodeDraft> read_given_node(json::View view, const std::string& path, GivenJson& json,
                                         size_t& room, Complaints& faults) {
  std::optional<std::string> bytes = json.read(view, path);
  if (!bytes) return std::nullopt;
  const auto code = view.find("wasm_b64");
  const size_t size = bytes->size() - (code && code->is_string() ? code->string().size() : 0);
  if (size > room) {
    if (room > 0) complain(faults, path, "limit.invalid", "the nodes are larger than 8 MiB");
    room = 0;
    return std::nullopt;
  }
  room -= size;
  const Result<cbor::Item> item = cbor::read(*bytes);
  if (!item.ok()) {
    complain(faults, path, "type.invalid", item.error().message);
    return std::nullopt;
  }
  std::optional<NodeDraft> draft = read_node(*item, path, faults);
  if (!draft) return draft;
  if (draft->kind == DefKind::Module) {
    take_code(*item, *draft, faults);
    draft->bytes = with_hash_for_code(*item, std::get<ModuleDraft>(draft->def).module.wasm_hash);
  } else {
    draft->bytes = *std::move(bytes);
  }
  draft->hash = hash_of_structure(draft->bytes);
  return draft;
}

std::optional<NodeDraft> read_stored_node(const std::string& hash, const std::string& path,
                                          FindBytes find_node, Complaints& faults) {
  std::optional<std::string> bytes = find_node(hash);
  if (!bytes) {
    complain(faults, path + "/hash", "ref.unknown", "no node of this hash was given or is stored");
    return std::nullopt;
  }
  const Result<cbor::Item> item = cbor::read(*bytes);
  if (!item.ok() || hash_of_structure(*bytes) != hash) {
    complain(faults, path + "/hash", "hash.mismatch", "the stored node is not what it was");
    return std::nullopt;
  }
  std::optional<NodeDraft> draft = read_node(*item, path + kStoredMark, faults);
  if (!draft) return draft;
  draft->hash = hash;
  draft->bytes = std::move(*bytes);
  return draft;
}

class Filler {
 public:
  Filler(Draft& draft, std::vector<NodeDraft>& given, FindBytes find_node, Complaints& faults)
      : draft_(draft), given_(given), find_node_(find_node), faults_(faults) {}

  void run() {
    index_given();
    for (const DefKind kind : kDefKinds) {
      auto& list = draft_.manifest.list(kind);
      if (!list) list = entries_of_given(kind);
      for (EntryDraft& entry : *list)
        if (std::optional<NodeDraft> node = find(kind, entry))
          draft_.nodes.push_back(std::move(*node));
    }
  }

  // Those that no list names.
  std::vector<std::string> unlisted() const {
    std::vector<std::string> paths;
    for (const auto& [name, index] : by_name_)
      if (!used_.contains(index)) paths.push_back(given_[index].path);
    return paths;
  }

 private:
  void index_given() {
    for (size_t i = 0; i < given_.size(); ++i) {
      const NodeDraft& node = given_[i];
      if (node.name.empty()) continue;
      if (!by_name_.emplace(std::pair(node.kind, node.name), i).second)
        complain(faults_, node.path + "/name", "name.duplicate",
                 "another " + std::string(def_kind_name(node.kind)) + " is called " +
                     in_quotes(node.name));
    }
  }

  std::vector<EntryDraft> entries_of_given(DefKind kind) const {
    std::vector<EntryDraft> entries;
    for (const auto& [name, index] : by_name_)  // by kind, then by name
      if (name.first == kind) entries.push_back({name.second, "", given_[index].path});
    return entries;
  }

  std::optional<NodeDraft> find(DefKind kind, EntryDraft& entry) {
    const auto found = by_name_.find(std::pair(kind, entry.name));
    if (found != by_name_.end()) {
      used_.insert(found->second);
      NodeDraft& node = given_[found->second];
      if (entry.hash.empty()) entry.hash = node.hash;
      if (entry.hash != node.hash)
        complain(faults_, entry.path + "/hash", "hash.mismatch",
                 "the node given as " + in_quotes(entry.name) + " has the hash " + node.hash);
      return std::move(node);
    }
    if (entry.hash_is_bad) return std::nullopt;
    if (entry.hash.empty()) {
      complain(faults_, entry.path + "/name", "ref.unknown",
               "no " + std::string(def_kind_name(kind)) + " of this name was given");
      return std::nullopt;
    }
    std::optional<NodeDraft> node = read_stored_node(entry.hash, entry.path, find_node_, faults_);
    if (!node || (node->kind == kind && node->name == entry.name)) return node;
    complain(faults_, entry.path + "/hash", "hash.mismatch",
             "is the hash of the " + std::string(def_kind_name(node->kind)) + " " +
                 in_quotes(node->name));
    return std::nullopt;
  }

  Draft& draft_;
  std::vector<NodeDraft>& given_;
  FindBytes find_node_;
  Complaints& faults_;
  std::map<std::pair<DefKind, std::string>, size_t> by_name_;
  std::set<size_t> used_;
};

}  // namespace

void cut_at_mark(Complaints& faults) {
  for (Complaint& fault : faults)
    if (const size_t mark = fault.path.find(kStoredMark); mark != std::string::npos)
      fault.path.resize(mark);
}

std::vector<NodeDraft> read_given_nodes(json::View nodes, GivenJson& json, Complaints& faults) {
  std::vector<NodeDraft> drafts;
  if (nodes.is_null()) return drafts;
  if (!nodes.is_array() || nodes.size() > kNodesMax) {
    complain(faults, "/nodes", nodes.is_array() ? "limit.invalid" : "type.invalid",
             "must be an array of at most " + std::to_string(kNodesMax) + " nodes");
    return drafts;
  }
  size_t index = 0, room = kNodeBytesMax;
  nodes.each_element([&](json::View node) {
    const std::string path = below("/nodes", index++);
    if (auto draft = read_given_node(node, path, json, room, faults))
      drafts.push_back(std::move(*draft));
    if (faults.size() > kFaultsMax) faults.resize(kFaultsMax);  // read_type() does not count
  });
  return drafts;
}

Draft fill_in(ManifestDraft manifest, std::vector<NodeDraft> given, FindBytes find_node,
              Complaints& faults, Complaints& warnings) {
  Draft draft;
  draft.manifest = std::move(manifest);
  Filler filler(draft, given, find_node, faults);
  filler.run();
  for (const std::string& path : filler.unlisted())
    complain(warnings, path, "node.unlisted", "no list of the manifest names it: it is left out");
  return draft;
}

}  // namespace pawl::worlds
