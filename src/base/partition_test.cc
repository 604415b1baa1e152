#include "base/partition.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pawl {
namespace {

// Names stay where they are for as long as a database lives: a change of the hash would lose them.
TEST(Partition, HomesNeverMove) {
  EXPECT_EQ(home_of(NameKind::Queue, "", "default", 16), 10);
  EXPECT_EQ(home_of(NameKind::Queue, "acme", "default", 16), 3);
  EXPECT_EQ(home_of(NameKind::UniqueKey, "", "order-1", 256), 16);
}

TEST(Partition, KindsAndTenantsHaveHomesOfTheirOwn) {
  std::set<uint16_t> homes;
  for (NameKind kind : {NameKind::UniqueKey, NameKind::Limit, NameKind::Queue, NameKind::World})
    for (const char* tenant : {"", "a", "b", "c"}) homes.insert(home_of(kind, tenant, "x", 256));
  EXPECT_GT(homes.size(), 12u);
}

TEST(Partition, OneHoldsEverything) {
  EXPECT_EQ(home_of(NameKind::World, "t", "w", 1), 0);
  EXPECT_EQ(partition_of(Uuid{1, 0xffff}, 1), 0);
}

TEST(Partition, AnIdNamesItsPartition) {
  for (uint16_t partition : std::initializer_list<uint16_t>{0, 3, 15})
    EXPECT_EQ(partition_of(Uuid::v7(1'700'000'000'000, 7, 9, partition), 16), partition);
}

}  // namespace
}  // namespace pawl
