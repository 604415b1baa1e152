// Replays every world of a store and compares: what `pawl verify` says of module worlds. A world
// whose beginning retention has removed is replayed from its last snapshot.
//
// Thread: any one, while no engine uses the store. Writes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "store/store.h"
#include "worlds/module_host.h"

namespace pawl {

struct WorldVerdict {
  std::string name;
  uint64_t frames = 0;  // decided again
  std::string code;     // "" = good; replay.divergence, journal.corrupt, …
  std::string message;
};

// Errors only for what keeps worlds from being looked at at all: Corrupt, Unavailable (there is no
// runtime).
Result<std::vector<WorldVerdict>> verify_worlds(
    Store& store, worlds::ModuleHost& modules, FunctionRef<void(const std::string& name)> progress);

}  // namespace pawl
