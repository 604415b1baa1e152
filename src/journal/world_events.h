// Events of module worlds. What a world remembers is in documents (DocKind::WorldItem), put by the
// same frame; these events keep the list of runs.
#pragma once

#include <cstdint>
#include <string>

#include "base/codec.h"
#include "base/uuid.h"

namespace pawl {

enum class InstanceState : uint8_t {
  Running = 0,
  Waiting = 1,
  Completed = 2,
  Failed = 3,
  Forgotten = 4
};

// An instance of a module was made, has another status, runs other code, or was removed.
struct InstanceMoved {
  RunId run;
  Uuid world;
  std::string world_name;
  std::string module;
  std::string key;       // canonical bytes; "" if the module is not keyed
  std::string key_json;  // "" likewise
  InstanceState to = InstanceState::Running;
  std::string version;  // hash of the code that stepped it
  std::string error_code;
  std::string error_detail;
  std::string tenant;

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "world", self.world);
    visit(3, "world_name", self.world_name);
    visit(4, "module", self.module);
    visit(5, "key", self.key);
    visit(6, "key_json", self.key_json);
    visit(7, "to", self.to);
    visit(8, "version", self.version);
    visit(9, "error_code", self.error_code);
    visit(10, "error_detail", self.error_detail);
    visit(11, "tenant", self.tenant);
  }
};

}  // namespace pawl
