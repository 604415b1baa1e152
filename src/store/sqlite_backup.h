// One consistent copy of a live database, into a new file.
#pragma once

#include <string>

#include "base/function_ref.h"
#include "store/database_form.h"
#include "store/sqlite_connection.h"

namespace pawl {

// `source` is a separate read-only connection: one read transaction holds its state for the whole
// copy, so that concurrent commits neither disturb nor restart it. The file appears under `path`
// only when it is complete and synced. Conflict if `path` exists. Reports progress in pages. The
// copy has the form of the source; Corrupt if a page of it is damaged.
Status backup_sqlite(Connection& source, const DatabaseForm& form, const std::string& path,
                     FunctionRef<void(uint64_t done, uint64_t total)> progress);

// Copies a database that another process uses.
Status backup_held_database(const std::string& database, const std::string& path,
                            FunctionRef<void(uint64_t done, uint64_t total)> progress);

}  // namespace pawl
