// LeaseKeeper: keeps this node's row beating, watches the others, and orders what LeasePlan
// decides: which partitions are taken, handed over, dropped.
//
// A node is dead when its beat stands still for the time of a lease (cluster/liveness.h). Whoever
// takes its partition names the beat it saw; the database takes that as a condition, so a node that
// wakes up in this moment either still has its lease and the partition, or neither.
//
// A committed write may be answered at any time: it is true. What was only read may leave while
// lease() holds: half a second less than the lease from the sending of the last beat after which
// all that is held was seen to be still ours. So a node that was stopped and goes on tells nothing
// old. A partition that was lost keeps the lease from going on until it is closed here.
//
// A node whose row is gone drops all, and enters anew under another incarnation.
//
// Threads: one of its own, from start() to leave() or stop(); calls from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cluster/lease.h"
#include "cluster/lease_plan.h"
#include "cluster/node_table.h"
#include "cluster/view.h"

namespace pawl::cluster {

// What the keeper orders. Calls come on its thread and return at once; what came of an order is
// told to the keeper later, from any thread.
class PartitionOrders {
 public:
  virtual ~PartitionOrders() = default;
  // Ends with gone() or failed(), or with taken() and then served() or failed().
  virtual void take(const LeaseDecision::Take& order) = 0;
  // Of one that is served; ends with gone(). `lost`: it is not ours any more.
  virtual void give_up(uint16_t partition, bool lost) = 0;
  virtual uint64_t journal_head(uint16_t partition) = 0;
  // The node has entered anew.
  virtual void entered(const NodeIdentity& self) = 0;
};

class LeaseKeeper {
 public:
  // `former`: the incarnation that had this node's data before, whose partitions are ours at once;
  // "" = unknown. `lost`: called once, on the keeper's thread, when another process lives under
  // this node's name.
  using Lost = std::function<void(const Error& why)>;
  LeaseKeeper(std::unique_ptr<NodeTable> table, NodeIdentity self, std::string former, Lost lost,
              LeaseTimes times = {});
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Enters the node's row and begins to beat; a new row drains if `draining`. Conflict: another
  // process lives under this name.
  Status start(bool draining = false);
  // From now on partitions are taken. `orders` outlives stop().
  void begin_taking(PartitionOrders& orders);
  // Takes none any more, gives all up, and then stops. Waits until nothing is held.
  void leave();
  void stop();  // and leaves the table
  // Beats and decides at once.
  void look_now();

  void taken(uint16_t partition, uint64_t epoch);
  // False: it was lost meanwhile, and must be closed; then gone().
  bool served(uint16_t partition);
  void gone(uint16_t partition);
  void failed(uint16_t partition);  // it is not held any more, and tried again later

  const Lease& lease() const { return lease_; }
  bool leaving() const;
  ClusterView view() const;  // of the last read
  NodeIdentity self() const;

 private:
  using Lock = std::unique_lock<std::mutex>;

  void run();
  void say_leaving();
  void beat_once();
  std::vector<PartitionReport> make_reports();
  void note(const BeatRead& read);
  LeaseDecision settle(const BeatRead& read);
  bool has_dropped_all();
  void enter_again();
  Result<bool> enter(const NodeIdentity& as, const std::string& former, bool draining);
  void order(const LeaseDecision& decision);
  void announce_hand_over(HeldPartition& held);
  std::vector<uint16_t> announced();
  int64_t pause_ms() const;

  const std::unique_ptr<NodeTable> table_;
  const std::string former_;
  const Lost lost_;
  const LeaseTimes times_;
  Lease lease_;

  // Of the keeper's thread, and of start() before it.
  Liveness namesakes_;
  std::optional<NodeIdentity> next_self_;  // to enter anew as
  int64_t shut_out_since_ms_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  NodeIdentity self_;  // this and what follows is guarded by mutex_
  LeasePlan plan_;
  PartitionOrders* orders_ = nullptr;
  bool ending_ = false;
  bool leaving_ = false;
  bool leaving_told_ = false;
  bool wanted_ = false;  // look_now()
  bool soon_ = false;    // the last decision's look_soon
  bool entered_ = true;
  ClusterSeen seen_;  // the last
  std::map<uint16_t, HeldPartition> held_;
  std::map<uint16_t, int64_t> announced_ms_;  // those to be handed over: when it was told
  std::thread thread_;
};

}  // namespace pawl::cluster
