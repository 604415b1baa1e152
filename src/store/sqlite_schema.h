// The layout of pawl.db: creating it, and refusing what is not it.
#pragma once

#include "store/sqlite_connection.h"

namespace pawl {

inline constexpr uint64_t kSqliteSchemaVersion = 1;

// Leaves `db` (the only open connection) in WAL mode with the current layout. Unsupported if a
// newer one is there, Corrupt if it is some other database.
Status prepare_schema(Connection& db, uint64_t page_bytes);

}  // namespace pawl
