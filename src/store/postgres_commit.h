// The one statement of a commit: checks the fence and that no record is missing, appends the
// record, deletes and writes rows. All of it happens or nothing.
#pragma once

#include <cstdint>

#include "store/postgres_connection.h"
#include "store/store.h"

namespace pawl {

struct CommitPlace {
  uint16_t partition = 0;
  uint64_t epoch = 0;
  uint32_t segment = 1;         // where the record goes
  uint32_t former_segment = 1;  // where the record before it is
  uint64_t last = 0;            // its number; 0: there is none
};

enum class CommitEnd : uint8_t {
  Done,
  Fenced,  // the partition has another epoch
  Gap,     // the newest record is not there: the database is behind us
};

// The errors are those of pg::Connection. Conflict: it has not happened, and may be tried again.
Result<CommitEnd> commit_batch(pg::Connection& database, const CommitPlace& place,
                               const Batch& batch);

}  // namespace pawl
