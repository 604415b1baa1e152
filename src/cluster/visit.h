// Visit: a command that holds a partition while it reads or fills it. It beats like a node, else
// those that wait would take the partition from it. Thread: one at a time.
#pragma once

#include <memory>
#include <string>

#include "cluster/lease_keeper.h"
#include "store/postgres_store.h"

namespace pawl::cluster {

class Visit {
 public:
  // `partitions` as in PostgresOptions. Unavailable while a node serves.
  static Result<std::unique_ptr<Visit>> begin(const std::string& database, const std::string& name,
                                              uint16_t partitions);
  ~Visit();

  Store& store() { return *store_; }
  const pg::Access& access() const { return access_; }
  // Gives the partition up, and leaves.
  void end();

 private:
  Visit(pg::Access access, const NodeIdentity& self, uint16_t partitions);

  const pg::Access access_;
  LeaseKeeper keeper_;
  std::unique_ptr<PostgresStore> store_;
};

}  // namespace pawl::cluster
