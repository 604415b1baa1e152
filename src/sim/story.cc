#include "sim/story.h"

#include <cinttypes>
#include <cstdio>

namespace pawl::sim {

void print_story(const SimOptions& options, const SimReport& report) {
  std::printf("seed %" PRIu64 " broke %s: %s\n%s", options.seed, report.checker.c_str(),
              report.what.c_str(), report.last_lines.c_str());
  std::printf("again: pawl sim --seed %" PRIu64 " --steps %zu --trace", options.seed,
              options.steps);
  if (options.cluster) std::printf(" --cluster");
  if (options.modules) std::printf(" --modules");
  if (!options.store.empty()) std::printf(" --store %s", options.store.c_str());
  if (!options.plant.empty()) std::printf(" --plant %s", options.plant.c_str());
  if (options.only) {
    std::printf(" --only ");
    for (size_t i = 0; i < options.only->size(); ++i)
      std::printf("%s%u", i == 0 ? "" : ",", (*options.only)[i]);
  }
  std::printf("\n");
}

}  // namespace pawl::sim
