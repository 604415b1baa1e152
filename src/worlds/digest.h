// The elements that the digest hashes and a snapshot lists, as canonical CBOR
// (docs/reference/worlds-bytes.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "worlds/items.h"
#include "worlds/world.h"

namespace pawl::worlds {

// [module, key, state_hash] of an instance that has a state.
void put_cell(std::string& out, std::string_view module, std::string_view key,
              const Instance& instance);
// {module, key, status, last_seq, module_version, state_hash, error, inflight}
void put_instance(std::string& out, std::string_view module, std::string_view key,
                  const Instance& instance);
// The hashes of intents as they are sorted everywhere: by their text.
enum class IntentList : uint8_t { Open, Settled };
std::vector<std::string> sorted_hashes(World& world, IntentList list);
void put_hashes(std::string& out, const std::vector<std::string>& sorted);

}  // namespace pawl::worlds
