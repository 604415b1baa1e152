// ModuleReplays: what a module world is when it is read back: a snapshot is in canonical form, and
// a replay of the journal comes to the digest of the world.
#pragma once

#include "sim/module_actor.h"

namespace pawl::sim {

class ModuleReplays : public ModuleActor {
 public:
  using ModuleActor::ModuleActor;

  void snapshot();
  void replay();
};

}  // namespace pawl::sim
