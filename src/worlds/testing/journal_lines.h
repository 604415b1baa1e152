// The journal of a world as lines that a test can read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "worlds/records.h"
#include "worlds/world.h"

namespace pawl::worlds {

// "domain_event Start", "step flow[\"a\"] #0 <0 waiting", … Names are without namespace and
// version; "<2" is the cause's place in the same frame, "<7.2" one in another.
std::string journal_line(uint64_t seq, const JournalRecord& record);
// The records of a frame, joined by " | ".
std::string frame_line(World& world, uint64_t seq);

// A CBOR value as JSON.
std::string json_of(std::string_view canonical);
// A member of a record, as JSON; a text bare. "member.member" goes deeper.
std::string in_record(std::string_view record, std::string_view path);

}  // namespace pawl::worlds
