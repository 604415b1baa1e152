// Opening a store after a crash, and with flipped bits on the disk.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/sqlite_store.h"
#include "store/testing/backing.h"

namespace pawl {
namespace {

std::string damage_outcome(const Status& status) {
  return status.ok() ? "ok" : std::string(wire_code(status.error().code));
}

// Copies its files as a killed process would leave them.
void leave_unclosed(const std::string& from, const std::string& to) {
  auto store = open_sqlite(from);
  ASSERT_TRUE(store.ok());
  for (uint64_t n = 1; n <= 50; ++n) {
    Batch batch{.number = n, .journal = "record " + std::to_string(n)};
    batch.writes.push_back({1, "row " + std::to_string(n), std::string(700, 'r')});
    ASSERT_EQ(damage_outcome((*store)->commit(batch)), "ok");
  }
  std::filesystem::create_directory(to);
  for (const char* name : {"/pawl.db", "/pawl.db-wal"})
    std::filesystem::copy_file(from + name, to + name);
}

// A commit that was written and not synced is seen by the next process. A power cut must not lose
// it after that process has shown it.
TEST(SqliteStore, WhatAKilledProcessLeftIsDurableBeforeItIsShown) {
  const TempDirectory directory;
  leave_unclosed(directory / "first", directory / "second");
  bool sync_fails = true;
  bool written = false;
  bool synced = false;
  SqliteOptions options;
  options.fault = [&](DiskOp op, DiskFile file) {
    if (file != DiskFile::Wal) return SQLITE_OK;
    written |= op == DiskOp::Write;  // written again: a sync alone may wrongly treat the pages as
                                     // clean
    synced |= op == DiskOp::Sync;
    return op == DiskOp::Sync && sync_fails ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  };
  auto refused = open_sqlite(directory / "second", options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::StoreFailed);
  sync_fails = written = synced = false;
  auto store = open_sqlite(directory / "second", options);
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ((*store)->journal_last(), 50u);
  EXPECT_TRUE(written && synced);
}

}  // namespace
}  // namespace pawl
