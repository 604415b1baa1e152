// Tests that need a store with files: crashes, locks, failing disks, backups, and the length of the
// log.
#include "store/sqlite_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "store/testing/backing.h"

namespace pawl {
namespace {

constexpr CheckpointLimits kSmallLog = {
    .start_bytes = 128 << 10, .finish_bytes = 32 << 10, .max_bytes = 512 << 10};

SqliteOptions small_log(DiskFault fault = {}) {
  SqliteOptions options;
  options.checkpoint = kSmallLog;
  options.fault = std::move(fault);
  return options;
}

std::unique_ptr<Store> must_open(const std::string& directory,
                                 SqliteOptions options = small_log()) {
  auto opened = open_sqlite(directory, std::move(options));
  if (!opened.ok()) {
    ADD_FAILURE() << opened.error().message;
    abort();
  }
  return std::move(opened).value();
}

std::string sqlite_outcome(const Status& status) {
  return status.ok() ? "ok" : std::string(wire_code(status.error().code));
}

// Batch n: record "n", its own row, and a row "last" with the value n. So any state shows which
// prefix it is.
Batch sqlite_batch(uint64_t n) {
  const std::string digits = std::to_string(n);
  Batch batch{.number = n, .journal = digits};
  batch.writes.push_back({1, "row " + digits, std::string(700, 'r')});
  batch.writes.push_back({2, "last", digits});
  return batch;
}

// The n of the last batch in `store`, after checking that exactly 1..n are there, complete.
uint64_t prefix_length(Store& store) {
  const uint64_t last = store.journal_last();
  uint64_t records = 0;
  EXPECT_TRUE(store.read_journal(0, SIZE_MAX, [&](uint64_t number, std::string_view record) {
    EXPECT_EQ(number, ++records);
    EXPECT_EQ(record, std::to_string(number));
    return true;
  }));
  EXPECT_EQ(records, last);
  uint64_t rows = 0;
  EXPECT_TRUE(store.scan(1, "", "", false, SIZE_MAX, [&](auto, auto) { return ++rows != 0; }));
  EXPECT_EQ(rows, last);
  EXPECT_EQ(store.get(2, "last").value().value_or("0"), std::to_string(last));
  return last;
}

// Runs `body` in a forked process, which gets the writing end of a pipe whose reading end is
// read_fd().
class Child {
 public:
  explicit Child(FunctionRef<void(int write_fd)> body) {
    std::array<int, 2> ends{};
    PAWL_CHECK(::pipe(ends.data()) == 0);
    pid_ = ::fork();
    PAWL_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::close(ends[0]);
      body(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    read_fd_ = ends[0];
  }
  ~Child() {
    kill_hard();
    ::close(read_fd_);
  }

  // False at the end: the child has exited and all its output was read.
  bool read(uint64_t& number) const {
    return ::read(read_fd_, &number, sizeof number) == static_cast<ssize_t>(sizeof number);
  }
  void kill_hard() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int read_fd_ = -1;
};

void say(int fd, uint64_t number) {
  PAWL_CHECK(::write(fd, &number, sizeof number) == static_cast<ssize_t>(sizeof number));
}

TEST(SqliteStore, AKilledProcessLeavesAPrefixWithEveryAcknowledgedBatch) {
  const TempDirectory directory;
  uint64_t before = 0;
  for (const uint64_t kill_after : {1, 40, 150, 3, 90}) {
    Child child([&](int fd) {
      const auto store = must_open(directory / "data");
      for (uint64_t n = store->journal_last() + 1;; ++n) {
        if (!store->commit(sqlite_batch(n)).ok()) ::_exit(1);
        say(fd, n);
      }
    });
    uint64_t acknowledged = 0;
    while (acknowledged < before + kill_after) ASSERT_TRUE(child.read(acknowledged));
    child.kill_hard();
    while (child.read(acknowledged)) {
    }
    const auto store = must_open(directory / "data");
    const uint64_t there = prefix_length(*store);
    EXPECT_GE(there, acknowledged);
    EXPECT_LE(there, acknowledged + 1);
    before = there;
  }
}

TEST(SqliteStore, ADirectoryBelongsToOneProcessUntilItDies) {
  const TempDirectory directory;
  Child child([&](int fd) {
    const auto store = must_open(directory / "data");
    say(fd, 1);
    ::pause();
  });
  uint64_t opened = 0;
  ASSERT_TRUE(child.read(opened));
  const auto refused = open_sqlite(directory / "data");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_NE(refused.error().message.find("process " + std::to_string(child.pid())),
            std::string::npos)
      << refused.error().message;
  child.kill_hard();
  EXPECT_TRUE(open_sqlite(directory / "data").ok());
}

TEST(SqliteStore, AJournalRecordCostsOneSync) {
  const TempDirectory directory;
  const auto store = must_open(directory / "data", SqliteOptions{});
  ASSERT_EQ(sqlite_outcome(store->commit({.number = 1, .journal = "first"})), "ok");
  const StoreStats before = store->stats();
  for (uint64_t n = 2; n <= 11; ++n) {
    ASSERT_EQ(sqlite_outcome(store->commit({.number = n, .journal = std::string(300, 'j')})), "ok");
  }
  const StoreStats after = store->stats();
  EXPECT_EQ(after.fsyncs - before.fsyncs, 10U);
  EXPECT_EQ(after.journal_bytes - before.journal_bytes, 3000U);
  EXPECT_GT(after.sync_ns_total, before.sync_ns_total);
  EXPECT_GT(after.sync_ns_p50, 0U);
  EXPECT_GE(after.sync_ns_p99, after.sync_ns_p50);
}

// Regression: a client got a cursor of such a record, which was later refused as ahead of the
// journal.
TEST(SqliteStore, ARecordIsNotReadBeforeTheJournalReachesIt) {
  const TempDirectory directory;
  Store* opened = nullptr;
  size_t looks = 0;
  SqliteOptions options = small_log();
  options.on_visible = [&] {
    if (opened == nullptr) return;
    ++looks;
    uint64_t newest = 0;
    EXPECT_TRUE(opened
                    ->read_journal(0, SIZE_MAX,
                                   [&](uint64_t number, std::string_view) {
                                     newest = number;
                                     return true;
                                   })
                    .ok());
    EXPECT_EQ(newest, opened->journal_last());
  };
  const auto store = must_open(directory / "data", std::move(options));
  opened = store.get();
  for (uint64_t n = 1; n <= 3; ++n) EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(n))), "ok");
  EXPECT_EQ(looks, 3u);
  EXPECT_EQ(prefix_length(*store), 3u);
  opened = nullptr;
}

