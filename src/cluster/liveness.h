// Who is dead, as one node sees it: whoever's beat has not changed for the time of a lease on this
// node's own steady clock, while this node could read the table. No two clocks are compared, and
// after an outage of the database nobody is dead: everybody was silent, whoever lives.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cluster/node_table.h"

namespace pawl::cluster {

class Liveness {
 public:
  // `gap_ms`: reads further apart than that prove nothing about the time between them.
  Liveness(int64_t lease_ms, int64_t gap_ms) : lease_ms_(lease_ms), gap_ms_(gap_ms) {}

  // A read that was answered at `now_ms`.
  void observe(int64_t now_ms, const ClusterSeen& seen);
  // Of the last read. A node without a row is dead once it was missing for as long. One in whose
  // place another start stands is dead if it had been seen before that one was: the table of nodes
  // is read first, so an owner that it does not name yet may be the newer of the two.
  bool is_dead(const std::string& node, const std::string& incarnation) const;
  // The beat at which it stands; nothing if it has no row.
  const uint64_t* beat_of(const std::string& node, const std::string& incarnation) const;

 private:
  struct Watched {
    std::string incarnation;
    uint64_t beat = 0;
    bool present = false;
    int64_t since_ms = 0;  // this beat was seen, or missed, from then on
  };

  const int64_t lease_ms_;
  const int64_t gap_ms_;
  int64_t last_read_ms_ = INT64_MIN;
  std::map<std::string, Watched> watched_;            // by name
  using Start = std::pair<std::string, std::string>;  // node and incarnation
  std::set<Start> owners_;                            // of partitions, at the last read
  std::set<Start> over_;  // of those at the read before it: another start stood in its place
};

}  // namespace pawl::cluster
