// ModuleWorlds: the host of module worlds (worldhost/world_host.h) over the simulated engine:
// without threads, with native modules, the server's own adapter without HTTP, and a line to the
// core on which tasks wait until the world delivers them.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include "engine/core.h"
#include "sim/chance.h"
#include "sim/module_code.h"
#include "sim/module_model.h"
#include "sim/plants.h"
#include "sim/tasks.h"
#include "worldhost/own_adapter.h"
#include "worldhost/world_host.h"

namespace pawl::sim {

// A clock that remembers the latest time that was read from it.
class ReadClock : public Clock {
 public:
  explicit ReadClock(Clock& clock) : clock_(clock) {}
  int64_t now_ms() override {
    const int64_t now_ms = clock_.now_ms();
    latest_ms_ = std::max(latest_ms_, now_ms);
    return now_ms;
  }
  int64_t latest_ms() const { return latest_ms_; }

 private:
  Clock& clock_;
  int64_t latest_ms_ = 0;
};

class ModuleWorlds : public EngineLine, public OwnEffects {
 public:
  ModuleWorlds(Desk& desk, const Plants& plants, Clock& clock, uint64_t seed);
  ~ModuleWorlds() override;

  void begin_step(uint64_t step_seed) { random_.restart(step_seed); }
  // The engine is open: of a new process, if the last one is gone.
  void engine_is(Core& core);
  void engine_is_gone() { core_ = nullptr; }
  // The process has died: of the host nothing is left.
  void process_is_gone();

  // What waits on the line, in order; null if there is nothing.
  std::shared_ptr<SimTask> next_task();
  bool run_one() { return host_ && core_ && host_->run_one(); }
  void fire_due();
  // Of all times at which the host has looked at its clock: leases that ended by then have ended,
  // though the clock may go back.
  int64_t latest_ms() const { return clock_.latest_ms(); }
  int64_t next_due_ms() { return host_ ? host_->next_due_ms() : 0; }
  int64_t next_work_ms() { return host_ ? host_->next_work_ms() : 0; }
  void follow(std::string_view record);

  bool is_up() const { return host_ != nullptr && core_ != nullptr; }
  WorldHost& host() { return *host_; }
  NativeModules& code() { return code_; }
  uint64_t life() const { return life_; }  // of the process

 private:
  Status submit(TaskPtr task) override;
  Status read(FunctionRef<void(const State&)> read) override;
  void perform(const std::string& world, const OpenIntent& intent) override;
  void settle_within(WorldSession& session, size_t opened_before) override {
    own_->settle_within(session, opened_before);
  }
  void fire_timers(const std::string& world) override { own_->fire_timers(world); }

  Desk& desk_;
  const Plants& plants_;
  ReadClock clock_;
  SimRandom random_;
  WorldHostConfig config_;
  NativeModules code_;
  Core* core_ = nullptr;
  std::deque<std::shared_ptr<SimTask>> line_;
  std::unique_ptr<WorldHost> host_;
  std::unique_ptr<OwnAdapter> own_;
  uint64_t life_ = 0;
};

}  // namespace pawl::sim
