// Directories that hold several partitions.
#include <gtest/gtest.h>

#include <filesystem>

#include "store/testing/backing.h"

namespace pawl {
namespace {

using Stores = std::vector<std::unique_ptr<Store>>;

class SqlitePartitions : public testing::Test {
 protected:
  Result<Stores> open(uint16_t partitions) {
    return open_sqlite_partitions(directory / "data", partitions);
  }
  // How many there are, or why not.
  std::string opened(uint16_t partitions) {
    auto stores = open(partitions);
    if (stores.ok()) return std::to_string(stores->size());
    return std::string(wire_code(stores.error().code)) + ": " + stores.error().message;
  }
  std::string file(uint16_t partition) { return directory / ("data/" + sqlite_file(partition)); }

  TempDirectory directory;
};

std::string row_of(Store& store) {
  const auto value = store.get(1, "name");
  return value.ok() && *value ? **value : "none";
}

TEST_F(SqlitePartitions, EachKeepsItsOwn) {
  {
    Stores stores = open(3).value();
    for (size_t id = 0; id < 3; ++id)
      ASSERT_TRUE(stores[id]
                      ->commit({.number = 1,
                                .journal = "first",
                                .writes = {{1, "name", "of " + std::to_string(id)}}})
                      .ok());
  }
  Stores stores = open(3).value();
  EXPECT_EQ(row_of(*stores[0]), "of 0");
  EXPECT_EQ(row_of(*stores[1]), "of 1");
  EXPECT_EQ(row_of(*stores[2]), "of 2");
}

TEST_F(SqlitePartitions, TheirNumberIsKept) {
  EXPECT_EQ(opened(2), "2");
  EXPECT_EQ(opened(0), "2");
  EXPECT_EQ(opened(3), "invalid_request: " + (directory / "data") +
                           " has 2 partitions, which is fixed; 3 were asked for");
  EXPECT_FALSE(std::filesystem::exists(file(2)));
}

TEST_F(SqlitePartitions, OneUnlessAskedOtherwise) {
  EXPECT_EQ(opened(0), "1");
  EXPECT_EQ(opened(1), "1");
  EXPECT_TRUE(open_sqlite(directory / "data").ok());
  EXPECT_NE(opened(2).find("has 1 partitions"), std::string::npos);
}

TEST_F(SqlitePartitions, WhatTakesOneStoreRefusesSeveral) {
  EXPECT_EQ(opened(2), "2");
  const auto one = open_sqlite(directory / "data");
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().message, (directory / "data") + " has 2 partitions; this takes only one");
}

TEST_F(SqlitePartitions, TheDirectoryIsHeldUntilTheLastStoreIsClosed) {
  Stores stores = open(2).value();
  stores.erase(stores.begin());
  EXPECT_EQ(opened(2).substr(0, 11), "unavailable");
  stores.clear();
  EXPECT_EQ(opened(2), "2");
}

TEST_F(SqlitePartitions, AMissingOneIsNotReplacedByAnEmptyOne) {
  EXPECT_EQ(opened(3), "3");
  std::filesystem::remove(file(1));
  EXPECT_EQ(opened(0), "corrupt: pawl-1.db is missing; the directory has 3 partitions");
  EXPECT_FALSE(std::filesystem::exists(file(1)));
}

TEST_F(SqlitePartitions, OneUnderTheNameOfAnotherIsTold) {
  EXPECT_EQ(opened(3), "3");
  std::filesystem::remove(file(1));
  std::filesystem::copy(file(2), file(1));
  EXPECT_EQ(opened(3), "corrupt: " + file(1) + " should hold partition 1, but holds 2");
}

TEST_F(SqlitePartitions, ADirectoryThatWasNotFinishedIsBegunAnew) {
  EXPECT_EQ(opened(2), "2");
  std::filesystem::remove(file(0));
  EXPECT_EQ(opened(3), "3");
}

TEST_F(SqlitePartitions, DataWithoutTheFirstPartitionIsNotPassedOver) {
  {
    Stores stores = open(2).value();
    ASSERT_TRUE(stores[1]->commit({.number = 1, .journal = "first"}).ok());
  }
  std::filesystem::remove(file(0));
  EXPECT_EQ(opened(2), "corrupt: pawl-1.db holds data, but pawl.db is missing");
}

}  // namespace
}  // namespace pawl
