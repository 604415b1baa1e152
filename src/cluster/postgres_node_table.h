// The table of nodes in PostgreSQL (pawl_node and pawl_partition, store/postgres_schema.h). Makes
// Pawl's tables if there are none. Connects anew after a failure. Thread: one at a time.
#pragma once

#include <memory>

#include "cluster/node_table.h"
#include "store/postgres_connection.h"

namespace pawl::cluster {

std::unique_ptr<NodeTable> postgres_node_table(pg::Access access, uint16_t partitions);

// The node sees it at its next beat. False: there is none of that name.
Result<bool> mark_draining(pg::Connection& database, const std::string& name, bool draining);

}  // namespace pawl::cluster
