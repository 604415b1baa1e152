#include "cluster/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace pawl::cluster {
namespace {

std::set<std::string> nodes_named(size_t count) {
  std::set<std::string> names;
  for (size_t i = 0; i < count; ++i) names.insert("node-" + std::to_string(i));
  return names;
}

size_t moved(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  size_t count = 0;
  for (size_t i = 0; i < before.size(); ++i) count += before[i] != after[i] ? 1 : 0;
  return count;
}

TEST(Balance, EveryPartitionHasOneNodeAndNodesDifferByOne) {
  for (const size_t partitions : {1u, 2u, 16u, 31u, 256u})
    for (size_t nodes = 1; nodes <= 9; ++nodes) {
      const auto names = nodes_named(nodes);
      const auto owners = named_owners(partitions, names);
      ASSERT_EQ(owners.size(), partitions);
      std::map<std::string, size_t> counts;
      for (const std::string& name : names) counts[name] = 0;
      for (const std::string& owner : owners) ++counts.at(owner);  // throws for a name of no node
      const auto [least, most] =
          std::minmax_element(counts.begin(), counts.end(),
                              [](const auto& a, const auto& b) { return a.second < b.second; });
      EXPECT_LE(most->second - least->second, 1u) << partitions << " on " << nodes;
      EXPECT_LE(most->second, share_of_node(partitions, nodes));
    }
}

TEST(Balance, NobodyIsNamedWithoutNodes) {
  EXPECT_TRUE(named_owners(16, {}).empty());
  EXPECT_EQ(share_of_node(16, 0), 0);
}

// At least 256 / (nodes + 1) must move; all would, if nodes were counted off.
TEST(Balance, AJoinMovesFew) {
  for (size_t nodes = 1; nodes <= 8; ++nodes) {
    const size_t count =
        moved(named_owners(256, nodes_named(nodes)), named_owners(256, nodes_named(nodes + 1)));
    EXPECT_GE(count, 256 / (nodes + 1));
    EXPECT_LE(count, 2 * 256 / (nodes + 1)) << nodes;
  }
}

TEST(Balance, ALeaveMovesFew) {
  for (size_t nodes = 2; nodes <= 9; ++nodes) {
    auto names = nodes_named(nodes);
    const auto before = named_owners(256, names);
    names.erase("node-0");
    EXPECT_LE(moved(before, named_owners(256, names)), 2 * 256 / nodes) << nodes;
  }
}

// Nodes of different versions must agree.
TEST(Balance, IsAFormat) {
  EXPECT_EQ(named_owners(6, {"a", "b", "c"}),
            (std::vector<std::string>{"b", "b", "c", "a", "c", "a"}));
}

}  // namespace
}  // namespace pawl::cluster
