// pawl backup, restore, verify.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/json_writer.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cluster/visit.h"
#include "engine/verify.h"
#include "kernel/worlds/checked_row.h"
#include "main/local.h"
#include "store/sqlite_backup.h"
#include "store/sqlite_store.h"
#include "wasm/wasm_host.h"
#include "worldhost/verify_worlds.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using cli::Invocation;

int fail(const Error& error, const std::string& hint = "") {
  cli::complain(error.message + hint);
  return cli::kRefused;
}

// Opening a store would create a missing directory, which a reading command must not.
Result<std::unique_ptr<Store>> open_existing(const std::string& directory) {
  if (!fs::exists(fs::path(directory) / "pawl.db"))
    return Error{ErrorCode::NotFound, directory + " holds no data (no pawl.db in it)"};
  return open_sqlite(directory, {.self_checked = is_checked_row});
}

std::string data_of(const Invocation& given) {
  const char* set = std::getenv("PAWL_DATA");
  return given.text("--data", set != nullptr && *set != '\0' ? set : "./pawl-data");
}

// While a server uses the directory: one more reader of its database, which delays nothing.
Status copy_database(const std::string& directory, const std::string& to,
                     FunctionRef<void(uint64_t, uint64_t)> progress) {
  auto store = open_existing(directory);
  if (store.ok()) return (*store)->backup(to, progress);
  if (store.error().code != ErrorCode::Unavailable) return store.error();
  return backup_held_database(directory + "/pawl.db", to, progress);
}

