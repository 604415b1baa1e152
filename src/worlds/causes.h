// The cause of each record of a frame, and the instance that each record is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "worlds/records.h"
#include "worlds/world.h"

namespace pawl::worlds {

// For each record of a frame, the record that caused it; nullopt if there is none. Records of
// decisions and intents name no cause, so it follows from their place: they stand after their step,
// except those of a denial that failed its step, which stand before it.
std::vector<std::optional<Cause>> causes_in(uint64_t seq,
                                            const std::vector<JournalRecord>& records);

// Which records of a frame are an instance's: its steps with their decisions and intents, the
// receipts of its intents with their faults, and the Instance records of commands on it.
std::vector<bool> records_of_instance(World& world, uint64_t seq,
                                      const std::vector<JournalRecord>& records,
                                      std::string_view module, std::string_view key);

}  // namespace pawl::worlds
