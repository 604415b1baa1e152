#include "cluster/lease_keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

namespace pawl::cluster {
namespace {

// A table in memory that any number of keepers share.
class SharedTable {
 public:
  std::mutex mutex;
  bool away = false;
  std::map<std::string, NodeSeen> nodes;
  std::vector<PartitionSeen> partitions = {{.id = 0, .epoch = 1}};

  void set_partition(uint64_t epoch, const std::string& node, const std::string& incarnation) {
    std::lock_guard lock(mutex);
    partitions[0] = {0, epoch, node, incarnation};
  }
  uint64_t beat_of(const std::string& node) {
    std::lock_guard lock(mutex);
    return nodes[node].beat;
  }
};

class SharedNodeTable : public NodeTable {
 public:
  explicit SharedNodeTable(SharedTable& shared) : shared_(shared) {}

  Result<bool> enter(const NodeIdentity& node, const std::string& former) override {
    std::lock_guard lock(shared_.mutex);
    if (shared_.away) return gone();
    const auto row = shared_.nodes.find(node.name);
    if (row != shared_.nodes.end() && row->second.incarnation != former) return false;
    shared_.nodes[node.name] = {node.name, node.incarnation, 1};
    return true;
  }
  Result<ClusterSeen> beat(const NodeIdentity& node) override {
    std::lock_guard lock(shared_.mutex);
    if (shared_.away) return gone();
    ClusterSeen seen;
    for (auto& [name, row] : shared_.nodes) seen.nodes.push_back(row);
    const auto own = shared_.nodes.find(node.name);
    seen.beaten = own != shared_.nodes.end() && own->second.incarnation == node.incarnation;
    if (seen.beaten) ++own->second.beat;
    seen.partitions = shared_.partitions;
    return seen;
  }
  Status leave(const NodeIdentity& node) override {
    std::lock_guard lock(shared_.mutex);
    if (shared_.nodes[node.name].incarnation == node.incarnation) shared_.nodes.erase(node.name);
    return ok_status();
  }

 private:
  static Error gone() { return {ErrorCode::Unavailable, "the database is away"}; }

  SharedTable& shared_;
};

// Short, so that a test is; their relation is the real one.
constexpr LeaseTimes kTimes{.lease_ms = 1000, .beat_ms = 40, .gap_ms = 700, .margin_ms = 200};

class LeaseKeeping : public testing::Test {
 protected:
  std::unique_ptr<LeaseKeeper> keeper(const std::string& name, const std::string& incarnation,
                                      const std::string& former = "") {
    return std::make_unique<LeaseKeeper>(
        std::make_unique<SharedNodeTable>(table), NodeIdentity{name, incarnation, "", ""}, former,
        [this](const Error& why) {
          std::lock_guard lock(lost_mutex);
          lost += (lost.empty() ? "" : ", ") + why.message;
        },
        kTimes);
  }
  std::string lost_so_far() {
    std::lock_guard lock(lost_mutex);
    return lost;
  }
  static bool always() { return true; }

  SharedTable table;
  std::mutex lost_mutex;
  std::string lost;
};

TEST_F(LeaseKeeping, AFreePartitionIsThereAtOnce) {
  auto a = keeper("a", "1");
  ASSERT_TRUE(a->start().ok());
  const auto found = a->wait_for(0, always);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->epoch, 1u);
  EXPECT_FALSE(found->owner_beat.has_value());
}

TEST_F(LeaseKeeping, AnOwnerThatBeatsKeepsItsPartitionAndADeadOneDoesNot) {
  auto a = keeper("a", "1");
  ASSERT_TRUE(a->start().ok());
  table.set_partition(2, "a", "1");
  auto b = keeper("b", "2");
  ASSERT_TRUE(b->start().ok());
  const uint64_t before = table.beat_of("a");
  const auto while_beating = b->wait_for(0, [&] { return table.beat_of("a") < before + 30; });
  EXPECT_FALSE(while_beating.ok());
  // Dead, as by kill -9: the row stays.
  NodeSeen row;
  {
    std::lock_guard lock(table.mutex);
    row = table.nodes["a"];
  }
  a->stop();
  {
    std::lock_guard lock(table.mutex);
    table.nodes["a"] = row;
  }
  const auto found = b->wait_for(0, always);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->epoch, 2u);
  EXPECT_EQ(found->owner_beat, row.beat);
}

