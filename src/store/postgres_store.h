// The store of many nodes: one partition of a PostgreSQL database (store/postgres_schema.h has its
// tables). A commit is one statement that checks, in its own transaction, that the partition still
// has the epoch that this store took it with; who takes the partition raises the epoch. So there is
// one writer however many believe they are it, without a clock (docs/adr/0015-postgres.md).
//
// Beyond store.h: Fenced means that another owner has the partition. That is final for this store;
// reopen() does not help. A connection that breaks during a commit leaves its outcome unknown:
// StoreFailed, and reopen() settles it by taking a new epoch of its own partition.
//
// Reads are not fenced by the database: what a former owner reads may be its successor's. Whoever
// opens the store says whether its lease still holds, and without it a read is StoreFailed.
//
// Trimming costs nothing: records below the mark are not read any more, and whole segments are
// dropped by keep_up(). After a crash some trimmed records may be there again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "store/postgres_partition.h"
#include "store/postgres_pool.h"
#include "store/store.h"

namespace pawl {

// A partition as it was seen when it was free, or its owner dead.
struct FreePartition {
  uint64_t epoch = 0;
  std::optional<uint64_t> owner_beat = {};  // at which its owner stands, if it has a row
};

struct PostgresOptions {
  std::string url;
  uint16_t partition = 0;
  uint16_t partitions = 0;  // of a new database; 0 = as many as it has, and none is made
  PartitionOwner owner;
  // The partition is taken from its owner if it still stands like this: the owner is known to be
  // gone. Without it a partition that somebody holds is refused as Unavailable.
  std::optional<FreePartition> take = {};
  size_t readers_kept = 4;
  // Instead of readers of its own: those that the partitions of a node share.
  std::shared_ptr<pg::Pool> readers = {};
  std::chrono::milliseconds silence{3000};          // after which a connection counts as lost
  std::chrono::milliseconds keep_up_pause{10'000};  // 0: only when keep_up() is called
  std::chrono::seconds segment_age{24 * 3600};      // a new segment begins at this age or size
  uint64_t segment_bytes = uint64_t{4} << 30;
  // Asked after each read; unset: always. False means that another owner may have had the partition
  // meanwhile, and what was read may be that one's: the read waits a second for the lease, and fails.
  std::function<bool()> lease_holds = {};
  pg::Server* server = nullptr;  // stands in for PostgreSQL, in simulations
  // Tests only: true while the database shall not be reached by writes.
  std::function<bool()> fault = {};
};

class PostgresStore : public Store {
 public:
  virtual uint64_t epoch() const = 0;
  // Notes what is not needed any more, begins and drops segments. The store does it by itself at
  // each pause; any thread.
  virtual Status keep_up() = 0;
};

// Makes the tables if there are none. Unavailable while another owner holds the partition, or if
// the database cannot be reached; InvalidRequest if it would lose what it acknowledges.
Result<std::unique_ptr<PostgresStore>> open_postgres(PostgresOptions options);

}  // namespace pawl
