// LeaseKeeper: keeps this node's row beating, watches the others, and says when a partition may be
// taken and whether the ones it took are still its own.
//
// A node is dead when its beat stands still for the time of a lease (cluster/liveness.h). Whoever
// takes its partition names the beat it saw; the database takes that as a condition, so a node that
// wakes up in this moment either still has its lease and the partition, or neither.
//
// A committed write may be answered at any time: it is true. What was only read may leave while
// lease() holds: half a second less than the lease from the sending of the last beat after which
// the partitions were seen to be still ours. So a node that was stopped and goes on tells nothing
// old.
//
// Threads: one of its own, from start() to stop(); calls from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cluster/lease.h"
#include "cluster/lease_plan.h"
#include "cluster/liveness.h"
#include "cluster/node_table.h"
#include "cluster/view.h"
#include "store/postgres_store.h"

namespace pawl::cluster {

class LeaseKeeper {
 public:
  // `former`: the incarnation that had this node's data before, whose partitions are ours at once;
  // "" = unknown. `lost`: called once, on the keeper's thread, when something that was held is not
  // ours any more.
  using Lost = std::function<void(const Error& why)>;
  LeaseKeeper(std::unique_ptr<NodeTable> table, NodeIdentity self, std::string former, Lost lost,
              LeaseTimes times = {});
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Enters the node's row and begins to beat. Conflict: another process lives under this name.
  Status start();
  // Waits until nobody holds the partition any more; Unavailable once `go_on` says no.
  Result<FreePartition> wait_for(uint16_t partition, const std::function<bool()>& go_on);
  // From now on the partition is watched: it is ours with this epoch.
  void hold(uint16_t partition, uint64_t epoch);
  void stop();  // and leaves the table

  const Lease& lease() const { return lease_; }
  ClusterView view() const;  // of the last read
  const NodeIdentity& self() const { return self_; }

 private:
  struct Held {
    uint16_t partition;
    uint64_t epoch;
  };

  void run();
  void beat_once();
  void note(int64_t sent_ms, const ClusterSeen& seen);
  std::optional<FreePartition> free_now(uint16_t partition) const;
  Result<bool> enter();

  const std::unique_ptr<NodeTable> table_;
  const NodeIdentity self_;
  const std::string former_;
  const Lost lost_;
  const LeaseTimes times_;
  Lease lease_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;  // these are guarded by mutex_
  bool told_ = false;    // that something was lost
  uint64_t reads_ = 0;   // good ones
  ClusterSeen seen_;     // the last
  Liveness liveness_;
  std::vector<Held> held_;
  std::thread thread_;
};

}  // namespace pawl::cluster
