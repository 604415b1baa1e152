// The simulator as a command: runs seeds, prints what they reached, tells the story of the first
// that breaks a promise.
#pragma once

#include <cstdint>
#include <string>

namespace pawl::sim {

struct SimCommand {
  uint64_t seed = 1;
  uint64_t count = 1;
  size_t steps = 300;
  bool trace = false;
  bool probes = false;  // also print how often each rare path was entered
  std::string plant = {};
};

// Exit code: 0 if every seed held, 1 if one broke a promise. Prints to stdout.
int sim_command(const SimCommand& command);

}  // namespace pawl::sim
