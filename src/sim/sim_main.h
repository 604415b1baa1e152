// The simulator as a command, in `pawl sim` and in a small separate program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/simulation.h"

namespace pawl::sim {

struct SimCommand {
  SimOptions first;
  uint64_t count = 1;
  bool probes = false;  // also print how often each rare path was entered
  bool swarm = false;   // seeds until the time is up, on all cores
  bool plants = false;  // find every planted bug instead
  uint64_t minutes = 10;
  uint64_t processes = 0;  // 0: one, or with `swarm` one for each core
  std::string save_to;
  std::string case_file;
};

struct SimFlag {
  std::string_view name;   // "--seed"
  std::string_view value;  // "N"; empty: it takes none
  std::string_view help;
  bool (*set)(SimCommand& command, const std::string& value);
};
std::span<const SimFlag> sim_flags();
// InvalidRequest for an unknown flag or an invalid value.
Status set_flag(SimCommand& command, std::string_view name, const std::string& value);

// Exit code: 0 if every invariant held, 1 if one was broken, 2 if the command is invalid. Prints to
// stdout.
int sim_command(const SimCommand& command);

}  // namespace pawl::sim
