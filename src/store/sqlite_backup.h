// One consistent copy of a live database, into a new file.
#pragma once

#include <string>

#include "base/function_ref.h"
#include "store/database_form.h"
#include "store/sqlite_connection.h"

namespace pawl {

// `source` is a separate read-only connection: one read transaction, which may be open already,
// holds its state for the whole copy, so that concurrent commits neither disturb nor restart it.
// The file appears under `path` only when it is complete and synced. Conflict if `path` exists.
// Reports progress in pages. The copy has the form of the source; Corrupt if a page of it is
// damaged.
Status backup_sqlite(Connection& source, const DatabaseForm& form, const std::string& path,
                     FunctionRef<void(uint64_t done, uint64_t total)> progress);

// The same of a directory that another process uses: of one partition into a file, of several into
// the directory `to`, which is there, under the names that they have. All are copied as they are at
// one moment: for some milliseconds nobody commits to any of them. Else a partition could know of a
// message that its sender has not sent.
Result<uint16_t> partitions_of_held(const std::string& directory);
Status backup_held(const std::string& directory, const std::string& to,
                   FunctionRef<void(uint64_t done, uint64_t total)> progress);

}  // namespace pawl
