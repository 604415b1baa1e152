// LeasePlan: what a node does about the partitions of its cluster after a beat: which it takes,
// which it hands over, which it has lost. Decisions only, from what was read and from its own
// clock: no thread, no database. The keeper of leases acts on them, and so does a simulation.
//
// - A partition is free if nobody owns it, or if its owner is dead (cluster/liveness.h). Whoever
//   balance names (cluster/balance.h) takes it at once, others when it stayed free for a second.
// - What this node's former start owned, or what it took without knowing, it takes at once.
// - A node that has more than its share hands over one partition a second, from five seconds after
//   the last node joined. A draining node hands all over, and takes none.
// - What is to be handed over is told with a beat (announce_ms before), and goes on being served;
//   whoever balance names then looks often, so that nobody serves it for a moment only. So does its
//   former owner, which passes requests on.
// - Balance counts the nodes that live and do not drain; if there are none, all that live.
//
// Names of nodes must not be empty. Thread: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/liveness.h"
#include "cluster/node_table.h"
#include "store/postgres_store.h"

namespace pawl::cluster {

struct LeaseTimes {
  int64_t lease_ms = 3000;
  int64_t beat_ms = 500;
  int64_t gap_ms = 1000;       // reads further apart say nothing of the time between
  int64_t margin_ms = 500;     // by which answers stop before others may take over
  int64_t others_ms = 1000;    // how long a partition is left to whom balance names
  int64_t announce_ms = 600;   // before a partition is handed over: a beat of everybody, and a bit
  int64_t soon_ms = 50;        // between beats of a node that expects a partition,
  int64_t soon_ms_max = 5000;  // for so long at most
  int64_t settled_ms = 5000;   // after the last join, before surplus is handed over
  int64_t between_hand_overs_ms = 1000;
  int64_t same_again_ms = 60'000;  // before a partition that came back is handed over again
  int64_t retry_ms = 500;          // after a first failure to serve; doubles
  int64_t retry_ms_max = 30'000;
};

struct HeldPartition {
  uint16_t id = 0;
  uint64_t epoch = 0;  // 0 while it is being taken
  PartitionStage stage = PartitionStage::Taking;
  int64_t taken_ms = 0;    // own clock, once it was known to be taken
  bool announced = false;  // served, and told to be handed over
};

struct BeatRead {
  int64_t sent_ms = 0;  // own clock
  int64_t answered_ms = 0;
  ClusterSeen seen;
};

struct LeaseDecision {
  struct Take {
    uint16_t partition = 0;
    FreePartition seen;  // the conditions under which it may be taken
  };

  // Everything held here is ours: answers may leave until the sending of this beat plus lease_ms
  // less margin_ms.
  bool lease_goes_on = false;
  // The own row is gone. All is dropped; once nothing is held, the node enters anew, as another
  // incarnation.
  bool enter_anew = false;
  std::vector<Take> take;
  std::vector<uint16_t> hand_over;
  std::vector<uint16_t> drop;  // lost: nothing can be committed any more
  bool look_soon = false;      // the next beat after soon_ms: a partition changes hands
};

class LeasePlan {
 public:
  // `former`: the incarnation of this node that is known to be over; "" = unknown.
  LeasePlan(std::string name, std::string incarnation, std::string former, LeaseTimes times = {});

  // `held` is all that is not over. A leaving node takes nothing and hands nothing over by itself.
  LeaseDecision decide(const BeatRead& read, const std::vector<HeldPartition>& held, bool leaving);
  // Serving it failed, and it was given up: it is tried again after a pause, which grows.
  void note_failure(uint16_t partition, int64_t now_ms);
  void note_served(uint16_t partition) { failures_.erase(partition); }
  // This node has entered anew.
  void begin_anew(std::string incarnation);

  const Liveness& liveness() const { return liveness_; }

 private:
  struct Free {
    uint64_t epoch = 0;
    int64_t since_ms = 0;
  };
  struct Failures {
    int64_t pause_ms = 0;
    int64_t not_before_ms = 0;
  };

  void count_nodes(const BeatRead& read);
  bool is_on_its_way(const PartitionSeen& partition, int64_t now_ms) const;
  bool is_expected(const PartitionSeen& partition, const ClusterSeen& seen, int64_t now_ms);
  bool is_own_already(const PartitionSeen& partition) const;
  bool is_lost(const HeldPartition& held, const PartitionSeen& seen, int64_t sent_ms) const;
  void consider_taking(const PartitionSeen& partition, int64_t now_ms, bool named,
                       LeaseDecision& decision);
  void hand_over(const std::vector<HeldPartition>& held, const std::vector<std::string>& owners,
                 int64_t now_ms, LeaseDecision& decision);

  const std::string name_;
  std::string incarnation_;
  std::string former_;
  const LeaseTimes times_;
  Liveness liveness_;
  std::set<std::string> nodes_;                      // that balance counts
  std::map<std::string, std::string> incarnations_;  // theirs, at the last read
  int64_t last_join_ms_ = INT64_MIN / 2;
  int64_t last_hand_over_ms_ = INT64_MIN / 2;
  std::map<uint16_t, Free> free_;
  std::map<uint16_t, Free> expected_;
  std::map<uint16_t, Failures> failures_;
  std::map<uint16_t, int64_t> handed_over_ms_;
};

}  // namespace pawl::cluster
