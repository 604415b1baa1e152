// The layout of pawl.db: creating it, and refusing what is not it.
#pragma once

#include "store/database_form.h"
#include "store/sqlite_connection.h"

namespace pawl {

// 1: pages without checksums; 2: with. 3 and 4: the same, with a table for large values
// (sqlite_large.h). 5 and 6: the same, with packed values. Older layouts are upgraded when they are
// opened.
inline constexpr uint64_t kSqliteSchemaVersion = 6;

// Leaves `db` (the only open connection) in WAL mode with a layout that we know; a new database
// gets the layout of `form`. Unsupported if the layout is newer, Corrupt if it is some other
// database or does not match the form in its header.
Status prepare_schema(Connection& db, const DatabaseForm& form);

}  // namespace pawl
