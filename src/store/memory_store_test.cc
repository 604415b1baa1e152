// The faults of the memory disk, which the simulator builds on.
#include "store/memory_store.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

std::string run(CommitFault fault) {
  const auto disk = std::make_shared<MemoryDisk>();
  disk->fault = [fault](uint64_t commit_no) { return commit_no == 2 ? fault : CommitFault::Ok; };
  std::string story;
  {
    const auto store = std::move(open_memory(disk)).value();
    for (const char* value : {"1", "2", "3"}) {
      const Status status = store->commit(
          {.number = store->journal_last() + 1, .journal = value, .writes = {{1, "k", value}}});
      story += status.ok() ? "ok " : "failed ";
    }
  }
  const auto store = std::move(open_memory(disk)).value();
  story += "k=" + *store->get(1, "k").value() + " last=" + std::to_string(store->journal_last());
  const Status status = store->commit({.writes = {{1, "k", "4"}}});
  return story + (status.ok() ? " then ok" : " then failed");
}

TEST(MemoryStore, AFaultBeforeLosesTheBatchAndIsSticky) {
  EXPECT_EQ(run(CommitFault::FailBefore), "ok failed failed k=1 last=1 then ok");
}

TEST(MemoryStore, AFaultAfterKeepsTheBatchAndIsSticky) {
  EXPECT_EQ(run(CommitFault::FailAfter), "ok failed failed k=2 last=2 then ok");
}

TEST(MemoryStore, WithoutFaultsEverythingStays) {
  EXPECT_EQ(run(CommitFault::Ok), "ok ok ok k=3 last=3 then ok");
}

TEST(MemoryStore, CountsTheBytesItHolds) {
  const auto store = std::move(open_memory(std::make_shared<MemoryDisk>())).value();
  ASSERT_TRUE(store->commit({.number = 1, .journal = "12345", .writes = {{1, "ab", "cde"}}}).ok());
  EXPECT_EQ(store->stats().file_bytes, 10U);
  ASSERT_TRUE(store->commit({.writes = {{1, "ab", "c"}, {1, "x", "y"}}}).ok());
  EXPECT_EQ(store->stats().file_bytes, 10U);
  ASSERT_TRUE(
      store->commit({.number = 2, .writes = {{1, "ab", {}}}, .trim_journal_before = 2}).ok());
  EXPECT_EQ(store->stats().file_bytes, 2U);
}

TEST(MemoryStore, HasNoFileToBackUp) {
  const auto store = std::move(open_memory(std::make_shared<MemoryDisk>())).value();
  const Status status = store->backup("anywhere", [](uint64_t, uint64_t) {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace pawl
