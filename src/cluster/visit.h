// Visit: a command that holds all partitions while it reads or fills them. It beats like a node,
// else those that wait would take the partitions from it, but it takes no part in balance. Thread:
// one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/lease_keeper.h"
#include "store/postgres_store.h"

namespace pawl::cluster {

class Visit {
 public:
  // `partitions` as in PostgresOptions. Unavailable while a node has one of them.
  static Result<std::unique_ptr<Visit>> begin(const std::string& database, const std::string& name,
                                              uint16_t partitions);
  ~Visit();

  const std::vector<std::unique_ptr<PostgresStore>>& stores() const { return stores_; }
  const pg::Access& access() const { return access_; }
  // Gives the partitions up, and leaves.
  void end();

 private:
  Visit(pg::Access access, const NodeIdentity& self, uint16_t partitions);
  Status take_all(const PartitionOwner& owner, uint16_t partitions);

  const pg::Access access_;
  LeaseKeeper keeper_;
  std::vector<std::unique_ptr<PostgresStore>> stores_;
};

}  // namespace pawl::cluster
