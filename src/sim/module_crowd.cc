#include "sim/module_crowd.h"

namespace pawl::sim {

void ModuleCrowd::act() {
  if (!world_.modules()->is_up()) return;
  if (random_.percent(5)) return requests_.deliver_late();
  for (const std::string& name : kModuleWorldNames)
    if (model().named(name) == nullptr && random_.percent(25)) return governance_.create(name);
  const uint64_t what = random_.below(100);
  if (what < 30) return clients_.post_event();
  if (what < 42) return adapters_.lease();
  if (what < 62) return adapters_.settle();
  if (what < 66) return adapters_.put();
  if (what < 67) return adapters_.remove();
  if (what < 71) return operators_.about_an_instance(false);
  if (what < 77) return operators_.about_an_instance(true);
  if (what < 81) return operators_.system_effect();
  if (what < 83) return governance_.propose();
  if (what < 88) return governance_.about_a_proposal();
  if (what < 90) return governance_.apply_directly();
  if (what < 92) return replays_.snapshot();
  if (what < 94) return replays_.replay();
  if (what < 96) return operators_.move_test_clock();
  if (what < 97) return governance_.create();
  if (what < 98) return operators_.trouble();
  if (random_.percent(30)) governance_.remove();
}

void ModuleCrowd::work_off() {
  if (!world_.modules()->is_up()) return;
  world_.modules()->code().next = NativeModules::Trouble::None;
  requests_.forget_late();
  for (const std::string& name : kModuleWorldNames) {
    const ModelWorld* known = model().named(name);
    if (known == nullptr || known->open() == 0) continue;
    adapters_.lease_all(name);
    operators_.move_test_clock(name, 60'000);
  }
  adapters_.settle_all();
}

}  // namespace pawl::sim
