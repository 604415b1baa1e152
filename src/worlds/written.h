// Parts that several replies about a world share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "worlds/items.h"
#include "worlds/type.h"
#include "worlds/world.h"

namespace pawl::worlds {

// 64-bit numbers without a sign; the writer's own integers have one.
void write_nat(json::Writer& w, std::string_view name, uint64_t value);

// Canonical bytes as the type's sugar; if they are not of that type (it may have been another when
// they were written) or there is none, as plain CBOR prints; null if they are no CBOR.
void write_value(json::Writer& w, const Type* type, std::string_view canonical);

// The key of an instance as sugar: null if the module is not keyed.
void write_key(json::Writer& w, std::string_view name, std::string_view key);

// "inflight": the open intents of an instance.
void write_inflight(json::Writer& w, const Instance& instance);

// A `wait` of the contract: an open intent of a module. And the list of all, at most `limit`.
void write_waits(json::Writer& w, World& world, size_t limit);

std::string proposal_id(uint64_t seq);  // "p<seq>"

}  // namespace pawl::worlds
