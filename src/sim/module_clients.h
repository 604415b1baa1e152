// ModuleClients: they post events to module worlds, new ones and those they have sent before. What
// a reply tells must be in the journal, and a client id is acknowledged with one event only.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/module_actor.h"

namespace pawl::sim {

class ModuleClients : public ModuleActor {
 public:
  using ModuleActor::ModuleActor;

  void post_event();

 private:
  struct Sent {
    std::string world, client, text;
  };

  std::vector<Sent> sent_;
  std::map<std::pair<Uuid, std::string>, std::pair<uint64_t, std::string>> acked_;  // by client id
};

}  // namespace pawl::sim
