// pawl_sim [--seed N] [--count K] [--steps S] [--plant NAME] [--trace] [--probes]
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sim/sim_main.h"

int main(int argc, char** argv) {
  pawl::sim::SimCommand command;
  for (int i = 1; i < argc; ++i) {
    std::string_view flag = argv[i];
    bool has_value = i + 1 < argc;
    if (flag == "--trace") {
      command.trace = true;
    } else if (flag == "--probes") {
      command.probes = true;
    } else if (flag == "--seed" && has_value) {
      command.seed = std::strtoull(argv[++i], nullptr, 0);
    } else if (flag == "--count" && has_value) {
      command.count = std::strtoull(argv[++i], nullptr, 0);
    } else if (flag == "--steps" && has_value) {
      command.steps = std::strtoull(argv[++i], nullptr, 0);
    } else if (flag == "--plant" && has_value) {
      command.plant = argv[++i];
    } else {
      std::fprintf(stderr,
                   "usage: pawl_sim [--seed N] [--count K] [--steps S] [--plant NAME] "
                   "[--trace] [--probes]\n");
      return 2;
    }
  }
  return pawl::sim::sim_command(command);
}
