// A server as a node of a cluster: its names, and how it joins.
#pragma once

#include <memory>
#include <string>

#include "cluster/member.h"
#include "main/serve.h"

namespace pawl {

std::string node_name(const ServeOptions& options);
std::string node_url(const ServeOptions& options);
// Stays the same for a data directory, which it makes if needed; "" = there is none.
std::string server_id(const std::string& data_dir);

// InvalidRequest without a cluster key. When another process turns out to live under this node's
// name, the process ends like on a signal.
Result<std::unique_ptr<cluster::Member>> join_cluster(const ServeOptions& options);

}  // namespace pawl
