#include "sim/plant_report.h"

#include <cinttypes>
#include <cstdio>
#include <string>

#include "sim/isolated.h"
#include "sim/plants.h"
#include "sim/shrink.h"

namespace pawl::sim {
namespace {

constexpr uint32_t kTriesPerStory = 400;

bool find_plant(const PlantInfo& plant, uint64_t seeds_max) {
  SimOptions options;
  options.plant = plant.name;
  for (options.seed = 1; options.seed <= seeds_max; ++options.seed) {
    SimReport report = run_isolated(options);
    if (report.ok) continue;
    Shrunk shrunk = shrink(options, kTriesPerStory);
    bool expected = plant.checkers.find(report.checker) != std::string_view::npos;
    std::printf("%-28s %5" PRIu64 " %6zu  %-18s %s%s\n", options.plant.c_str(), options.seed,
                shrunk.options.only ? shrunk.options.only->size() : 0, report.checker.c_str(),
                std::string(plant.what).c_str(), expected ? "" : " (NOT THE CHECKER IT NAMES)");
    std::fflush(stdout);
    return expected;
  }
  std::printf("%-28s NOT FOUND in %" PRIu64 " seeds: %s\n", options.plant.c_str(), seeds_max,
              std::string(plant.what).c_str());
  return false;
}

}  // namespace

int print_plant_report(uint64_t seeds_max) {
  std::printf("%-28s %5s %6s  %-18s %s\n", "planted bug", "seeds", "steps", "found by",
              "what is wrong");
  int missed = 0;
  for (const PlantInfo& plant : all_plants()) missed += find_plant(plant, seeds_max) ? 0 : 1;
  std::printf("%zu planted, %zu found\n", all_plants().size(),
              all_plants().size() - static_cast<size_t>(missed));
  return missed;
}

}  // namespace pawl::sim
