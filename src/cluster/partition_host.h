// PartitionHost: serves the partitions that a node has. The seam between the leases and the server.
#pragma once

#include <cstdint>
#include <memory>

#include "cluster/node_table.h"
#include "store/postgres_store.h"

namespace pawl::cluster {

class PartitionHost {
 public:
  virtual ~PartitionHost() = default;
  // Recovers and serves a partition that was just taken. May take long; several partitions are
  // served at a time, each once. On an error the store is closed, which frees the partition, and it
  // is tried again after a pause.
  virtual Status serve(uint16_t partition, std::unique_ptr<PostgresStore> store) = 0;
  // Ends serving; when it returns, the store is closed. `lost`: nothing can be committed any more.
  // Otherwise everything decided is committed first. Never while serve() of the same partition
  // runs.
  virtual void give_up(uint16_t partition, bool lost) = 0;
  // The node's row was gone: everything was given up as lost, and it has entered the cluster anew
  // under another incarnation. On the keeper's thread: must not wait.
  virtual void entered_anew(const NodeIdentity&) {}
  // Of a partition that is served; for people. Must not wait.
  virtual uint64_t journal_head(uint16_t) { return 0; }
};

}  // namespace pawl::cluster
