// What the records of a frame came of, and whom they are about.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "worlds/records.h"
#include "worlds/world.h"

namespace pawl::worlds {

// Of each record of a frame the one that it came of. Decisions and intents do not say it: they
// stand behind their step, but those of a denial that failed its step stand before.
std::vector<std::optional<Cause>> causes_in(uint64_t seq,
                                            const std::vector<JournalRecord>& records);

// Which records of a frame are an instance's: its steps with their decisions and intents, the
// receipts of its intents with their faults, and what was done to it.
std::vector<bool> records_of_instance(World& world, uint64_t seq,
                                      const std::vector<JournalRecord>& records,
                                      std::string_view module, std::string_view key);

}  // namespace pawl::worlds
