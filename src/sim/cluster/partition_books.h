// PartitionBooks: what is known of one partition of a simulated cluster, whichever node serves it:
// its journal as the database has it, what clients were told, and the clients themselves.
//
// Thread: one.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/core.h"
#include "sim/audit.h"
#include "sim/crowd.h"
#include "sim/stage.h"

namespace pawl::sim {

class PartitionBooks : public Stage {
 public:
  // What a partition needs of its cluster.
  struct Ways {
    std::function<void(uint16_t partition, const std::shared_ptr<SimTask>& task)> submit;
    std::function<void()> settle;
    std::function<int64_t()> now_ms;
  };
  PartitionBooks(uint16_t id, const CoreConfig& config, SimRandom& random, Verdict& verdict,
                 const Plants& plants, const FaultMix& mix, Ways ways);

  // --- Stage
  void submit(const std::shared_ptr<SimTask>& task) override { ways_.submit(id_, task); }
  void settle() override { ways_.settle(); }
  Desk& desk() override { return desk_; }
  EffectWorld& effects() override { return effects_; }
  const JournalModel& model() const override { return model_; }
  int64_t now_ms() const override { return ways_.now_ms(); }
  bool yields_early() const override;
  const Plants& plants() const override { return plants_; }
  const FaultMix& mix() const override { return mix_; }

  using Tasks = std::vector<std::shared_ptr<SimTask>>;
  // A record with these tasks is on its way.
  void sent(uint64_t epoch, uint64_t number, Tasks tasks);
  // The record has been committed.
  void read_record(uint64_t epoch, uint64_t number, std::string_view record);
  // A life of the partition has begun, whose state is all that is durable.
  void recovered(const Core& core);
  // Records were lost for good: other books are kept from now on, and these judge nothing more.
  void close() { closed_ = true; }
  void know_answers_of(const PartitionBooks& other) {
    model_.scripts().know_what_others_know(other.model_.scripts());
  }
  // Clients have been told what lies in the records up to this one.
  void told(uint64_t head) { told_head_ = std::max(told_head_, head); }
  void calm_down() { mix_ = FaultMix::none(); }
  // What is in memory, when all of it is durable.
  void audit(const Core& core, bool in_order);
  // Nothing that is due by that clock, or asked for, was left.
  void check_work_done(int64_t clock_ms);
  bool is_over() const { return model_.unfinished() == 0; }

  Crowd& crowd() { return crowd_; }
  const CoreConfig& config() const { return config_; }
  uint64_t head() const { return desk_.durable_head; }
  uint64_t told_head() const { return told_head_; }
  uint64_t life() const { return life_; }
  bool closed() const { return closed_; }

 private:
  const uint16_t id_;
  Verdict& verdict_;
  const Plants& plants_;
  FaultMix mix_;
  Ways ways_;
  CoreConfig config_;
  JournalModel model_;
  Acknowledged acknowledged_;
  Desk desk_;
  EffectWorld effects_;
  GenesisFold genesis_;
  Crowd crowd_;
  std::map<std::pair<uint64_t, uint64_t>, Tasks> sent_;  // by epoch and number
  uint64_t told_head_ = 0;
  uint64_t life_ = 0;
  bool closed_ = false;
};

}  // namespace pawl::sim
