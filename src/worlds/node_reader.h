// Reads one node, without looking at other nodes that it refers to: judge_program() does that.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/cbor.h"
#include "worlds/draft.h"

namespace pawl::worlds {

// `path`: the node's place in the body (or with kStoredMark). Nothing if its kind is unknown; else
// a draft without hash, bytes and code, and with an empty name if it has no good one.
std::optional<NodeDraft> read_node(const cbor::Item& node, const std::string& path,
                                   std::vector<Complaint>& faults);

// A hash that authors write where they leave it to the loader.
bool is_zero_hash(std::string_view text);

}  // namespace pawl::worlds
