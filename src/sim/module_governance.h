// ModuleGovernance: which module worlds there are, and which program each of them has: worlds are
// made and removed, and programs proposed, shadowed, approved, rejected and applied.
#pragma once

#include <string>

#include "sim/module_actor.h"

namespace pawl::sim {

class ModuleGovernance : public ModuleActor {
 public:
  using ModuleActor::ModuleActor;

  void create() { create(draw_world()); }
  void create(const std::string& name);
  void remove();
  void propose();
  void about_a_proposal();
  void apply_directly();

 private:
  Result<worlds::ProgramText> candidate(WorldSession& session, uint64_t number);
};

}  // namespace pawl::sim
