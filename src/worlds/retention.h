// What retention removes, and how a replay does the same: its frame lists the instances, one record
// each, and counts the settled intents in a record without a module.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worlds/commands.h"

namespace pawl::worlds {

struct Forgotten {
  std::vector<std::pair<std::string, std::string>> instances;  // module, key
  uint64_t settled = 0;  // the first so many of World::each_settled()
};

// One frame. Instances that are not there are passed over.
void forget(Deciding& deciding, const Forgotten& forgotten);

}  // namespace pawl::worlds
