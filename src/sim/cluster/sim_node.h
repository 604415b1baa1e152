// SimNode: one start of one node of a simulated cluster: its beats, its lease and what it serves,
// decided by cluster::LeasePlan over cluster::NodeTable, as in a process.
//
// Thread: one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/lease_plan.h"
#include "sim/cluster/serving.h"

namespace pawl::sim {

class SimNode {
 public:
  static constexpr int64_t kWallStartMs = 1'767'225'600'000;
  struct Setup {
    std::string name;
    std::string incarnation;
    std::string former;          // that is known to be over
    int64_t rate_ppm = 0;        // how much its clock runs ahead
    int64_t wall_offset_ms = 0;  // how far its wall clock is off
    uint64_t seed = 0;
  };
  SimNode(ClusterParts parts, Setup setup, std::vector<std::unique_ptr<PartitionBooks>>& books);
  ~SimNode();

  void start();
  // Gives everything up in order, and leaves.
  void drain() { leaving_ = true; }
  void freeze();
  void thaw() { parts_.timeline.thaw(client_.group); }
  // It ends where it stands. `silent`: its machine is gone, and nobody tells the database.
  void kill(bool silent);

  bool frozen() const { return client_.group.frozen; }
  bool alive() const { return !client_.group.ended && !gone_; }
  bool over() const { return client_.group.fibers == 0; }
  bool leaving() const { return leaving_; }
  bool joined() const { return joined_; }
  bool cut() const { return client_.requests_lost || client_.answers_lost; }
  const std::string& name() const { return setup_.name; }
  const std::string& incarnation() const { return identity_.incarnation; }
  DatabaseClient& client() { return client_; }
  const std::string& application() const { return application_; }
  pg::Access access() const {
    return {.url = "", .application = application_, .server = &parts_.database};
  }

  int64_t steady_ms() const;
  Clock& clock() { return clock_; }
  bool may_answer() const;

  Serving* serving(uint16_t partition);
  std::vector<std::unique_ptr<Serving>>& servings() { return servings_; }
  // Who has the partition, as this node has read; "" = nobody.
  std::string owner_of(uint16_t partition) const;

 private:
  class WallClock : public Clock {
   public:
    explicit WallClock(SimNode& node) : node_(node) {}
    int64_t now_ms() override;

   private:
    SimNode& node_;
  };

  void admit();
  void keep();
  bool enter();
  void enter_anew();
  void beat_once();
  void act_on(const cluster::LeaseDecision& decision, int64_t sent_ms);
  void begin(const cluster::LeaseDecision::Take& take);
  void sweep();

  const ClusterParts parts_;
  const Setup setup_;
  std::vector<std::unique_ptr<PartitionBooks>>& books_;
  cluster::NodeIdentity identity_;
  DatabaseClient client_;
  WallClock clock_;
  std::unique_ptr<cluster::NodeTable> table_;
  cluster::LeasePlan plan_;
  cluster::ClusterSeen seen_;
  int64_t lease_until_ms_ = 0;
  bool leaving_ = false;
  bool joined_ = false;
  bool leaving_told_ = false;
  bool gone_ = false;  // it has left in order
  uint64_t serial_ = 0;
  uint64_t anew_ = 0;  // how often it entered anew
  std::string application_;
  std::vector<std::unique_ptr<Serving>> servings_;
};

}  // namespace pawl::sim
