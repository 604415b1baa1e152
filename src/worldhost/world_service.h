// WorldService: module worlds beside a running engine: the host, the runtime of modules, the
// server's own adapter.
//
// Threads: made, stopped and destroyed by one thread; host() from any.
#pragma once

#include <memory>

#include "actions/action.h"
#include "actions/vault.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "wasm/wasm_host.h"
#include "worldhost/own_adapter.h"
#include "worldhost/world_host.h"

namespace pawl {

class WorldService {
 public:
  // `engine`, `clock`, `policy` and `vault` (which may be null) outlive it.
  WorldService(const WorldHostConfig& config, EngineLoop& engine, Clock& clock,
               const actions::ActionPolicy& policy, const actions::Vault* vault);
  ~WorldService();

  WorldHost& host() { return host_; }
  // Afterwards nothing is decided or performed. Before the engine stops.
  void stop();

 private:
  EngineLoop& engine_;
  wasm::WasmHost modules_;
  EngineLoopLine line_;
  WorldHost host_;
  OwnAdapter own_;
  uint64_t follower_ = 0;
  bool stopped_ = false;
};

}  // namespace pawl
