// Directories of SQLite databases: open_sqlite() and open_sqlite_partitions().
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/database_form.h"
#include "store/sqlite_database.h"
#include "store/sqlite_store.h"

namespace pawl {
namespace {

using Stores = std::vector<std::unique_ptr<Store>>;

class PartitionedDirectory {
 public:
  static Result<PartitionedDirectory> lock(const std::string& path, const SqliteOptions& options) {
    PartitionedDirectory directory(path, options);
    if (!options.base_vfs.empty()) return directory;
    PAWL_TRY(DirectoryLock taken, DirectoryLock::acquire(path));
    directory.lock_ = std::make_shared<const DirectoryLock>(std::move(taken));
    return directory;
  }

  Result<bool> has(uint16_t id) const {
    sqlite3_vfs* vfs =
        sqlite3_vfs_find(options_->base_vfs.empty() ? "unix" : options_->base_vfs.c_str());
    PAWL_TRY(const auto form, read_form(vfs, file(id)));
    return form.has_value();
  }
  Result<SqliteDatabase> open(uint16_t id, uint16_t of) const {
    return open_sqlite_database(lock_, file(id), *options_, {id, of});
  }
  Result<Stores> make(uint16_t partitions) const;
  Result<Stores> open_others(SqliteDatabase first) const;

 private:
  PartitionedDirectory(const std::string& path, const SqliteOptions& options)
      : path_(&path), options_(&options) {}
  std::string file(uint16_t id) const { return *path_ + "/" + sqlite_file(id); }

  const std::string* path_;
  const SqliteOptions* options_;
  std::shared_ptr<const DirectoryLock> lock_;
};

// The one that is made last says how many there are: a directory that was not finished has none.
Result<Stores> PartitionedDirectory::make(uint16_t partitions) const {
  Stores stores(partitions);
  for (size_t id = partitions; id > 0; --id) {
    PAWL_TRY(SqliteDatabase made, open(static_cast<uint16_t>(id - 1), partitions));
    if (id > 1 && made.store->journal_last() != 0)
      return Error{ErrorCode::Corrupt,
                   fmt::format("{} holds data, but {} is missing",
                               sqlite_file(static_cast<uint16_t>(id - 1)), sqlite_file(0))};
    stores[id - 1] = std::move(made.store);
  }
  return stores;
}

Result<Stores> PartitionedDirectory::open_others(SqliteDatabase first) const {
  const uint16_t count = first.place.of;
  for (uint16_t id = 1; id < count; ++id) {
    PAWL_TRY(const bool there, has(id));
    if (!there)
      return Error{ErrorCode::Corrupt, fmt::format("{} is missing; the directory has {} partitions",
                                                   sqlite_file(id), count)};
  }
  Stores stores;
  stores.push_back(std::move(first.store));
  for (uint16_t id = 1; id < count; ++id) {
    PAWL_TRY(SqliteDatabase opened, open(id, count));
    stores.push_back(std::move(opened.store));
  }
  return stores;
}

}  // namespace

std::string sqlite_file(uint16_t partition) {
  return partition == 0 ? "pawl.db" : fmt::format("pawl-{}.db", partition);
}

Result<std::unique_ptr<Store>> open_sqlite(const std::string& directory, SqliteOptions options) {
  PAWL_TRY(const PartitionedDirectory locked, PartitionedDirectory::lock(directory, options));
  PAWL_TRY(SqliteDatabase only, locked.open(0, 1));
  if (only.place.of != 1)
    return Error{ErrorCode::InvalidRequest, fmt::format("{} has {} partitions; this takes only one",
                                                        directory, only.place.of)};
  return std::move(only.store);
}

Result<std::vector<std::unique_ptr<Store>>> open_sqlite_partitions(const std::string& directory,
                                                                   uint16_t partitions,
                                                                   const SqliteOptions& options) {
  PAWL_TRY(const PartitionedDirectory locked, PartitionedDirectory::lock(directory, options));
  const uint16_t asked = std::max<uint16_t>(partitions, 1);
  PAWL_TRY(const bool there, locked.has(0));
  if (!there) return locked.make(asked);
  PAWL_TRY(SqliteDatabase first, locked.open(0, asked));
  if (partitions != 0 && partitions != first.place.of)
    return Error{ErrorCode::InvalidRequest,
                 fmt::format("{} has {} partitions, which is fixed; {} were asked for", directory,
                             first.place.of, partitions)};
  return locked.open_others(std::move(first));
}

}  // namespace pawl