TEST(SqliteStore, AFailedSyncIsStickyAndLosesNothingAcknowledged) {
  const TempDirectory directory;
  std::atomic<bool> failing = false;
  auto store = must_open(directory / "data", small_log([&](DiskOp op, DiskFile file) {
                           const bool hit = op == DiskOp::Sync && file == DiskFile::Wal;
                           return failing && hit ? SQLITE_IOERR_FSYNC : SQLITE_OK;
                         }));
  ASSERT_EQ(sqlite_outcome(store->commit(sqlite_batch(1))), "ok");
  failing = true;
  EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(2))), "store_failed");
  failing = false;
  EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(2))), "store_failed");
  EXPECT_EQ(prefix_length(*store), 1U) << "what was not acknowledged is not shown";
  store.reset();
  store = must_open(directory / "data");
  const uint64_t there = prefix_length(*store);
  EXPECT_TRUE(there == 1 || there == 2) << there;
  EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(there + 1))), "ok");
}

TEST(SqliteStore, AFullDiskSaysSo) {
  const TempDirectory directory;
  std::atomic<bool> full = false;
  auto store = must_open(directory / "data", small_log([&](DiskOp op, DiskFile) {
                           return full && op == DiskOp::Write ? SQLITE_FULL : SQLITE_OK;
                         }));
  ASSERT_EQ(sqlite_outcome(store->commit(sqlite_batch(1))), "ok");
  full = true;
  const Status refused = store->commit(sqlite_batch(2));
  EXPECT_EQ(sqlite_outcome(refused), "store_failed");
  EXPECT_NE(refused.error().message.find("disk is full"), std::string::npos)
      << refused.error().message;
  full = false;
  const Status later = store->commit(sqlite_batch(2));
  EXPECT_EQ(sqlite_outcome(later), "store_failed");
  EXPECT_NE(later.error().message.find("disk is full"), std::string::npos) << "still says why";
  store.reset();
  store = must_open(directory / "data");
  EXPECT_EQ(prefix_length(*store), 1U);
  EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(2))), "ok");
}

