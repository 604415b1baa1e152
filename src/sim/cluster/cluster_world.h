// ClusterWorld: a cluster of simulated nodes over one simulated database, and what must hold of all
// of it together. I1 to I9 are judged by the books of each partition; here:
//
// I10: a record is written by the one who took the partition's epoch, with the next number; an
// epoch
//   is taken once, and begins from all of the former. Nobody is taken for dead who could beat.
// I11: an answer leaves nothing out that was acknowledged before its request.
// Liveness: ten seconds after the last fault every partition is served.
//
// Thread: one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/sim_node.h"

namespace pawl::sim {

// What befalls a cluster, per thousand steps; every seed draws its own.
struct ClusterFaults {
  uint64_t kill = 10;
  uint64_t freeze = 15;
  uint64_t join = 8;
  uint64_t drain = 6;
  uint64_t outage = 6;
  uint64_t fail_over = 5;
  uint64_t cut = 10;
  uint64_t end_sessions = 6;
  uint64_t loss = 0;  // a failover that loses what was acknowledged

  static ClusterFaults draw(SimRandom& random, const Plants& plants);
};

class ClusterWorld : public DatabaseWatcher {
 public:
  ClusterWorld(SimRandom& random, uint64_t seed, Verdict& verdict, const Plants& plants);
  ~ClusterWorld() override;

  void begin_step(uint64_t seed) { database_.begin_step(seed); }
  void advance(int64_t us) { timeline_.run_until(timeline_.now_us() + us); }
  // Clients of some partitions do something.
  void clients_act();
  void maybe_fault();
  // Without faults everything is served, and comes to its end.
  void run_to_the_end();

  uint64_t kills() const { return kills_; }
  const std::vector<std::unique_ptr<PartitionBooks>>& books() const { return books_; }

  void taken(const Taken& taken) override;
  void written(const Written& written) override;

 private:
  void submit(uint16_t partition, const std::shared_ptr<SimTask>& task);
  void read_somewhere();
  void start_node(const std::string& name, bool knows_former);
  SimNode* node(const std::string& name);  // the living one
  SimNode* any_node();
  size_t living() const;
  Serving* served_by(uint16_t partition);
  void join();
  void kill(SimNode& node);
  void freeze(SimNode& node);
  void cut(SimNode& node);
  void outage();
  void come_back();
  void lose_records();
  void judge_taken_from(const Taken& taken);
  void calm_down();
  void judge_served_again();
  void settle();
  void audit(bool in_order);
  std::string told() const;
  int64_t now_ms() const;  // wall time
  std::unique_ptr<PartitionBooks> new_books(uint16_t id);

  SimRandom& random_;
  Verdict& verdict_;
  const Plants& plants_;
  Timeline timeline_;
  SimDatabase database_;
  ClusterFaults faults_;
  FaultMix mix_;  // of clients
  int64_t wall_jump_ms_ = 0;
  uint64_t losses_ = 0;
  uint16_t partitions_;
  std::vector<std::unique_ptr<PartitionBooks>> books_;
  std::vector<std::unique_ptr<SimNode>> nodes_;  // all that ever were
  struct Writer {
    uint64_t session = 0;
    uint64_t epoch = 0;
  };
  std::map<uint16_t, Writer> writers_;
  std::vector<CoreConfig> configs_;                            // by partition
  std::vector<std::vector<std::string>> records_;              // every one, likewise
  std::vector<std::unique_ptr<PartitionBooks>> closed_books_;  // of what was lost
  std::map<size_t, uint64_t> kept_heads_;  // of what a failover with loss would leave
  bool ending_ = false;                    // nothing is started again
  bool calm_ = false;                      // requests go to whoever has the partition
  uint64_t serial_ = 0;
  uint64_t kills_ = 0;
};

}  // namespace pawl::sim
