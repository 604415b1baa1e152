// InstanceRun: what the list of runs shows of an instance of a module. The instance itself is an
// item of its world (worlds/items.h) and is changed there; the Run only follows, by InstanceMoved.
#pragma once

#include <string>

#include "journal/world_events.h"

namespace pawl {

struct InstanceRun {
  Uuid world;
  std::string world_name;
  std::string module;
  std::string key;       // canonical bytes
  std::string key_json;  // "" if the module is not keyed
  InstanceState status = InstanceState::Running;
  std::string version;
  std::string error_code;
  std::string error_detail;

  static void fields(auto& self, auto&& visit) {
    visit(1, "world", self.world);
    visit(2, "world_name", self.world_name);
    visit(3, "module", self.module);
    visit(4, "key", self.key);
    visit(5, "key_json", self.key_json);
    visit(6, "status", self.status);
    visit(7, "version", self.version);
    visit(8, "error_code", self.error_code);
    visit(9, "error_detail", self.error_detail);
  }
};

}  // namespace pawl
