// GET /v1/cluster: nodes and partitions. A server with a store of its own is a cluster of one.
#pragma once

#include "cluster/view.h"

namespace pawl::api {

struct NodeParts;

cluster::ClusterView shown_cluster(const NodeParts& node);

}  // namespace pawl::api
