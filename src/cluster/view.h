// What a node knows of its cluster, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/node_table.h"

namespace pawl::cluster {

struct ClusterView {
  std::string cluster_id;
  std::vector<NodeSeen> nodes;
  std::vector<std::string> dead;  // names of those whose beat stands still
  std::vector<PartitionSeen> partitions;
  std::vector<std::string> warnings;
};

}  // namespace pawl::cluster
