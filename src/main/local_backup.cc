// pawl backup, restore.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/json_writer.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "main/local.h"
#include "store/sqlite_backup.h"
#include "store/sqlite_store.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using cli::Invocation;

int fail(const Error& error, const std::string& hint = "") {
  cli::complain(error.message + hint);
  return cli::kRefused;
}

// A new directory appears under its name when it is complete.
Status fill_new_directory(const std::string& path, FunctionRef<Status(const std::string&)> fill) {
  if (fs::exists(path)) return Error{ErrorCode::Conflict, path + " exists already"};
  const std::string partial = path + ".partial";
  std::error_code failed;
  fs::remove_all(partial, failed);  // of an attempt that was killed
  if (!fs::create_directory(partial, failed))
    return Error{ErrorCode::StoreFailed, "cannot create " + partial + ": " + failed.message()};
  fs::permissions(partial, fs::perms::owner_all, failed);
  Status filled = fill(partial);
  if (filled.ok()) {
    fs::rename(partial, path, failed);
    if (!failed) return ok_status();
    filled = Error{ErrorCode::StoreFailed, "cannot name " + path + ": " + failed.message()};
  }
  fs::remove_all(partial, failed);
  return filled;
}

using BackupProgress = FunctionRef<void(uint64_t, uint64_t)>;

Status copy_free(std::vector<std::unique_ptr<Store>>& stores, const std::string& to,
                 BackupProgress progress) {
  if (stores.size() == 1) return stores[0]->backup(to, progress);
  return fill_new_directory(to, [&](const std::string& partial) -> Status {
    for (size_t id = 0; id < stores.size(); ++id)
      PAWL_TRY_DO(
          stores[id]->backup(partial + "/" + sqlite_file(static_cast<uint16_t>(id)), progress));
    return ok_status();
  });
}

// While a server uses the directory: one more reader of its databases.
Status copy_data(const std::string& directory, const std::string& to, BackupProgress progress) {
  auto stores = open_existing_data(directory);
  if (stores.ok()) return copy_free(*stores, to, progress);
  if (stores.error().code != ErrorCode::Unavailable) return stores.error();
  PAWL_TRY(const uint16_t partitions, partitions_of_held(directory));
  if (partitions == 1) return backup_held(directory, to, progress);
  return fill_new_directory(
      to, [&](const std::string& partial) { return backup_held(directory, partial, progress); });
}

uint64_t bytes_in(const std::string& path) {
  if (!fs::is_directory(path)) return fs::file_size(path);
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path)) bytes += entry.file_size();
  return bytes;
}

int backup(const Invocation& given) {
  std::string path = given.argument(0);
  {
    cli::ProgressBar bar("backup");
    Status done = copy_data(data_of(given), path,
                            [&](uint64_t pages, uint64_t total) { bar.show(pages, total); });
    if (!done.ok()) return fail(done.error());
  }
  const uint64_t bytes = bytes_in(path);
  if (given.has("--json")) {
    json::ObjectWriter w;
    w.field("path", path).field_int("bytes", bytes);
    cli::print_text(w.close() + "\n");
  } else {
    cli::print_text("backup in " + path + ", " + cli::bytes_text(bytes) + "\n");
  }
  return cli::kDone;
}

Error disk_error(const std::string& doing) {
  return {ErrorCode::StoreFailed, doing + ": " + std::strerror(errno)};
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File& operator=(File&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// The file appears complete and synced, or not at all.
Status copy_synced(const std::string& from, const std::string& directory, const std::string& name) {
  const std::string partial = directory + "/" + name + ".partial";
  File source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.get() < 0) return disk_error("cannot read " + from);
  File target(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (target.get() < 0) return disk_error("cannot write " + partial);
  uint64_t total = fs::file_size(from);
  uint64_t done = 0;
  cli::ProgressBar bar("restore");
  std::vector<char> buffer(1 << 20);
  while (true) {
    ssize_t got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0) return disk_error("cannot read " + from);
    if (got == 0) break;
    for (ssize_t put = 0; put < got;) {
      ssize_t wrote = ::write(target.get(), buffer.data() + put, static_cast<size_t>(got - put));
      if (wrote < 0) return disk_error("cannot write " + partial);
      put += wrote;
    }
    bar.show(done += static_cast<uint64_t>(got), total);
  }
  if (::fsync(target.get()) != 0) return disk_error("cannot sync " + partial);
  if (::rename(partial.c_str(), (directory + "/" + name).c_str()) != 0)
    return disk_error("cannot name " + partial);
  File folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) return disk_error("cannot sync " + directory);
  return ok_status();
}