std::filesystem::path memory_or_temp() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

// The database file fails, the log does not: commits stop, and the log still holds all of them.
TEST(SqliteStore, AFailedCheckpointStopsCommitsAndLosesNothing) {
  const TempDirectory directory;
  std::atomic<bool> failing = false;
  auto store = must_open(directory / "data", small_log([&](DiskOp op, DiskFile file) {
                           const bool hit = op == DiskOp::Sync && file == DiskFile::Database;
                           return failing && hit ? SQLITE_IOERR_FSYNC : SQLITE_OK;
                         }));
  failing = true;
  uint64_t n = 1;
  while (store->commit(sqlite_batch(n)).ok()) ++n;
  failing = false;
  EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(n))), "store_failed");
  EXPECT_EQ(prefix_length(*store), n - 1);
  store.reset();
  store = must_open(directory / "data");
  EXPECT_EQ(prefix_length(*store), n - 1);
  EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(n))), "ok");
}

// From the k-th disk operation on, nothing works any more; for every k. Opening may fail too. The
// faults are injected above the disk, so a disk in memory shows the same and allows every k.
TEST(SqliteStore, AFaultAtAnyDiskOperationKeepsEveryAcknowledgedBatch) {
  bool faulted = true;
  uint64_t faults = 0;
  for (uint64_t fail_at = 1; faulted; ++fail_at) {
    const TempDirectory directory(memory_or_temp());
    std::atomic<uint64_t> operations = 0;
    uint64_t acknowledged = 0;
    {
      SqliteOptions options = small_log([&](DiskOp op, DiskFile) {
        if (++operations < fail_at) return SQLITE_OK;
        return op == DiskOp::Sync ? SQLITE_IOERR_FSYNC : SQLITE_IOERR_WRITE;
      });
      options.checkpoint = {
          .start_bytes = 40 << 10, .finish_bytes = 16 << 10, .max_bytes = 80 << 10};
      auto opened = open_sqlite(directory / "data", options);
      while (opened.ok() && acknowledged < 30 &&
             (*opened)->commit(sqlite_batch(acknowledged + 1)).ok()) {
        ++acknowledged;
      }
    }
    faulted = operations >= fail_at;
    faults += faulted ? 1 : 0;
    const auto store = must_open(directory / "data");
    const uint64_t there = prefix_length(*store);
    ASSERT_GE(there, acknowledged) << "fault at " << fail_at;
    ASSERT_LE(there, acknowledged + 1) << "fault at " << fail_at;
    ASSERT_TRUE(store->commit(sqlite_batch(there + 1)).ok()) << "fault at " << fail_at;
  }
  EXPECT_GT(faults, 200U);
}

TEST(SqliteStore, TheLogStaysWithinItsBoundUnderConstantWriting) {
  const TempDirectory directory;
  const auto store = must_open(directory / "data");
  uint64_t wal_bytes = 0;
  uint64_t wal_bytes_max = 0;
  uint64_t batch_bytes_max = 0;  // how many pages one batch touches depends on the trees' shapes
  for (uint64_t n = 1; n <= 1500; ++n) {
    ASSERT_EQ(sqlite_outcome(store->commit(sqlite_batch(n))), "ok");
    const uint64_t before = std::exchange(wal_bytes, store->stats().wal_bytes);
    if (wal_bytes > before) batch_bytes_max = std::max(batch_bytes_max, wal_bytes - before);
    wal_bytes_max = std::max(wal_bytes_max, wal_bytes);
  }
  EXPECT_GE(wal_bytes_max, kSmallLog.start_bytes);
  EXPECT_LE(batch_bytes_max, 256U << 10);
  EXPECT_LE(wal_bytes_max, kSmallLog.max_bytes + batch_bytes_max);
  EXPECT_LE(std::filesystem::file_size(directory / "data/pawl.db-wal"),
            kSmallLog.max_bytes + batch_bytes_max + 4096);  // and the header
  EXPECT_EQ(prefix_length(*store), 1500U);
}

