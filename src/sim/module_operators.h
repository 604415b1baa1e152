// ModuleOperators: they end and retry instances, ask for effects in their own name, and move the
// clocks of test worlds; and the runtime of modules gives them trouble.
#pragma once

#include <string>

#include "sim/module_actor.h"

namespace pawl::sim {

class ModuleOperators : public ModuleActor {
 public:
  using ModuleActor::ModuleActor;

  void about_an_instance(bool retry);
  void system_effect();
  void move_test_clock();
  void move_test_clock(const std::string& name, int64_t by_ms);
  void trouble();
};

}  // namespace pawl::sim
