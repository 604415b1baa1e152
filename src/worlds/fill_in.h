// Fills in what authors may leave out: the canonical text and hash of nodes, the entries and hashes
// of the manifest's lists. See "canonical text" in program.h.
#pragma once

#include <optional>
#include <vector>

#include "base/json.h"
#include "worlds/draft.h"
#include "worlds/given_json.h"

namespace pawl::worlds {

// The nodes of a body, without those of which not even the kind is known. A module's wasm_b64
// becomes its wasm_hash and the draft's code.
std::vector<NodeDraft> read_given_nodes(json::View nodes, GivenJson& json,
                                        std::vector<Complaint>& faults);

// Joins a manifest with its nodes: the given ones by name, others by hash. Warns of given nodes
// that no list names; they are left out.
Draft fill_in(ManifestDraft manifest, std::vector<NodeDraft> given, FindBytes find_node,
              std::vector<Complaint>& faults, std::vector<Complaint>& warnings);

}  // namespace pawl::worlds