TEST_F(LeaseKeeping, ItsOwnFormerStartIsNotWaitedFor) {
  table.set_partition(5, "a", "old");
  table.nodes["a"] = {"a", "old", 40};
  auto a = keeper("a", "new", "old");
  ASSERT_TRUE(a->start().ok());
  int asked = 0;
  const auto found = a->wait_for(0, [&] { return ++asked < 10; });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->epoch, 5u);
}

TEST_F(LeaseKeeping, APartitionThatItTookUnawaresIsNotWaitedFor) {
  auto a = keeper("a", "1");
  ASSERT_TRUE(a->start().ok());
  table.set_partition(2, "a", "1");
  int asked = 0;
  const auto found = a->wait_for(0, [&] { return ++asked < 10; });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->epoch, 2u);
  EXPECT_FALSE(found->owner_beat.has_value()) << "its own beat goes on";
}

TEST_F(LeaseKeeping, ANameThatLivesIsRefused) {
  auto a = keeper("a", "1");
  ASSERT_TRUE(a->start().ok());
  auto twin = keeper("a", "2");
  const Status started = twin->start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::Conflict);
}

TEST_F(LeaseKeeping, ANameWhoseProcessDiedIsTakenOver) {
  table.nodes["a"] = {"a", "died elsewhere", 40};
  auto a = keeper("a", "1");
  EXPECT_TRUE(a->start().ok());
}

TEST_F(LeaseKeeping, TheLeaseEndsWithoutTheDatabaseAndComesBackWithIt) {
  auto a = keeper("a", "1");
  ASSERT_TRUE(a->start().ok());
  a->hold(0, 2);
  table.set_partition(2, "a", "1");
  while (!a->lease().holds()) std::this_thread::yield();
  {
    std::lock_guard lock(table.mutex);
    table.away = true;
  }
  while (a->lease().holds()) std::this_thread::yield();
  EXPECT_EQ(lost_so_far(), "") << "nobody may have taken it";
  {
    std::lock_guard lock(table.mutex);
    table.away = false;
  }
  while (!a->lease().holds()) std::this_thread::yield();
  EXPECT_EQ(lost_so_far(), "");
}

TEST_F(LeaseKeeping, WhoLosesItsPartitionIsToldOnceAndAnswersNothingMore) {
  auto a = keeper("a", "1");
  ASSERT_TRUE(a->start().ok());
  table.set_partition(2, "a", "1");
  a->hold(0, 2);
  while (!a->lease().holds()) std::this_thread::yield();
  table.set_partition(3, "b", "2");
  while (lost_so_far().empty()) std::this_thread::yield();
  EXPECT_FALSE(a->lease().holds());
  const uint64_t before = table.beat_of("a");
  while (table.beat_of("a") < before + 3) std::this_thread::yield();
  EXPECT_EQ(lost_so_far(), "another node has taken partition 0 over");
  EXPECT_FALSE(a->lease().holds());
}

// Its store reopened, which raises the epoch of its own partition.
TEST_F(LeaseKeeping, AHigherEpochOfItsOwnIsNoLoss) {
  auto a = keeper("a", "1");
  ASSERT_TRUE(a->start().ok());
  table.set_partition(2, "a", "1");
  a->hold(0, 2);
  table.set_partition(3, "a", "1");
  const uint64_t before = table.beat_of("a");
  while (table.beat_of("a") < before + 3) std::this_thread::yield();
  EXPECT_EQ(lost_so_far(), "");
  EXPECT_TRUE(a->lease().holds());
}

TEST_F(LeaseKeeping, ARowThatWasReplacedEndsTheLease) {
  auto a = keeper("a", "1");
  ASSERT_TRUE(a->start().ok());
  {
    std::lock_guard lock(table.mutex);
    table.nodes["a"].incarnation = "2";
  }
  while (lost_so_far().empty()) std::this_thread::yield();
  EXPECT_EQ(lost_so_far(), "the row of this node was replaced");
}

}  // namespace
}  // namespace pawl::cluster