int backup(const Invocation& given) {
  std::string path = given.argument(0);
  {
    cli::ProgressBar bar("backup");
    Status done = copy_database(data_of(given), path,
                                [&](uint64_t pages, uint64_t total) { bar.show(pages, total); });
    if (!done.ok()) return fail(done.error());
  }
  uint64_t bytes = fs::file_size(path);
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
Status copy_synced(const std::string& from, const std::string& directory) {
  std::string partial = directory + "/pawl.db.partial";
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
  if (::rename(partial.c_str(), (directory + "/pawl.db").c_str()) != 0)
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

int restore(const Invocation& given) {
  std::string from = given.argument(0);
  std::string directory = given.text("--data");
  std::error_code failed;
  if (directory.empty()) {
    cli::complain("restore needs --data DIR, an empty or missing directory");
    return cli::kUsage;
  }
  if (fs::exists(directory) && (!fs::is_directory(directory) || !fs::is_empty(directory, failed)))
    return fail({ErrorCode::Conflict,
                 directory + " is not empty; restore only writes into a new directory"});
  if (Status good = check_is_database(from); !good.ok()) return fail(good.error());
  bool made = fs::create_directories(directory, failed);
  if (failed)
    return fail({ErrorCode::StoreFailed, "cannot create " + directory + ": " + failed.message()});
  fs::permissions(directory, fs::perms::owner_all, failed);
  Status copied = copy_synced(from, directory);
  auto store =
      copied.ok() ? open_sqlite(directory) : Result<std::unique_ptr<Store>>(copied.error());
  if (!store.ok()) {
    for (const auto& entry : fs::directory_iterator(directory))
      fs::remove(entry.path(), failed);  // all of it is ours
    if (made) fs::remove(directory, failed);
    return fail(store.error());
  }
  cli::print_text("restored " + from + " into " + directory + ": journal records " +
                  std::to_string((*store)->journal_first()) + " to " +
                  std::to_string((*store)->journal_last()) + "\n" + "'pawl verify --data " +
                  directory + "' replays them; 'pawl serve --data " + directory + "' goes on.\n");
  return cli::kDone;
}

bool all_good(const std::vector<WorldVerdict>& worlds) {
  return std::all_of(worlds.begin(), worlds.end(),
                     [](const WorldVerdict& world) { return world.code.empty(); });
}

std::string report_json(const VerifyReport& report, const std::vector<WorldVerdict>& worlds) {
  json::ObjectWriter w;
  w.field_bool("good", report.good() && all_good(worlds));
  w.field_int("records", report.records).field_int("events", report.events);
  w.field_int("first_record", report.first_record);
  w.field_int("entities", report.entities);
  w.field_int("entities_too_old", report.entities_old);
  w.field_int("index_entries", report.index_entries);
  w.field_int("differences", report.differences);
  w.key("first_differences").begin_array();
  for (const VerifyDifference& one : report.first_differences) w.string(one.text());
  w.end_array().field("digest", report.digest);
  if (!report.digest_replayed.empty()) w.field("digest_replayed", report.digest_replayed);
  w.key("worlds").begin_array();
  for (const WorldVerdict& world : worlds) {
    w.begin_object().field("name", world.name).field_bool("good", world.code.empty());
    w.field_int("frames", world.frames);
    if (!world.code.empty()) w.field("code", world.code).field("message", world.message);
    w.end_object();
  }
  w.end_array();
  return w.close();
}

// What is verified: a directory, or a database that this command visits.
struct Verified {
  std::unique_ptr<Store> directory;
  std::unique_ptr<cluster::Visit> visit;

  Store& store() { return visit ? visit->store() : *directory; }
};

Result<Verified> open_to_verify(const Invocation& given) {
  Verified verified;
  if (given.has("--store")) {
    PAWL_TRY(verified.visit, cluster::Visit::begin(given.text("--store"), "verify", 0));
  } else {
    PAWL_TRY(verified.directory, open_existing(data_of(given)));
  }
  return verified;
}

int verify_data(const Invocation& given) {
  auto verified = open_to_verify(given);
  if (!verified.ok())
    return fail(verified.error(), verified.error().code == ErrorCode::Unavailable
                                      ? "; stop the server first, or verify a backup"
                                      : "");
  Store& store = verified->store();
  Result<VerifyReport> report = [&] {
    cli::ProgressBar bar("verify");
    return verify(store, [&](uint64_t done, uint64_t total) { bar.show(done, total); });
  }();
  if (!report.ok()) return fail(report.error());
  wasm::WasmHost modules;
  auto worlds = verify_worlds(store, modules, [](const std::string&) {});
  if (!worlds.ok()) return fail(worlds.error());
  if (given.has("--json")) {
    cli::print_text(report_json(*report, *worlds) + "\n");
    return report->good() && all_good(*worlds) ? cli::kDone : cli::kRefused;
  }
  cli::print_text("replayed " + std::to_string(report->records) + " records, " +
                  std::to_string(report->events) + " events; compared " +
                  std::to_string(report->entities) + " entities and " +
                  std::to_string(report->index_entries) + " index entries\n");
  if (report->entities_old > 0)
    cli::print_text(std::to_string(report->entities_old) +
                    " entities are older than the journal and were not compared\n");
  for (const VerifyDifference& one : report->first_differences)
    cli::print_text("  " + cli::printable(one.text()) + "\n");
  for (const WorldVerdict& world : *worlds)
    cli::print_text("world " + cli::printable(world.name) + ": " +
                    (world.code.empty() ? "replayed " + std::to_string(world.frames) + " frames"
                                        : world.code + ": " + cli::printable(world.message)) +
                    "\n");
  if (report->good() && !all_good(*worlds)) {
    cli::complain("a world does not replay: its journal or its modules have changed");
    return cli::kRefused;
  }
  if (!report->good()) {
    cli::complain(std::to_string(report->differences) +
                  " differences: the stored data does not match its history");
    return cli::kRefused;
  }
  cli::print_text("digest " + report->digest + "\n" +
                  cli::painted("good", cli::Colour::Green, cli::colours_on(stdout)) + "\n");
  return cli::kDone;
}

}  // namespace

std::vector<cli::Command> backup_commands() {
  return {{"backup",
           "copy everything into one file",
           {{"FILE", "a new file"}},
           {{"--data", "DIR", "the data directory (PAWL_DATA, ./pawl-data)"},
            {"--json", "", "print the outcome as JSON"}},
           "One consistent state, also while a server uses the directory: it continues "
           "undisturbed.\n\n"
           "Example:\n  pawl backup /mnt/usb/monday.db --data /var/lib/pawl",
           backup},
          {"restore",
           "make a data directory from a backup",
           {{"FILE", "the backup"}},
           {{"--data", "DIR", "target directory; empty or missing"}},
           "Example:\n  pawl restore monday.db --data ./restored && pawl serve --data ./restored",
           restore},
          {"verify",
           "replay the journal and compare it with what is stored",
           {},
           {{"--data", "DIR", "the data directory (PAWL_DATA, ./pawl-data)"},
            {"--store", "URL", "a PostgreSQL database instead, that no node serves"},
            {"--json", "", "print the report as JSON"}},
           "Exit 0 if every record is whole and the stored state equals the replayed history, "
           "else 1.",
           verify_data}};
}

}  // namespace pawl
