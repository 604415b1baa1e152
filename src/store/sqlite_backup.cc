#include "store/sqlite_backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"
#include "store/sqlite_vfs.h"

namespace pawl {
namespace {

constexpr int kPagesPerStep = 1024;
constexpr int kBusyMs = 1000;

Error failed(std::string_view doing, const std::string& path) {
  return Error{ErrorCode::StoreFailed,
               fmt::format("{} {}: {}", doing, path, std::generic_category().message(errno))};
}

Status copy(Connection& source, Connection& target,
            FunctionRef<void(uint64_t, uint64_t)> progress) {
  sqlite3_backup* backup = sqlite3_backup_init(target.handle(), "main", source.handle(), "main");
  if (backup == nullptr) return target.error(sqlite3_errcode(target.handle()), "starting a backup");
  int code = SQLITE_OK;
  while (code == SQLITE_OK) {
    code = sqlite3_backup_step(backup, kPagesPerStep);
    const auto total = static_cast<uint64_t>(sqlite3_backup_pagecount(backup));
    const auto left = static_cast<uint64_t>(sqlite3_backup_remaining(backup));
    if (code == SQLITE_OK || code == SQLITE_DONE) progress(total - left, total);
  }
  sqlite3_backup_finish(backup);
  // Only a page of the source can be damaged.
  if (code == SQLITE_IOERR_DATA) return source.error(code, "copying the database");
  if (code != SQLITE_DONE) return target.error(code, "copying the database");
  return ok_status();
}

// BEGIN alone takes no snapshot; the first read does.
Status take_snapshot(Connection& source) {
  return source.execute("BEGIN; SELECT value FROM meta LIMIT 1");
}

Status copy_to(Connection& source, const DatabaseForm& form, const std::string& path,
               FunctionRef<void(uint64_t, uint64_t)> progress) {
  SqliteVfs vfs(nullptr);
  vfs.set_form(form);
  PAWL_TRY(Connection target,
           Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs.name()));
  if (sqlite3_get_autocommit(source.handle()) != 0) PAWL_TRY_DO(take_snapshot(source));
  Status copied = copy(source, target, progress);
  PAWL_TRY_DO(source.execute("COMMIT"));
  return copied;
}

Status publish(const std::string& from, const std::string& to) {
  // Unlike rename, link does not replace a file that was created meanwhile.
  if (::link(from.c_str(), to.c_str()) != 0) {
    if (errno == EEXIST) return Error{ErrorCode::Conflict, to + " exists already"};
    return failed("publishing", to);
  }
  const std::filesystem::path parent = std::filesystem::path(to).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failed("opening", directory);
  const bool synced = ::fsync(fd) == 0;
  Status status = synced ? ok_status() : Status(failed("syncing", directory));
  ::close(fd);
  return status;
}

// A database that another process uses.
struct HeldDatabase {
  SqliteVfs vfs{nullptr};
  DatabaseForm form;
  Connection source;

  Status open(const std::string& path) {
    PAWL_TRY(const auto found, read_form(vfs.base(), path));
    if (!found) return Error{ErrorCode::Corrupt, path + " is no database"};
    form = *found;
    vfs.set_form(form);
    PAWL_TRY(source, Connection::open(path, SQLITE_OPEN_READONLY, vfs.name()));
    sqlite3_busy_timeout(source.handle(), kBusyMs);
    return ok_status();
  }
};

// Keeps everybody else from committing while it lives. It writes nothing itself.
class CommitsHeldBack {
 public:
  static Result<CommitsHeldBack> in(const std::string& path, SqliteVfs& vfs) {
    CommitsHeldBack held;
    PAWL_TRY(held.connection_, Connection::open(path, SQLITE_OPEN_READWRITE, vfs.name()));
    sqlite3* db = held.connection_.handle();
    sqlite3_busy_timeout(db, kBusyMs);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    PAWL_TRY_DO(held.connection_.execute("PRAGMA wal_autocheckpoint = 0; BEGIN IMMEDIATE"));
    return held;
  }

 private:
  Connection connection_;
};

using HeldDatabases = std::vector<std::unique_ptr<HeldDatabase>>;

Result<HeldDatabases> open_held(const std::string& directory) {
  HeldDatabases all;
  uint16_t count = 1;
  while (all.size() < count) {
    all.push_back(std::make_unique<HeldDatabase>());
    const auto id = static_cast<uint16_t>(all.size() - 1);
    PAWL_TRY_DO(all.back()->open(directory + "/" + sqlite_file(id)));
    if (id > 0) continue;
    PAWL_TRY(const PartitionPlace place, read_place(all.back()->source));
    count = place.of;
  }
  return all;
}

Status take_snapshots(const std::string& directory, HeldDatabases& databases) {
  std::vector<CommitsHeldBack> held_back;
  for (size_t id = 0; id < databases.size(); ++id) {
    const std::string path = directory + "/" + sqlite_file(static_cast<uint16_t>(id));
    PAWL_TRY(CommitsHeldBack one, CommitsHeldBack::in(path, databases[id]->vfs));
    held_back.push_back(std::move(one));
  }
  for (auto& database : databases) PAWL_TRY_DO(take_snapshot(database->source));
  return ok_status();
}

}  // namespace

Status backup_sqlite(Connection& source, const DatabaseForm& form, const std::string& path,
                     FunctionRef<void(uint64_t done, uint64_t total)> progress) {
  if (::access(path.c_str(), F_OK) == 0) {
    return Error{ErrorCode::Conflict, path + " exists already"};
  }
  const std::string partial = path + ".partial";
  ::unlink(partial.c_str());  // from a killed attempt
  // Created here, since SQLite would make it readable by other users.
  const int fd = ::open(partial.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return failed("creating", partial);
  ::close(fd);
  Status status = copy_to(source, form, partial, progress);
  if (status.ok()) status = publish(partial, path);
  ::unlink(partial.c_str());
  return status;
}

Result<uint16_t> partitions_of_held(const std::string& directory) {
  HeldDatabase first;
  PAWL_TRY_DO(first.open(directory + "/" + sqlite_file(0)));
  PAWL_TRY(const PartitionPlace place, read_place(first.source));
  return place.of;
}

Status backup_held(const std::string& directory, const std::string& to,
                   FunctionRef<void(uint64_t done, uint64_t total)> progress) {
  PAWL_TRY(HeldDatabases databases, open_held(directory));
  if (databases.size() == 1)
    return backup_sqlite(databases[0]->source, databases[0]->form, to, progress);
  PAWL_TRY_DO(take_snapshots(directory, databases));
  for (size_t id = 0; id < databases.size(); ++id)
    PAWL_TRY_DO(backup_sqlite(databases[id]->source, databases[id]->form,
                              to + "/" + sqlite_file(static_cast<uint16_t>(id)), progress));
  return ok_status();
}

}  // namespace pawl