TEST(SqliteStore, ConstantReadingDoesNotKeepTheLogFromRestarting) {
  const TempDirectory directory;
  const auto store = must_open(directory / "data");
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) PAWL_CHECK(store->get(2, "last").ok());
  });
  uint64_t n = 0;
  int restarts = 0;
  uint64_t wal_bytes = 0;
  while (restarts < 5 && n < 100000) {
    EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(++n))), "ok");
    const uint64_t before = std::exchange(wal_bytes, store->stats().wal_bytes);
    if (wal_bytes < before) ++restarts;
  }
  done = true;
  reader.join();
  EXPECT_EQ(restarts, 5);
  EXPECT_EQ(prefix_length(*store), n);
}

TEST(SqliteStore, ALongReadHoldsBackTheLogButNotTheCommits) {
  const TempDirectory directory;
  const auto store = must_open(directory / "data");
  ASSERT_EQ(sqlite_outcome(store->commit(sqlite_batch(1))), "ok");
  uint64_t n = 1;
  uint64_t rows = 0;
  const auto visit = [&](std::string_view, std::string_view) {
    bool congested = false;
    for (; n < 400; congested |= store->congested())
      EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(++n))), "ok");
    EXPECT_TRUE(congested);
    EXPECT_FALSE(store->congested()) << "a reader that stays is no reason to wait";
    return ++rows != 0;
  };
  ASSERT_TRUE(store->scan(1, "", "", false, SIZE_MAX, visit));
  EXPECT_EQ(rows, 1U) << "the state the scan began with";
  EXPECT_GT(store->stats().wal_bytes, kSmallLog.max_bytes);
  while (store->stats().wal_bytes > kSmallLog.max_bytes && n < 4000) {
    ASSERT_EQ(sqlite_outcome(store->commit(sqlite_batch(++n))), "ok");
  }
  EXPECT_LE(store->stats().wal_bytes, kSmallLog.max_bytes);
  EXPECT_EQ(prefix_length(*store), n);
}

// A caller waiting for the congestion to end would never learn of the failure.
TEST(SqliteStore, AStoreThatHasFailedIsNotCongested) {
  const TempDirectory directory;
  std::atomic<bool> broken = false;
  const auto store =
      must_open(directory / "data", small_log([&](DiskOp, DiskFile file) {
                  return broken && file == DiskFile::Database ? SQLITE_IOERR_WRITE : SQLITE_OK;
                }));
  broken = true;
  Batch large = sqlite_batch(1);
  for (uint64_t bytes = 0; bytes < kSmallLog.max_bytes; bytes += kPackedBytesMin / 2)
    large.writes.push_back({3, std::to_string(bytes), std::string(kPackedBytesMin / 2, 'x')});
  ASSERT_EQ(sqlite_outcome(store->commit(large)), "ok");
  EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(2))),
            "store_failed");  // once the log could not be moved
  EXPECT_GE(store->stats().wal_bytes, kSmallLog.congested_bytes());
  EXPECT_FALSE(store->congested());
}

TEST(SqliteStore, ABackupTakenWhileWritingOpensAsOneOfItsStates) {
  const TempDirectory directory;
  const auto store = must_open(directory / "data");
  for (uint64_t n = 1; n <= 3000; n += 50) {
    Batch many{.number = store->journal_last() + 1,
               .journal = std::to_string(store->journal_last() + 1)};
    many.writes.push_back({3, std::to_string(n), std::string(kPackedBytesMin - 1, 'x')});
    many.writes.push_back({1, "row " + std::to_string(many.number), "r"});
    many.writes.push_back({2, "last", std::to_string(many.number)});
    ASSERT_EQ(sqlite_outcome(store->commit(many)), "ok");
  }
  const uint64_t before = store->journal_last();
  uint64_t calls = 0;
  uint64_t pages_done = 0;
  uint64_t pages_total = 0;
  std::filesystem::create_directory(directory / "copy");
  const Status copied = store->backup(directory / "copy/pawl.db", [&](uint64_t at, uint64_t total) {
    ++calls;
    pages_done = at;
    pages_total = total;
    EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(store->journal_last() + 1))), "ok");
  });
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_GT(calls, 1U);
  EXPECT_EQ(pages_done, pages_total);
  EXPECT_GT(store->journal_last(), before);

  const auto copy = must_open(directory / "copy");
  EXPECT_EQ(prefix_length(*copy), before);
  EXPECT_EQ(sqlite_outcome(copy->commit(sqlite_batch(before + 1))), "ok");
  EXPECT_EQ(prefix_length(*store), before + calls) << "the original is untouched";
}

