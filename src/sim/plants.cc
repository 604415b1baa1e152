#include "sim/plants.h"

namespace pawl::sim {

std::span<const PlantInfo> all_plants() {
  static constexpr PlantInfo kPlants[] = {
#define PAWL_PLANT(name, what, checkers, ...) \
  {#name, what, checkers, &Plants::name __VA_OPT__(, ) __VA_ARGS__},
#include "sim/plants.def"
#undef PAWL_PLANT
  };
  return kPlants;
}

}  // namespace pawl::sim
