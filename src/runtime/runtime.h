// Runtime: the parts of an engine, put together in one place for the server, `pawl run` and the
// embedded library: store, crash book, vault, actions, effects, the engine's loop with retention.
//
// open() makes the parts in the order in which they need each other; close() ends them in the
// opposite one. The runner is made when it is first asked for, so that actions can be added before
// open() lets runs go on. close() must not be called by an action.
//
// Threads: open() and close() once each, by one that excludes the other calls; the rest by any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actions/action.h"
#include "actions/vault.h"
#include "base/clock.h"
#include "effects/effect_dispatcher.h"
#include "engine/engine.h"
#include "engine/waiting_task.h"
#include "store/store.h"

namespace pawl {

struct RuntimeSetup {
  std::string data_dir = {};    // "" = a store in memory
  bool owner_only = false;      // a data_dir that is made here is closed to other users
  std::string crash_book = {};  // file; "" = nobody is quarantined
  std::string vault_key = {};   // file; "" = there are no secrets
  std::optional<std::string> vault_passphrase = {};
  WorkRoot work_root = {};
  actions::ActionPolicy policy = {};
  uint32_t threads = 8;  // of actions
  EngineConfig engine = {};
};

class Runtime {
 public:
  explicit Runtime(RuntimeSetup setup);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // May be tried again after a failure.
  Status open();
  // Nothing that actions answer counts any more.
  void stop_effects() { effects_->stop(); }
  void close();

  // Waits until what was decided is durable; the outcome is the decision's own.
  using Decide = std::function<Status(Frame&)>;
  Status decide(const Decide& decide);
  // The same for a decision that may wait for something.
  using DecideOrPark = std::function<std::optional<Parking>(Frame&, bool last_call)>;
  Status decide_or_park(const DecideOrPark& decide);

  actions::ActionRunner& runner();
  const actions::Vault* vault() const { return vault_.get(); }
  Store& store() { return *store_; }
  EngineLoop& engine() { return *engine_; }
  Clock& clock() { return clock_; }
  uint64_t records_found() const { return records_found_; }  // in the journal, when it was opened

 private:
  Status open_parts();
  Status open_store();

  RuntimeSetup setup_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<CrashBook> crash_book_;  // made before any thread that is watched, gone after all
  std::unique_ptr<actions::Vault> vault_;
  std::unique_ptr<actions::ActionRunner> runner_;
  std::unique_ptr<EffectDispatcher> effects_;
  std::unique_ptr<EngineLoop> engine_;
  uint64_t records_found_ = 0;
};

}  // namespace pawl