TEST(SqliteStore, ABackupThatCanNotBeWrittenLeavesNoFileAndHarmsNothing) {
  const TempDirectory directory;
  const auto store = must_open(directory / "data");
  ASSERT_EQ(sqlite_outcome(store->commit(sqlite_batch(1))), "ok");
  const auto quiet = [](uint64_t, uint64_t) {};
  std::ofstream(directory / "taken") << "precious";
  EXPECT_EQ(sqlite_outcome(store->backup(directory / "taken", quiet)), "conflict");
  EXPECT_EQ(std::filesystem::file_size(directory / "taken"), 8U);
  EXPECT_EQ(sqlite_outcome(store->backup(directory / "nowhere/copy", quiet)), "store_failed");
  EXPECT_FALSE(std::filesystem::exists(directory / "nowhere"));
  EXPECT_FALSE(std::filesystem::exists(directory / "taken.partial"));
  EXPECT_EQ(sqlite_outcome(store->commit(sqlite_batch(2))), "ok");
}

std::string refusal(const std::string& directory) {
  const auto opened = open_sqlite(directory);
  return opened.ok() ? "opened" : std::string(wire_code(opened.error().code));
}

void run_sql(const std::string& path, const std::string& sql) {
  auto db = Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix");
  ASSERT_TRUE(db.ok()) << db.error().message;
  const Status status = db->execute(sql);
  ASSERT_TRUE(status.ok()) << status.error().message;
}

TEST(SqliteStore, RefusesWhatItDoesNotUnderstand) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory / "text");
  std::ofstream(directory / "text/pawl.db") << std::string(5000, 'x');
  EXPECT_EQ(refusal(directory / "text"), "corrupt");

  std::filesystem::create_directory(directory / "foreign");
  run_sql(directory / "foreign/pawl.db", "CREATE TABLE kv(a)");
  EXPECT_EQ(refusal(directory / "foreign"), "corrupt");

  // Another program may only write to a database without checksums.
  ASSERT_TRUE(open_sqlite(directory / "newer", {.page_sums = false}).ok());
  run_sql(directory / "newer/pawl.db", "UPDATE meta SET value = 7 WHERE name = 'schema'");
  EXPECT_EQ(refusal(directory / "newer"), "unsupported");
  run_sql(directory / "newer/pawl.db", "UPDATE meta SET value = 5 WHERE name = 'schema'");
  EXPECT_EQ(refusal(directory / "newer"), "opened") << "a refusal changes nothing";

  std::ofstream(directory / "file") << "not a directory";
  EXPECT_EQ(refusal(directory / "file"), "store_failed");
  EXPECT_EQ(refusal(directory / "no/parent"), "store_failed");
}

TEST(SqliteStore, ItsFilesAreForItsOwnerOnly) {
  const TempDirectory directory;
  const auto store = must_open(directory / "data");
  ASSERT_EQ(sqlite_outcome(store->commit(sqlite_batch(1))), "ok");
  using std::filesystem::perms;
  const perms others = perms::group_all | perms::others_all;
  for (const char* name : {"data", "data/LOCK", "data/pawl.db", "data/pawl.db-wal"}) {
    EXPECT_EQ(std::filesystem::status(directory / name).permissions() & others, perms::none)
        << name;
  }
}

TEST(SqliteStore, DamagedPagesAreReportedAsCorrupt) {
  const TempDirectory directory;
  {
    const auto store = must_open(directory / "data");
    for (uint64_t n = 1; n <= 100; ++n) ASSERT_TRUE(store->commit(sqlite_batch(n)).ok());
  }
  const std::string path = directory / "data/pawl.db";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto bytes = std::filesystem::file_size(path);
  const uint64_t page_bytes = SqliteOptions{}.page_bytes;
  for (uint64_t page = 7; page * page_bytes < bytes; ++page) {  // past the schema and the roots
    file.seekp(static_cast<std::streamoff>(page * page_bytes));
    file.write(std::string(page_bytes, '\xee').data(), static_cast<std::streamsize>(page_bytes));
  }
  file.close();
  const auto opened = open_sqlite(directory / "data");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Status scanned =
      (*opened)->scan(1, "", "", false, SIZE_MAX, [](auto, auto) { return true; });
  EXPECT_EQ(sqlite_outcome(scanned), "corrupt");
}

}  // namespace
}  // namespace pawl
