// One database of a directory, opened as a store. sqlite_partitions.cc puts directories together.
#pragma once

#include <memory>
#include <string>

#include "store/directory_lock.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"

namespace pawl {

struct SqliteDatabase {
  std::unique_ptr<Store> store;
  PartitionPlace place;  // as it is noted in the database
};

// `lock`: of the directory, which is held as long as one of its stores is open; none with a VFS of
// the caller's. `place`: of a new database; Corrupt if one that is there is another partition.
Result<SqliteDatabase> open_sqlite_database(std::shared_ptr<const DirectoryLock> lock,
                                            const std::string& path, const SqliteOptions& options,
                                            const PartitionPlace& place);

}  // namespace pawl
