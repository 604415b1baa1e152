// Reads a manifest, without looking at the nodes that it names; and writes one, complete and
// canonical.
#pragma once

#include <string>
#include <vector>

#include "worlds/cbor.h"
#include "worlds/draft.h"

namespace pawl::worlds {

constexpr uint64_t kFuelMax = 1'000'000'000;
constexpr uint32_t kMemoryPagesMax = 4096;
constexpr size_t kNodesMax = 10'000;  // given, and listed
// Of canonical text, without code: of all given nodes together, and of a manifest. What is made of
// it in memory is some twenty times larger.
constexpr size_t kNodeBytesMax = 8u << 20;
constexpr size_t kManifestBytesMax = 4u << 20;

// Paths of complaints begin with /manifest. Warns of the names of old (routing.events, reducer).
ManifestDraft read_manifest(const cbor::Item& manifest, std::vector<Complaint>& faults,
                            std::vector<Complaint>& warnings);

// Canonical CBOR of a manifest whose lists are complete and whose entries all have hashes.
std::string write_manifest(const ManifestDraft& manifest);

}  // namespace pawl::worlds
