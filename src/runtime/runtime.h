// Runtime: wires the parts of an engine for the server, `pawl run` and the embedded library: store,
// crash book, vault, actions, effects, the engine's loop with retention.
//
// open() creates the parts in dependency order; close() ends them in reverse order. The runner is
// created on first use, so that actions can be added before open() resumes runs. close() must not
// be called by an action.
//
// Threads: open() and close() once each, while no other call is under way; all other calls from any
// thread.
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

class CrashBook;
class Frame;

struct RuntimeSetup {
  std::string data_dir = {};              // "" = a store in memory
  std::unique_ptr<Store> store = nullptr;  // instead of data_dir: one that is open already
  bool owner_only = false;        // a data_dir created here is closed to other users
  std::string crash_book = {};    // file; "" = no quarantine
  std::string vault_key = {};     // file; "" = there are no secrets
  const actions::Vault* vault = nullptr;  // instead of vault_key; outlives the runtime
  std::optional<std::string> vault_passphrase = {};
  WorkRoot work_root = {};
  actions::ActionPolicy policy = {};
  uint32_t threads = 8;  // of actions
  EngineConfig engine = {};
};

// Makes it if needed; one that exists keeps its permissions.
Status make_data_directory(const std::string& path, bool owner_only);

class Runtime {
 public:
  explicit Runtime(RuntimeSetup setup);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // May be tried again after a failure, unless a store was given.
  Status open();
  // From now on answers of actions are dropped.
  void stop_effects() { effects_->stop(); }
  void close();

  // Waits until the decision is durable; returns its outcome.
  using Decide = std::function<Status(Frame&)>;
  Status decide(const Decide& decide);
  // The same for a decision that may wait for something.
  using DecideOrPark = std::function<std::optional<Parking>(Frame&, bool last_call)>;
  Status decide_or_park(const DecideOrPark& decide);

  actions::ActionRunner& runner();
  const actions::Vault* vault() const { return own_vault_ ? own_vault_.get() : setup_.vault; }
  Store& store() { return *store_; }
  EngineLoop& engine() { return *engine_; }
  const CrashBook* crash_book() const { return crash_book_.get(); }
  Clock& clock() { return clock_; }
  uint64_t records_found() const { return records_found_; }  // in the journal, when it was opened

 private:
  Status open_parts();
  Status open_store();
  Status open_vault();

  RuntimeSetup setup_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<CrashBook> crash_book_;  // outlives all watched threads
  std::unique_ptr<actions::Vault> own_vault_;
  std::unique_ptr<actions::ActionRunner> runner_;
  std::unique_ptr<EffectDispatcher> effects_;
  std::unique_ptr<EngineLoop> engine_;
  uint64_t records_found_ = 0;
};

}  // namespace pawl
