// The row that says who may write a partition. Its epoch is the fence: whoever takes the partition
// raises it, and every commit holds the row and checks the epoch it was opened with. So a commit of
// a former owner either is durable before the partition is taken, or never happens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/postgres_connection.h"

namespace pawl {

// Who writes: a node, and which start of it.
struct PartitionOwner {
  std::string node;         // "" = nobody
  std::string incarnation;  // a UUID

  bool operator==(const PartitionOwner&) const = default;
  std::string application() const { return "pawl/" + node + "/" + incarnation; }
};

struct PartitionRow {
  uint64_t epoch = 0;
  PartitionOwner owner;
  uint64_t trim_before = 0;    // records below it are not needed any more
  uint32_t first_segment = 1;  // the oldest one that holds records which are
};

Result<PartitionRow> read_partition(pg::Connection& database, uint16_t id);

// Fenced if the row is not at `seen.epoch` any more, or if the owner's row has another beat than
// `owner_beat`: it lives. The owner's next beat waits for this, so whoever beats and then still
// sees its partition has it. A former owner's session that is stuck in a commit is ended after a
// second. When it returns, the former owner can commit nothing any more, and everything it
// committed can be read.
Result<PartitionRow> take_partition(pg::Connection& database, uint16_t id, const PartitionRow& seen,
                                    const PartitionOwner& owner,
                                    std::optional<uint64_t> owner_beat = {});

// The newest record, as its writer knows it; 0: there is none.
struct NewestRecord {
  uint32_t segment = 1;
  uint64_t number = 0;
};

// Notes what is not needed any more, under the epoch of `row`; `free`: and gives the partition up.
// Fenced if it is not ours, or the newest record is not there: then the database has lost what we
// remember, and where the rest lies is not what we believe.
Status note_partition(pg::Connection& database, uint16_t id, const PartitionRow& row,
                      const NewestRecord& newest, bool free);

}  // namespace pawl
