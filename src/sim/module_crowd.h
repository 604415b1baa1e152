// ModuleCrowd: the clients, adapters and operators of module worlds. As the crowd of jobs
// (sim/crowd.h) they know only what replies told them, and what they send is lost, doubled and late
// (module_requests.h).
#pragma once

#include "sim/chance.h"
#include "sim/module_adapters.h"
#include "sim/module_clients.h"
#include "sim/module_governance.h"
#include "sim/module_operators.h"
#include "sim/module_replays.h"
#include "sim/module_requests.h"
#include "sim/world.h"

namespace pawl::sim {

class ModuleCrowd {
 public:
  ModuleCrowd(World& world, Verdict& verdict)
      : world_(world),
        requests_(world, random_, verdict),
        clients_(world, random_, verdict, requests_),
        adapters_(world, random_, verdict, requests_),
        operators_(world, random_, verdict, requests_),
        governance_(world, random_, verdict, requests_),
        replays_(world, random_, verdict, requests_) {}

  void begin_step(uint64_t step_seed) { random_.restart(step_seed); }
  void act();
  // The end: what is leased or can be is settled, clocks of test worlds move on.
  void work_off();

 private:
  ModuleModel& model() { return world_.desk().model.modules(); }

  World& world_;
  SimRandom random_{0};
  ModuleRequests requests_;
  ModuleClients clients_;
  ModuleAdapters adapters_;
  ModuleOperators operators_;
  ModuleGovernance governance_;
  ModuleReplays replays_;
};

}  // namespace pawl::sim
