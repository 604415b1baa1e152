#include "store/sqlite_backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "store/sqlite_vfs.h"

namespace pawl {
namespace {

constexpr int kPagesPerStep = 1024;

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

Status copy_to(Connection& source, const DatabaseForm& form, const std::string& path,
               FunctionRef<void(uint64_t, uint64_t)> progress) {
  SqliteVfs vfs(nullptr);
  vfs.set_form(form);
  PAWL_TRY(Connection target,
           Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs.name()));
  // BEGIN alone takes no snapshot; the first read does.
  PAWL_TRY_DO(source.execute("BEGIN; SELECT value FROM meta LIMIT 1"));
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

Status backup_held_database(const std::string& database, const std::string& path,
                            FunctionRef<void(uint64_t done, uint64_t total)> progress) {
  SqliteVfs vfs(nullptr);
  PAWL_TRY(const auto form, read_form(vfs.base(), database));
  if (!form) return Error{ErrorCode::Corrupt, database + " is no database"};
  vfs.set_form(*form);
  PAWL_TRY(Connection source, Connection::open(database, SQLITE_OPEN_READONLY, vfs.name()));
  sqlite3_busy_timeout(source.handle(), 1000);
  return backup_sqlite(source, *form, path, progress);
}

}  // namespace pawl
