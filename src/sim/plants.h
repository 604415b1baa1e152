// The planted bugs of plants.def, one flag each. The part of the simulator that implements a bug
// checks its flag; the engine itself knows nothing about them.
#pragma once

#include <span>
#include <string_view>

namespace pawl::sim {

struct Plants {
#define PAWL_PLANT(name, what, checkers, ...) bool name = false;
#include "sim/plants.def"
#undef PAWL_PLANT
};

struct PlantInfo {
  std::string_view name;
  std::string_view what;
  std::string_view checkers;  // checkers that may find it first
  bool Plants::*flag;
  std::string_view store = {};  // the store it needs; empty: any
  std::string_view needs = {};  // "modules": every world of the search has them; "cluster": is one

  bool in_modules() const { return needs == "modules"; }
  bool in_cluster() const { return needs == "cluster"; }
};
std::span<const PlantInfo> all_plants();

}  // namespace pawl::sim
