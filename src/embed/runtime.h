// Runtime: the parts of an engine, put together: store, loop, effects, actions.
//
// The runner is there from the beginning, so that capabilities can be added before open() lets
// instances go on. close() ends everything; it must not be called by a capability.
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

namespace pawl::embed {

struct RuntimeSetup {
  std::string data_dir;  // "" = in memory only
  actions::ActionPolicy policy;
  uint32_t threads = 8;
};

class Runtime {
 public:
  explicit Runtime(RuntimeSetup setup);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // May be tried again after a failure.
  Status open();
  // Nothing that capabilities answer counts any more.
  void stop_effects() { effects_->stop(); }
  void close();

  // Waits until what was decided is durable; the outcome is the decision's own.
  using Decide = std::function<Status(Frame&)>;
  Status decide(const Decide& decide);
  // The same for a decision that may wait for something.
  using DecideOrPark = std::function<std::optional<Parking>(Frame&, bool last_call)>;
  Status decide_or_park(const DecideOrPark& decide);

  actions::ActionRunner& runner() { return *runner_; }
  const actions::Vault* vault() const { return vault_.get(); }
  Store& store() { return *store_; }
  EngineLoop& engine() { return *engine_; }
  Clock& clock() { return clock_; }
  uint64_t records_found() const { return records_found_; }  // in the journal, when it was opened

 private:
  Status open_parts();
  Status open_disk();

  RuntimeSetup setup_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<actions::Vault> vault_;
  std::unique_ptr<actions::ActionRunner> runner_;
  std::unique_ptr<EffectDispatcher> effects_;
  std::unique_ptr<EngineLoop> engine_;
  uint64_t records_found_ = 0;
};

}  // namespace pawl::embed
