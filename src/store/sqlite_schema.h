// The layout of pawl.db: creating it, and refusing what is not it.
#pragma once

#include "store/database_form.h"
#include "store/sqlite_connection.h"

namespace pawl {

// 1: pages without checksums; 2: with. 3 and 4: the same, and large values aside (sqlite_large.h).
// Both of the first are made one of the second when they are opened.
inline constexpr uint64_t kSqliteSchemaVersion = 6;

// Leaves `db` (the only open connection) in WAL mode with a layout that we know; a new database
// gets the one of `form`. Unsupported if a newer one is there, Corrupt if it is some other database
// or has not the form that its header gave it.
Status prepare_schema(Connection& db, const DatabaseForm& form);

}  // namespace pawl
