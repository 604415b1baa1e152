#include "store/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "store/judged_rows.h"
#include "store/page_sum.h"
#include "store/sqlite_backup.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_database.h"
#include "store/sqlite_large.h"
#include "store/sqlite_log.h"
#include "store/sqlite_readers.h"

namespace pawl {
namespace {

// Only the committing thread touches it.
struct Writer {
  Connection connection;  // first member: outlives the statements
  Statement begin, commit, rollback;
  Statement put, remove;
  LargeWriter large;
  Statement append, record_bytes, trim;
};

class SqliteStore : public Store {
 public:
  SqliteStore(std::shared_ptr<const DirectoryLock> lock, std::string path,
              const SqliteOptions& options, PartitionPlace place)
      : lock_(std::move(lock)),
        path_(std::move(path)),
        options_(options),
        place_(place),
        vfs_(options_.fault, options_.base_vfs.empty() ? "unix" : options_.base_vfs),
        readers_(path_, vfs_.name(), options_.readers_kept) {}

  ~SqliteStore() override {
    // After a failure the files stay unchanged: the log holds every acknowledged batch.
    if (failed_ || (checkpointer_ && checkpointer_->failed())) {
      sqlite3_db_config(writer_.connection.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    }
    checkpointer_.reset();
  }

  Status open();
  const PartitionPlace& place() const { return place_; }

  Status commit(const Batch& batch) override;
  Result<std::optional<std::string>> get(uint8_t space, std::string_view key) override;
  Status scan(uint8_t space, std::string_view from, std::string_view to, bool reverse, size_t limit,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override;
  Status scan_keys(uint8_t space, std::string_view from, std::string_view to, size_t limit,
                   FunctionRef<bool(std::string_view)> visit) override;
  Status read_journal(uint64_t from, size_t limit,
                      FunctionRef<bool(uint64_t, std::string_view)> visit) override;
  uint64_t journal_first() const override { return first_; }
  uint64_t journal_last() const override { return last_; }
  Status backup(const std::string& path, FunctionRef<void(uint64_t, uint64_t)> progress) override {
    PAWL_TRY(Connection source, readers_.connect());
    return backup_sqlite(source, vfs_.form(), path, progress);
  }
  StoreStats stats() const override;
  bool congested() const override;
  Status reopen() override;

 private:
  Status create_file();
  Status settle_form();
  Status check_place();
  Result<Writer> open_writer();
  Status open_checkpointer();
  Status write(const Batch& batch);
  Status write_rows(const Batch& batch);
  int write_row(const Write& write);
  Result<uint64_t> trim(const Batch& batch, uint64_t last);
  Status fail(Error error);
  Status check_room() const;
  Status prove_disk();
  Status read_bounds();
  Status check(int code, std::string_view doing) {
    if (code == SQLITE_OK) return ok_status();
    return writer_.connection.error(code, doing);
  }

  // Members die in reverse order: readers, then the writer, which is the last connection and so
  // moves the log into the database, then the VFS they used, then the lock.
  const std::shared_ptr<const DirectoryLock> lock_;
  const std::string path_;
  const SqliteOptions options_;
  PartitionPlace place_;  // of a new database; once it is open, what is noted in it
  SqliteVfs vfs_;
  Writer writer_;
  uint64_t frame_bytes_ = 0;
  std::optional<uint64_t>
      wal_bytes_;  // after this commit, if it wrote; set by the writer's wal hook
  bool failed_ = false;
  std::string failure_;
  mutable std::mutex checkpointer_mutex_;  // held to replace it, and by other threads to use it
  std::unique_ptr<Checkpointer> checkpointer_;
  ReaderPool readers_;
  std::atomic<uint64_t> first_{0};
  std::atomic<uint64_t> last_{0};
  std::atomic<uint64_t> commits_{0};
  std::atomic<uint64_t> journal_bytes_{0};
};

Status SqliteStore::open() {
  PAWL_TRY_DO(create_file());
  PAWL_TRY_DO(settle_form());
  PAWL_TRY_DO(settle_log(vfs_.name(), path_ + "-wal"));
  PAWL_TRY(writer_, open_writer());
  PAWL_TRY_DO(check_place());
  PAWL_TRY_DO(read_bounds());
  return open_checkpointer();
}

Status SqliteStore::check_place() {
  PAWL_TRY(const PartitionPlace found, read_place(writer_.connection));
  if (found.id != place_.id)
    return Error{ErrorCode::Corrupt, fmt::format("{} should hold partition {}, but holds {}", path_,
                                                 place_.id, found.id)};
  place_ = found;
  return ok_status();
}

Status SqliteStore::read_bounds() {
  const ReadingRecords reading;
  PAWL_TRY(first_, writer_.connection.query_number("SELECT min(number) FROM journal"));
  PAWL_TRY(last_, writer_.connection.query_number("SELECT max(number) FROM journal"));
  return ok_status();
}

// SQLite would create it readable by all users; the log inherits the database's mode. Only before
// there is a connection: closing a descriptor drops the locks that the process holds on the file.
Status SqliteStore::create_file() {
  const bool real = options_.base_vfs.empty();
  const int fd = real ? ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (real && fd < 0) {
    return Error{ErrorCode::StoreFailed,
                 fmt::format("opening {}: {}", path_, std::generic_category().message(errno))};
  }
  if (real) ::close(fd);
  return ok_status();
}

Status SqliteStore::settle_form() {
  PAWL_CHECK(is_page_size(options_.page_bytes));
  PAWL_TRY(const auto found, read_form(vfs_.base(), path_));
  vfs_.set_self_checked(options_.self_checked);
  vfs_.set_form(found ? *found
                      : DatabaseForm{.page_bytes = static_cast<uint32_t>(options_.page_bytes),
                                     .sums = options_.page_sums});
  return ok_status();
}

Result<Writer> SqliteStore::open_writer() {
  Writer writer;
  PAWL_TRY(writer.connection,
           Connection::open(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs_.name()));
  Connection& db = writer.connection;
  sqlite3_busy_timeout(db.handle(), 1000);  // a person with the sqlite3 shell may hold a lock
  PAWL_TRY_DO(prepare_schema(db, vfs_.form(), place_));
  // Debian builds SQLite with secure_delete: freed pages would be overwritten with zeros, and
  // logged.
  PAWL_TRY_DO(db.execute(fmt::format(
      "PRAGMA secure_delete = OFF; PRAGMA cache_size = -{}; PRAGMA journal_size_limit = {}",
      options_.cache_bytes >> 10, options_.checkpoint.max_bytes)));
  frame_bytes_ = uint64_t{vfs_.form().page_bytes} + kFrameHeaderBytes;
  // Replaces the automatic checkpoint, which would run inside a commit.
  const auto note_frames = [](void* store, sqlite3*, const char*, int frames) {
    auto* self = static_cast<SqliteStore*>(store);
    self->wal_bytes_ = static_cast<uint64_t>(frames) * self->frame_bytes_;
    if (self->options_.on_visible) self->options_.on_visible();
    return SQLITE_OK;
  };
  sqlite3_wal_hook(db.handle(), note_frames, this);

  PAWL_TRY(writer.begin, db.prepare("BEGIN IMMEDIATE"));
  PAWL_TRY(writer.commit, db.prepare("COMMIT"));
  PAWL_TRY(writer.rollback, db.prepare("ROLLBACK"));
  PAWL_TRY(writer.put, db.prepare("INSERT OR REPLACE INTO kv(space, key, value)"
                                  " VALUES (?1, ?2, ?3)"));
  PAWL_TRY(writer.remove, db.prepare("DELETE FROM kv WHERE space = ?1 AND key = ?2"));
  PAWL_TRY(writer.large, LargeWriter::open(db, options_.packed_bytes_min));
  PAWL_TRY(writer.append, db.prepare("INSERT INTO journal(number, record, unpacked)"
                                     " VALUES (?1, ?2, ?3)"));
  PAWL_TRY(writer.record_bytes, db.prepare("SELECT ifnull(unpacked, length(record)) FROM journal"
                                           " WHERE number = ?1"));
  PAWL_TRY(writer.trim, db.prepare("DELETE FROM journal WHERE number < ?1"));
  return writer;
}

Status SqliteStore::open_checkpointer() {
  PAWL_TRY(Connection connection, Connection::open(path_, SQLITE_OPEN_READWRITE, vfs_.name()));
  PAWL_TRY_DO(connection.execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0"));
  auto checkpointer =
      std::make_unique<Checkpointer>(std::move(connection), frame_bytes_, options_.checkpoint);
  std::lock_guard lock(checkpointer_mutex_);
  checkpointer_ = std::move(checkpointer);
  return ok_status();
}

Status SqliteStore::commit(const Batch& batch) {
  if (failed_) {
    return Error{ErrorCode::StoreFailed,
                 "the store failed before and must be reopened: " + failure_};
  }
  PAWL_TRY_DO(check_batch(batch, last_));
  if (batch.number == 0 && batch.writes.empty() && batch.trim_journal_before <= first_) {
    return ok_status();
  }
  if (Status status = checkpointer_->begin_commit(); !status.ok()) {
    return fail(std::move(status).error());
  }
  wal_bytes_.reset();
  Status status = write(batch);
  checkpointer_->end_commit(wal_bytes_);
  if (!status.ok()) return fail(std::move(status).error());
  ++commits_;
  journal_bytes_ += batch.journal.size();
  return ok_status();
}

Status SqliteStore::fail(Error error) {
  failed_ = true;
  failure_ = error.message;
  return error;
}

// The new writer is opened before the old one is closed, so the log's index stays: frames of the
// failed batch may be in the file, but not in the index, and are never read again.
Status SqliteStore::reopen() {
  failed_ = true;
  PAWL_TRY_DO(check_room());
  PAWL_TRY(Writer fresh, open_writer());
  sqlite3_db_config(fresh.connection.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  {
    std::unique_ptr<Checkpointer> old;
    std::lock_guard lock(checkpointer_mutex_);
    old.swap(checkpointer_);
  }
  writer_ = std::move(fresh);
  PAWL_TRY_DO(prove_disk());
  PAWL_TRY_DO(read_bounds());
  PAWL_TRY_DO(open_checkpointer());
  sqlite3_db_config(writer_.connection.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  failed_ = false;
  return ok_status();
}

// Without room the next commits would fail again at once.
Status SqliteStore::check_room() const {
  if (!options_.base_vfs.empty()) return ok_status();  // such a disk reports a lack of room itself
  struct statvfs disk {};
  if (::statvfs(path_.c_str(), &disk) != 0) {
    return Error{ErrorCode::StoreFailed, fmt::format("looking at the disk of {}: {}", path_,
                                                     std::generic_category().message(errno))};
  }
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free_bytes >= options_.reserve_bytes) return ok_status();
  return Error{ErrorCode::StoreFailed,
               fmt::format("the disk is full: {} KiB are free, work goes on when it is {} KiB",
                           free_bytes >> 10, options_.reserve_bytes >> 10)};
}

// Writes again what a failed sync may have lost: every frame that no successful sync moved into the
// database is moved now. The log then restarts with a new salt at its next write, so that frames of
// the failed batch cannot be taken for its continuation after a power cut.
Status SqliteStore::prove_disk() {
  sqlite3* db = writer_.connection.handle();
  const int code =
      sqlite3_wal_checkpoint_v2(db, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  PAWL_TRY_DO(check(code, "moving the log into the database"));
  return writer_.connection.execute(
      "INSERT OR REPLACE INTO meta(name, value) SELECT 'reopened', "
      "1 + ifnull((SELECT value FROM meta WHERE name = 'reopened'), 0)");
}

Status SqliteStore::write(const Batch& batch) {
  PAWL_TRY_DO(check(writer_.begin.run(), "beginning a commit"));
  Status rows = write_rows(batch);
  if (!rows.ok()) {
    writer_.rollback
        .run();  // SQLite may have rolled back by itself; the store refuses writes either way
    return rows;
  }
  const uint64_t last = batch.number != 0 ? batch.number : last_.load();
  Result<uint64_t> first = trim(batch, last);
  if (!first.ok()) {
    writer_.rollback.run();
    return std::move(first).error();
  }
  if (const int code = writer_.commit.run(); code != SQLITE_OK) {
    Error error = writer_.connection.error(code, "committing");
    writer_.rollback.run();
    return error;
  }
  first_ = *first;
  last_ = last;  // read_journal() shows no record before this
  return ok_status();
}

int SqliteStore::write_row(const Write& write) {
  const ReadingRows rows;  // none is given out
  int code = writer_.large.forget(write.space, write.key);
  if (code != SQLITE_OK) return code;
  const std::string* bytes = write.bytes();
  Statement& statement = bytes != nullptr ? writer_.put : writer_.remove;
  statement.bind(1, uint64_t{write.space});
  statement.bind(2, write.key);
  if (bytes != nullptr && bytes->size() >= kLargeValueBytes) {
    uint64_t number = 0;
    code = writer_.large.keep(write.space, *bytes, number);
    if (code != SQLITE_OK) return code;
    statement.bind(3, number);
  } else if (bytes != nullptr) {
    statement.bind(3, *bytes);
  }
  return statement.run();
}

Status SqliteStore::write_rows(const Batch& batch) {
  for (const Write& write : batch.writes) PAWL_TRY_DO(check(write_row(write), "writing rows"));
  if (batch.number == 0) return ok_status();
  writer_.append.bind(1, batch.number);
  PackingRoom room;
  bind_packed(writer_.append, 2, batch.journal, options_.packed_bytes_min, room);
  const ReadingRecords reading;
  return check(writer_.append.run(), "appending to the journal");
}

// Returns the first remaining number.
Result<uint64_t> SqliteStore::trim(const Batch& batch, uint64_t last) {
  const uint64_t first = first_ != 0 ? first_.load() : last;
  const ReadingRecords reading;
  int code = SQLITE_OK;
  const uint64_t end = trim_end(first, last, batch.trim_journal_before, [&](uint64_t number) {
    writer_.record_bytes.bind(1, number);
    const ResetLater reset(writer_.record_bytes);
    const int step = writer_.record_bytes.step();
    if (step != SQLITE_ROW && step != SQLITE_DONE) code = step;
    return step == SQLITE_ROW ? static_cast<size_t>(writer_.record_bytes.number(0)) : size_t{0};
  });
  PAWL_TRY_DO(check(code, "trimming the journal"));
  if (end == first) return first;
  writer_.trim.bind(1, end);
  PAWL_TRY_DO(check(writer_.trim.run(), "trimming the journal"));
  return end;
}

Result<std::optional<std::string>> SqliteStore::get(uint8_t space, std::string_view key) {
  PAWL_TRY(const ReaderPool::Lease reader, readers_.take());
  JudgedRows rows(reader->connection, vfs_);
  Statement& query = reader->get;
  const ResetLater reset(query);
  query.bind(1, uint64_t{space});
  query.bind(2, key);
  const int code = query.step();
  if (code == SQLITE_ROW) {
    const ResetLater reset_large(reader->large);
    PackingRoom room;
    PAWL_TRY(const std::string_view value,
             whole_value(reader->connection, query, 0, reader->large, room));
    PAWL_TRY_DO(rows.judge(space, key, value));
    return std::optional<std::string>{value};
  }
  if (code != SQLITE_DONE) return reader->connection.error(code, "reading a row");
  PAWL_TRY_DO(rows.judge(space, key, ""));
  return std::optional<std::string>{};
}

// The rows of [from, to) in the order of the query; read() says whether to continue.
Status each_row(Connection& connection, Statement& query, uint8_t space, std::string_view from,
                std::string_view to, size_t limit, auto&& read) {
  const ResetLater reset(query);
  query.bind(1, uint64_t{space});
  query.bind(2, from);
  if (!to.empty()) query.bind(3, to);
  for (size_t seen = 0; seen < limit; ++seen) {
    const int code = query.step();
    if (code == SQLITE_DONE) break;
    if (code != SQLITE_ROW) return connection.error(code, "reading rows");
    PAWL_TRY(const bool more, read());
    if (!more) break;
  }
  return ok_status();
}

Status SqliteStore::scan(uint8_t space, std::string_view from, std::string_view to, bool reverse,
                         size_t limit,
                         FunctionRef<bool(std::string_view, std::string_view)> visit) {
  PAWL_TRY(const ReaderPool::Lease reader, readers_.take());
  Statement& query = reverse ? (to.empty() ? reader->scan_down : reader->scan_down_to)
                             : (to.empty() ? reader->scan_up : reader->scan_up_to);
  JudgedRows rows(reader->connection, vfs_);
  return each_row(reader->connection, query, space, from, to, limit, [&]() -> Result<bool> {
    const ResetLater reset_large(reader->large);
    PackingRoom room;
    PAWL_TRY(const std::string_view value,
             whole_value(reader->connection, query, 1, reader->large, room));
    PAWL_TRY_DO(rows.judge(space, query.bytes(0), value));
    return visit(query.bytes(0), value);
  });
}

// The same query: SQLite reads a column only when it is asked for.
Status SqliteStore::scan_keys(uint8_t space, std::string_view from, std::string_view to,
                              size_t limit, FunctionRef<bool(std::string_view)> visit) {
  PAWL_TRY(const ReaderPool::Lease reader, readers_.take());
  Statement& query = to.empty() ? reader->scan_up : reader->scan_up_to;
  JudgedRows rows(reader->connection, vfs_);
  return each_row(reader->connection, query, space, from, to, limit, [&]() -> Result<bool> {
    PAWL_TRY_DO(rows.judge(space, query.bytes(0), ""));
    return visit(query.bytes(0));
  });
}

Status SqliteStore::read_journal(uint64_t from, size_t limit,
                                 FunctionRef<bool(uint64_t, std::string_view)> visit) {
  PAWL_TRY(const ReaderPool::Lease reader, readers_.take());
  Statement& query = reader->journal;
  const ResetLater reset(query);
  query.bind(1, from);
  // SQLite shows a record to readers while its commit is still on the way back to the caller, who
  // only then sets last_. A cursor made from such a record would lie ahead of journal_last().
  const uint64_t last = last_;
  const auto step = [&] {
    const ReadingRecords reading;
    return query.step();
  };
  for (size_t seen = 0; seen < limit; ++seen) {
    const int code = step();
    if (code == SQLITE_DONE) break;
    if (code != SQLITE_ROW) return reader->connection.error(code, "reading the journal");
    if (query.number(0) > last) break;
    PackingRoom room;
    PAWL_TRY(const std::string_view record, unpack(packed_in(query, 1), room));
    if (!visit(query.number(0), record)) break;
  }
  return ok_status();
}

bool SqliteStore::congested() const {
  std::lock_guard lock(checkpointer_mutex_);
  return checkpointer_ && checkpointer_->congested();
}

StoreStats SqliteStore::stats() const {
  uint64_t wal_bytes = 0;
  {
    std::lock_guard lock(checkpointer_mutex_);
    if (checkpointer_) wal_bytes = checkpointer_->wal_bytes();
  }
  const SyncStats syncs = vfs_.sync_stats();
  struct stat file {};
  const bool found = ::stat(path_.c_str(), &file) == 0;
  return StoreStats{.commits = commits_,
                    .fsyncs = syncs.count,
                    .journal_bytes = journal_bytes_,
                    .file_bytes = found ? static_cast<uint64_t>(file.st_size) : 0,
                    .wal_bytes = wal_bytes,
                    .sync_ns_total = syncs.ns_total,
                    .sync_ns_p50 = syncs.ns_p50,
                    .sync_ns_p99 = syncs.ns_p99};
}

}  // namespace

Result<SqliteDatabase> open_sqlite_database(std::shared_ptr<const DirectoryLock> lock,
                                            const std::string& path, const SqliteOptions& options,
                                            const PartitionPlace& place) {
  auto store = std::make_unique<SqliteStore>(std::move(lock), path, options, place);
  PAWL_TRY_DO(store->open());
  const PartitionPlace found = store->place();
  return SqliteDatabase{std::move(store), found};
}

}  // namespace pawl
