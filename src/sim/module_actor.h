// ModuleActor: what each one of the crowd of module worlds knows and draws from.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "sim/module_requests.h"

namespace pawl::sim {

inline const std::vector<std::string> kModuleWorldNames = {"m1", "m2"};

class ModuleActor {
 public:
  ModuleActor(World& world, SimRandom& random, Verdict& verdict, ModuleRequests& requests)
      : world_(world), random_(random), verdict_(verdict), requests_(requests) {}

 protected:
  using Order = ModuleOrder;
  // The body of a request, for as long as something points into it.
  struct RequestBody {
    explicit RequestBody(std::string given) : text(std::move(given)), doc(*json::parse(text)) {}
    const std::string text;
    const json::Doc doc;
  };

  static Status open_world(WorldSession& session);
  ModuleModel& model() { return world_.desk().model.modules(); }
  std::string draw_world() { return random_.pick(kModuleWorldNames); }
  // What the simulated modules are to do (module_code.h).
  std::string draw_script(int depth);
  void send(const std::string& story, const std::function<Order()>& make) {
    requests_.send(story, make);
  }

  World& world_;
  SimRandom& random_;
  Verdict& verdict_;
  ModuleRequests& requests_;
};

}  // namespace pawl::sim
