// The layout of pawl.db: creating it, and refusing what is not it.
#pragma once

#include "store/database_form.h"
#include "store/sqlite_connection.h"

namespace pawl {

// 1: pages without checksums; 2: with. 3 and 4: the same, with a table for large values
// (sqlite_large.h). 5 and 6: the same, with packed values. Older layouts are upgraded when they are
// opened.
inline constexpr uint64_t kSqliteSchemaVersion = 6;

// Which partition a database holds, of how many in its directory; noted when it is made.
struct PartitionPlace {
  uint16_t id = 0;
  uint16_t of = 1;
};

// Leaves `db` (the only open connection) in WAL mode with a layout that we know; a new database
// gets the layout of `form`, and `place`. Unsupported if the layout is newer, Corrupt if it is some
// other database or does not match the form in its header.
Status prepare_schema(Connection& db, const DatabaseForm& form, const PartitionPlace& place);

// Databases that were made before there were partitions are the only one.
Result<PartitionPlace> read_place(Connection& db);

}  // namespace pawl
