// World: one engine on one simulated disk, from its start through crashes to the end.
//
// It drives pawl::Core as the real engine does: decide, close the batch, commit, notify the core,
// release; but each of these is a separate step, so that anything may happen in between.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/core.h"
#include "sim/audit.h"
#include "sim/chance.h"
#include "sim/effect_world.h"
#include "sim/fault_mix.h"
#include "sim/module_worlds.h"
#include "sim/plants.h"
#include "sim/sim_store.h"
#include "sim/stage.h"
#include "sim/tasks.h"

namespace pawl::sim {

// Bounds so small that spilling, eviction, refills and row flushes happen all the time.
CoreConfig draw_config(SimRandom& random);

class World : public Stage {
 public:
  // `sqlite`: the store is SQLite on a simulated disk, else the one in memory. `modules`: beside it
  // runs a host of module worlds, drawn from this seed; 0 = none.
  World(SimRandom& random, Verdict& verdict, const Plants& plants, const FaultMix& mix, bool sqlite,
        uint64_t modules);

  // The engine's random numbers depend only on the seed and the step, so that removing some steps
  // changes a trace little.
  void begin_step(uint64_t step_seed) {
    core_random_.restart(step_seed);
    if (disk_.files) disk_.files->begin_step(mix64(step_seed));
    if (modules_) modules_->begin_step(mix64(~step_seed));
  }

  // --- what the crowd does
  void submit(const std::shared_ptr<SimTask>& task) override;

  // --- what the world does; each is one step
  void advance(int64_t by_ms);
  // The host of module worlds does up to this much of its work, and the engine what it asks for.
  // False if there was nothing.
  bool serve_modules(uint64_t steps_max);
  void fire_module_timers();
  void tick();
  void close_batch(bool idle);
  void commit();
  void finish_commit();
  void fail_commit();  // the store refuses, and the engine shuts down in order
  void crash();
  void settle() override;
  // Compares the whole state with the journal. `thorough` also walks the indexes, and restarts.
  void audit(bool thorough);
  // From now on nothing fails any more.
  void calm_down();

  Desk& desk() override { return desk_; }
  EffectWorld& effects() override { return effects_; }
  ModuleWorlds* modules() { return modules_.get(); }  // null: there are none
  const JournalModel& model() const override { return model_; }
  int64_t now_ms() const override { return clock_.true_ms(); }
  bool in_flight() const { return in_flight_.has_value(); }
  bool is_durable() const { return in_flight_ && in_flight_->durable; }
  bool wants_commit() const { return core_->wants_commit(); }
  bool yields_early() const override {
    return config_.state.scripts.frame_allowance < ScriptDefaults().frame_allowance;
  }
  const Plants& plants() const override { return plants_; }
  const FaultMix& mix() const override { return mix_; }
  bool on_disk() const { return disk_.files != nullptr; }
  uint64_t crashes() const { return crashes_; }
  uint64_t life() const { return life_; }  // changes with every restart
  // Whether this is damage that the disk has done; then the world ends.
  bool damage_found(const Error& error);

 private:
  struct InFlight {
    ClosedBatch closed;
    bool durable = false;
    bool core_knows = false;
    bool released = false;
  };
  void come_to_rest();
  // `same_process`: only the engine has failed.
  void reopen(bool same_process = false);
  void refuse_the_rest(const Error& error);
  void audit_module_worlds(bool thorough);
  bool try_open();
  void read_durable_record(const ClosedBatch& closed);
  bool open_core();
  void check_recovered();
  void release();
  void spoil(Batch& batch) const;
  void answer_too_early(FetchTask& fetch);
  void count_crash(bool kept);
  void check_bounds();
  void check_parked();
  std::string told() const;

  // --- of a world on a simulated disk: world_disk.cc
  void make_disk();
  void arm_quiet_trouble();
  void arm_read_trouble();
  void check_reads();
  void give_up_reading();
  void fail_commit_on_disk();
  void commit_and_see();
  void doubt(const ClosedBatch& closed);
  void come_back();
  void give_room();
  void crash_on_disk();
  void power_cut();
  bool recovery_fails_on_disk();
  void settle_doubt();
  void check_journal();
  void judge_prefix(uint64_t last);
  void let_rot();
  bool all_is_readable();

  SimRandom& random_;
  SimRandom core_random_;
  Verdict& verdict_;
  const Plants plants_;
  FaultMix mix_;
  CoreConfig config_;
  SimClock clock_;
  SimDisk disk_;
  JournalModel model_;
  Acknowledged acknowledged_;
  Desk desk_;
  EffectWorld effects_;
  GenesisFold genesis_;
  std::unique_ptr<SimStore> store_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<ModuleWorlds> modules_;
  std::optional<InFlight> in_flight_;
  std::vector<std::weak_ptr<FetchTask>> fetches_;  // not yet answered
  ClosedBatch doubt_;      // its commit failed: only a restart shows whether it is durable
  bool lied_ = false;      // the disk has lost synced data
  bool rotten_ = false;    // the disk has changed data
  uint64_t followed_ = 0;  // the newest record that the host of module worlds was told of
  uint64_t crashes_ = 0;
  uint64_t life_ = 0;
};

}  // namespace pawl::sim
