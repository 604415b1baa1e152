// ModuleRequests: what the crowd of module worlds asks for, on its way to the host: lost, doubled
// and late; and replies are lost on theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/chance.h"
#include "sim/module_worlds.h"
#include "sim/world.h"

namespace pawl::sim {

struct ModuleOrder {
  std::string world;
  std::function<Status(WorldSession&)> work;
  std::function<void()> done;  // of a success
  bool alone = false;
};

class ModuleRequests {
 public:
  ModuleRequests(World& world, SimRandom& random, Verdict& verdict)
      : world_(world), random_(random), verdict_(verdict) {}

  // Each copy that is sent is an order of its own.
  void send(const std::string& story, const std::function<ModuleOrder()>& make);
  // Past the network: it arrives once, at once.
  void post(const std::string& story, ModuleOrder order);
  void deliver_late();
  void forget_late() { on_the_way_.clear(); }
  uint64_t next_serial() { return ++serial_; }

 private:
  World& world_;
  SimRandom& random_;
  Verdict& verdict_;
  std::vector<std::pair<std::string, ModuleOrder>> on_the_way_;
  uint64_t serial_ = 0;
};

}  // namespace pawl::sim