// A file that is not a database of ours is not even copied.
Status check_is_database(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed))
    return Error{ErrorCode::NotFound, "there is no file " + path};
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 16> head{};
  if (file.get() < 0) return disk_error("cannot read " + path);
  if (::read(file.get(), head.data(), head.size()) != 16 ||
      std::memcmp(head.data(), "SQLite format 3", 16) != 0)
    return Error{ErrorCode::Corrupt, path + " is not a backup made by pawl"};
  return ok_status();
}

// A backup of several partitions is a directory; the first one is copied last, since it says how
// many there are.
Status copy_backup(const std::string& from, const std::string& directory) {
  if (!fs::is_directory(from)) {
    PAWL_TRY_DO(check_is_database(from));
    return copy_synced(from, directory, sqlite_file(0));
  }
  PAWL_TRY_DO(check_is_database(from + "/" + sqlite_file(0)));
  for (uint16_t id = 1; fs::exists(from + "/" + sqlite_file(id)); ++id)
    PAWL_TRY_DO(copy_synced(from + "/" + sqlite_file(id), directory, sqlite_file(id)));
  return copy_synced(from + "/" + sqlite_file(0), directory, sqlite_file(0));
}

Status restore_into(const std::string& from, const std::string& directory, std::string& told) {
  PAWL_TRY_DO(copy_backup(from, directory));
  PAWL_TRY(const auto stores, open_sqlite_partitions(directory, 0));
  for (size_t id = 0; id < stores.size(); ++id)
    told += (id == 0 ? "" : "; ") +
            (stores.size() == 1 ? "" : "partition " + std::to_string(id) + " ") +
            "journal records " + std::to_string(stores[id]->journal_first()) + " to " +
            std::to_string(stores[id]->journal_last());
  return ok_status();
}

int restore(const Invocation& given) {
  const std::string from = given.argument(0);
  const std::string directory = given.text("--data");
  std::error_code failed;
  if (directory.empty()) {
    cli::complain("restore needs --data DIR, an empty or missing directory");
    return cli::kUsage;
  }
  if (fs::exists(directory) && (!fs::is_directory(directory) || !fs::is_empty(directory, failed)))
    return fail({ErrorCode::Conflict,
                 directory + " is not empty; restore only writes into a new directory"});
  if (!fs::exists(from)) return fail({ErrorCode::NotFound, "there is no file " + from});
  const bool made = fs::create_directories(directory, failed);
  if (failed)
    return fail({ErrorCode::StoreFailed, "cannot create " + directory + ": " + failed.message()});
  fs::permissions(directory, fs::perms::owner_all, failed);
  std::string told;
  if (Status restored = restore_into(from, directory, told); !restored.ok()) {
    for (const auto& entry : fs::directory_iterator(directory))
      fs::remove(entry.path(), failed);  // all of it is ours
    if (made) fs::remove(directory, failed);
    return fail(restored.error());
  }
  cli::print_text("restored " + from + " into " + directory + ": " + told + "\n" +
                  "'pawl verify --data " + directory + "' replays them; 'pawl serve --data " +
                  directory + "' goes on.\n");
  return cli::kDone;
}

}  // namespace

std::vector<cli::Command> backup_commands() {
  return {{"backup",
           "copy everything into one file",
           {{"FILE", "a new file; of several partitions a directory of files"}},
           {{"--data", "DIR", "the data directory (PAWL_DATA, ./pawl-data)"},
            {"--json", "", "print the outcome as JSON"}},
           "One consistent state, also while a server uses the directory: it continues "
           "undisturbed.\n\n"
           "Example:\n  pawl backup /mnt/usb/monday.db --data /var/lib/pawl",
           backup},
          {"restore",
           "make a data directory from a backup",
           {{"FILE", "the backup: a file, or the directory of several partitions"}},
           {{"--data", "DIR", "target directory; empty or missing"}},
           "Example:\n  pawl restore monday.db --data ./restored && pawl serve --data ./restored",
           restore},
          verify_command()};
}

}  // namespace pawl
