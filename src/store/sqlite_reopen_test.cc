// A disk that fails and recovers, under one store that is never closed.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "store/testing/backing.h"

namespace pawl {
namespace {

std::string outcome(const Status& status) {
  return status.ok() ? "ok" : std::string(wire_code(status.error().code));
}

// Batch n sets row "last" to n: a state tells which prefix it is.
Batch numbered(uint64_t n) {
  Batch batch{.number = n, .journal = std::string(2000, 'j')};
  batch.writes.push_back({1, "row " + std::to_string(n), std::string(3000, 'r')});
  batch.writes.push_back({2, "last", std::to_string(n)});
  return batch;
}

struct FaultyDisk {
  // While armed, the operations that match fail with `code`.
  std::atomic<bool> armed = false;
  DiskOp op = DiskOp::Sync;
  DiskFile file = DiskFile::Wal;
  int code = SQLITE_IOERR_FSYNC;

  std::unique_ptr<Store> open(const std::string& directory) {
    SqliteOptions options;
    options.checkpoint = {.start_bytes = 256 << 10, .finish_bytes = 64 << 10, .max_bytes = 1 << 20};
    options.fault = [this](DiskOp asked, DiskFile of) {
      return armed && asked == op && of == file ? code : SQLITE_OK;
    };
    auto opened = open_sqlite(directory, options);
    PAWL_CHECK(opened.ok());
    return std::move(opened).value();
  }
};

uint64_t commit_until_refused(Store& store, uint64_t batches_max) {
  for (uint64_t done = 0; done < batches_max; ++done)
    if (!store.commit(numbered(store.journal_last() + 1)).ok()) return done;
  return batches_max;
}

std::string state_of(Store& store) {
  return std::to_string(store.journal_last()) + ", last row " +
         store.get(2, "last").value().value_or("none");
}

struct Fault {
  const char* name;
  DiskOp op;
  DiskFile file;
  int code;
};

class SqliteReopen : public testing::TestWithParam<Fault> {};

// After any number of failures, acknowledged batches are there and the numbering continues.
TEST_P(SqliteReopen, NothingAcknowledgedIsLostOverManyFailures) {
  const TempDirectory directory;
  FaultyDisk disk;
  disk.op = GetParam().op;
  disk.file = GetParam().file;
  disk.code = GetParam().code;
  uint64_t acknowledged = 0;
  {
    auto store = disk.open(directory / "data");
    for (int round = 0; round < 3; ++round) {
      acknowledged += commit_until_refused(*store, 40);
      disk.armed = true;
      acknowledged += commit_until_refused(*store, 5000);
      ASSERT_EQ(outcome(store->commit(numbered(store->journal_last() + 1))), "store_failed");
      EXPECT_EQ(state_of(*store),
                std::to_string(acknowledged) + ", last row " + std::to_string(acknowledged));
      EXPECT_EQ(outcome(store->reopen()), "store_failed");
      disk.armed = false;
      ASSERT_EQ(outcome(store->reopen()), "ok");
      EXPECT_EQ(store->stats().file_bytes > 0, true);
    }
    acknowledged += commit_until_refused(*store, 150);
  }
  auto store = disk.open(directory / "data");
  EXPECT_EQ(state_of(*store),
            std::to_string(acknowledged) + ", last row " + std::to_string(acknowledged));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, SqliteReopen,
    testing::Values(Fault{"LogFull", DiskOp::Write, DiskFile::Wal, SQLITE_FULL},
                    Fault{"LogSync", DiskOp::Sync, DiskFile::Wal, SQLITE_IOERR_FSYNC},
                    Fault{"DatabaseFull", DiskOp::Write, DiskFile::Database, SQLITE_FULL},
                    Fault{"DatabaseSync", DiskOp::Sync, DiskFile::Database, SQLITE_IOERR_FSYNC}),
    [](const auto& fault) { return fault.param.name; });

// After a failed sync the log rests on pages that may be lost: all of it is written and synced
// again before a commit is taken, and the frames of the failed batch are gone.
TEST(SqliteReopenLog, TheWholeLogIsMovedAndStartsAnew) {
  const TempDirectory directory;
  FaultyDisk disk;
  auto store = disk.open(directory / "data");
  ASSERT_EQ(commit_until_refused(*store, 10), 10u);
  disk.armed = true;
  ASSERT_EQ(outcome(store->commit(numbered(11))), "store_failed");
  disk.armed = false;
  ASSERT_EQ(outcome(store->reopen()), "ok");
  const uint64_t frame = 8192 + 24;
  EXPECT_LE(std::filesystem::file_size(directory / "data/pawl.db-wal"), 32 + 2 * frame);
  const TempDirectory copy;  // as after a power cut: no index, only the files
  std::filesystem::create_directory(copy / "data");
  for (const char* name : {"pawl.db", "pawl.db-wal"})
    std::filesystem::copy(directory / ("data/" + std::string(name)),
                          copy / ("data/" + std::string(name)));
  EXPECT_EQ(state_of(*FaultyDisk().open(copy / "data")), "10, last row 10");
}

TEST(SqliteReopenLog, ADiskWithoutRoomIsNotTriedAgain) {
  const TempDirectory directory;
  SqliteOptions options;
  options.reserve_bytes = uint64_t{1} << 60;
  auto store = std::move(open_sqlite(directory / "data", options)).value();
  const Status refused = store->reopen();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::StoreFailed);
  EXPECT_EQ(refused.error().message.substr(0, 18), "the disk is full: ");
}

// Reads while the writer is replaced: none fails, none misses a committed batch.
TEST(SqliteReopenLog, ReadsGoOnMeanwhile) {
  const TempDirectory directory;
  FaultyDisk disk;
  auto store = disk.open(directory / "data");
  ASSERT_EQ(commit_until_refused(*store, 10), 10u);
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> wrong = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        auto last = store->get(2, "last");
        if (!last.ok() || std::stoull(last->value_or("0")) < 10) ++wrong;
        if (store->stats().file_bytes == 0) ++wrong;
      }
    });
  uint64_t acknowledged = 10;
  for (int round = 0; round < 5; ++round) {
    disk.armed = true;
    ASSERT_EQ(commit_until_refused(*store, 1), 0u);
    disk.armed = false;
    while (!store->reopen().ok()) std::this_thread::yield();  // readers may hold the log
    acknowledged += commit_until_refused(*store, 5);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(store->journal_last(), acknowledged);
}

}  // namespace
}  // namespace pawl
