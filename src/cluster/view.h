// What a node knows of its cluster, for people and for lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/node_table.h"

namespace pawl::cluster {

enum class NodeState : uint8_t { Live, Draining, Dead };

struct NodeView : NodeSeen {
  NodeState state = NodeState::Live;
};

enum class PartitionState : uint8_t { Free, Recovering, Serving, HandingOver };

struct PartitionView : PartitionSeen {
  PartitionState state = PartitionState::Free;  // of a dead owner: free
  uint64_t journal_head = 0;                    // as its owner told with its last beat; 0 = unknown
};

struct ClusterView {
  std::string cluster_id;
  uint64_t format = 0;
  std::vector<NodeView> nodes;
  std::vector<PartitionView> partitions;
  std::vector<std::string> warnings;
};

}  // namespace pawl::cluster
