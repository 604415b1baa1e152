#include "cluster/lease_keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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
  void add_node(const std::string& node, const std::string& incarnation) {
    std::lock_guard lock(mutex);
    nodes[node] = {node, incarnation, 1};
  }
  uint64_t beat_of(const std::string& node) {
    std::lock_guard lock(mutex);
    return nodes[node].beat;
  }
};

class SharedNodeTable : public NodeTable {
 public:
  explicit SharedNodeTable(SharedTable& shared) : shared_(shared) {}

  Result<bool> enter(const NodeIdentity& node, const std::string& former, bool draining) override {
    std::lock_guard lock(shared_.mutex);
    if (shared_.away) return gone();
    const auto row = shared_.nodes.find(node.name);
    if (row != shared_.nodes.end() && row->second.incarnation != former) return false;
    const bool drains = row != shared_.nodes.end() ? row->second.draining : draining;
    shared_.nodes[node.name] = {
        .name = node.name, .incarnation = node.incarnation, .beat = 1, .draining = drains};
    return true;
  }
  Result<ClusterSeen> beat(const NodeIdentity& node,
                           const std::vector<PartitionReport>& reports) override {
    std::lock_guard lock(shared_.mutex);
    if (shared_.away) return gone();
    ClusterSeen seen;
    const auto own = shared_.nodes.find(node.name);
    seen.beaten = own != shared_.nodes.end() && own->second.incarnation == node.incarnation;
    if (seen.beaten) ++own->second.beat;
    if (seen.beaten) own->second.reports = reports;
    for (auto& [name, row] : shared_.nodes) seen.nodes.push_back(row);
    seen.partitions = shared_.partitions;
    return seen;
  }
  Result<bool> set_draining(const std::string& name, bool draining) override {
    std::lock_guard lock(shared_.mutex);
    if (shared_.away) return gone();
    if (!shared_.nodes.contains(name)) return false;
    return shared_.nodes[name].draining = draining, true;
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
constexpr LeaseTimes kTimes{
    .lease_ms = 1000, .beat_ms = 40, .gap_ms = 700, .margin_ms = 200, .announce_ms = 80};

// A node whose partitions are taken and given up at once, unless a test says otherwise.
class ShortNode : public PartitionOrders {
 public:
  ShortNode(SharedTable& table, const std::string& name, const std::string& incarnation,
            const std::string& former = "", const LeaseTimes& times = kTimes)
      : table_(table),
        keeper(
            std::make_unique<SharedNodeTable>(table), {name, incarnation, "", ""}, former,
            [this](const Error& why) { note("shut out: " + why.message); }, times) {}
  ~ShortNode() override { keeper.stop(); }

  void take(const LeaseDecision::Take& order) override {
    const uint64_t epoch = order.seen.epoch + 1;
    const NodeIdentity self = keeper.self();
    {
      std::lock_guard lock(table_.mutex);
      if (table_.partitions[order.partition].epoch != order.seen.epoch)
        return keeper.gone(order.partition);
      table_.partitions[order.partition] = {order.partition, epoch, self.name, self.incarnation};
    }
    note("take " + std::to_string(order.partition));
    keeper.taken(order.partition, epoch);
    if (recovers_at_once) recovered(order.partition);
  }
  void recovered(uint16_t partition) {
    if (keeper.served(partition)) return;
    note("close " + std::to_string(partition));
    keeper.gone(partition);
  }
  void give_up(uint16_t partition, bool lost) override {
    note((lost                  ? "drop "
          : was_told(partition) ? "hand over "
                                : "suddenly hand over ") +
         std::to_string(partition));
    if (!lost) {
      std::lock_guard lock(table_.mutex);
      table_.partitions[partition] = {.id = partition,
                                      .epoch = table_.partitions[partition].epoch + 1};
    }
    if (closes_at_once) keeper.gone(partition);
  }
  uint64_t journal_head(uint16_t partition) override { return 100u + partition; }
  void entered(const NodeIdentity& self) override {
    note(self.incarnation.size() > 30 ? "entered" : "entered as before");
  }

  void serve() {
    ASSERT_TRUE(keeper.start().ok());
    keeper.begin_taking(*this);
  }
  std::string told() {
    std::lock_guard lock(mutex_);
    return told_;
  }
  void wait_for_beats(int count) {
    const std::string name = keeper.self().name;
    const uint64_t before = table_.beat_of(name);
    while (table_.beat_of(name) < before + static_cast<uint64_t>(count)) std::this_thread::yield();
  }

  std::atomic<bool> recovers_at_once = true;
  std::atomic<bool> closes_at_once = true;

 private:
  // The others have seen that it is about to be handed over, or there are none.
  bool was_told(uint16_t partition) {
    std::lock_guard lock(table_.mutex);
    const NodeSeen& own = table_.nodes[keeper.self().name];
    const bool told =
        std::any_of(own.reports.begin(), own.reports.end(), [&](const PartitionReport& report) {
          return report.id == partition && report.stage == PartitionStage::HandingOver;
        });
    return told || table_.nodes.size() == 1;
  }
  void note(const std::string& what) {
    std::lock_guard lock(mutex_);
    told_ += (told_.empty() ? "" : ", ") + what;
  }

  SharedTable& table_;
  std::mutex mutex_;
  std::string told_;

 public:
  LeaseKeeper keeper;
};

void wait_until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
}

class LeaseKeeping : public testing::Test {
 protected:
  SharedTable table;
};

TEST_F(LeaseKeeping, AFreePartitionIsTakenAndReported) {
  ShortNode a(table, "a", "1");
  a.serve();
  wait_until([&] { return a.keeper.lease().holds() && a.told() == "take 0"; });
  wait_until([&] {
    const ClusterView view = a.keeper.view();
    return view.partitions.size() == 1 && view.partitions[0].state == PartitionState::Serving &&
           view.partitions[0].journal_head == 100;
  });
  EXPECT_EQ(a.keeper.view().partitions[0].node, "a");
  EXPECT_EQ(a.keeper.view().nodes[0].state, NodeState::Live);
}

TEST_F(LeaseKeeping, BeforeItServesItTakesNothing) {
  ShortNode a(table, "a", "1");
  ASSERT_TRUE(a.keeper.start().ok());
  a.wait_for_beats(5);
  EXPECT_EQ(a.told(), "");
  a.keeper.begin_taking(a);
  wait_until([&] { return a.told() == "take 0"; });
}

TEST_F(LeaseKeeping, AnOwnerThatBeatsKeepsItsPartitionAndADeadOneDoesNot) {
  NodeSeen row;
  ShortNode b(table, "b", "2");
  {
    ShortNode a(table, "a", "1");
    a.serve();
    wait_until([&] { return a.told() == "take 0"; });
    b.serve();
    b.wait_for_beats(30);
    EXPECT_EQ(b.told(), "");
    std::lock_guard lock(table.mutex);
    row = table.nodes["a"];
  }
  {
    std::lock_guard lock(table.mutex);  // as by kill -9: the row stays
    table.nodes["a"] = row;
  }
  wait_until([&] { return b.told() == "take 0"; });
  EXPECT_EQ(b.keeper.view().nodes[0].state, NodeState::Dead);
}

TEST_F(LeaseKeeping, ANameThatLivesIsRefused) {
  ShortNode a(table, "a", "1");
  ASSERT_TRUE(a.keeper.start().ok());
  ShortNode twin(table, "a", "2");
  const Status started = twin.keeper.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::Conflict);
}

TEST_F(LeaseKeeping, ANameWhoseProcessDiedIsTakenOver) {
  table.nodes["a"] = {"a", "died elsewhere", 40};
  ShortNode a(table, "a", "1");
  EXPECT_TRUE(a.keeper.start().ok());
}

TEST_F(LeaseKeeping, TheLeaseEndsWithoutTheDatabaseAndComesBackWithIt) {
  ShortNode a(table, "a", "1");
  a.serve();
  wait_until([&] { return a.keeper.lease().holds() && a.told() == "take 0"; });
  {
    std::lock_guard lock(table.mutex);
    table.away = true;
  }
  wait_until([&] { return !a.keeper.lease().holds(); });
  {
    std::lock_guard lock(table.mutex);
    table.away = false;
  }
  wait_until([&] { return a.keeper.lease().holds(); });
  EXPECT_EQ(a.told(), "take 0") << "nobody may have taken it";
}

TEST_F(LeaseKeeping, WhatIsLostIsDroppedAndNothingIsAnsweredUntilItIsClosed) {
  ShortNode a(table, "a", "1");
  a.serve();
  wait_until([&] { return a.keeper.lease().holds() && a.told() == "take 0"; });
  a.closes_at_once = false;
  table.add_node("b", "2");
  table.set_partition(3, "b", "2");
  wait_until([&] { return a.told() == "take 0, drop 0"; });
  EXPECT_FALSE(a.keeper.lease().holds());
  a.wait_for_beats(3);
  EXPECT_FALSE(a.keeper.lease().holds());
  a.keeper.gone(0);
  wait_until([&] { return a.keeper.lease().holds(); });
  EXPECT_TRUE(a.told().starts_with("take 0, drop 0"));
}

// Whoever recovers it would serve it, and tell what is no longer true.
TEST_F(LeaseKeeping, WhatIsLostWhileItIsRecoveredIsClosedAfterwards) {
  ShortNode a(table, "a", "1");
  a.recovers_at_once = false;
  a.serve();
  wait_until([&] { return a.told() == "take 0"; });
  table.add_node("b", "2");
  table.set_partition(3, "b", "2");
  a.wait_for_beats(3);
  EXPECT_EQ(a.told(), "take 0");
  EXPECT_FALSE(a.keeper.lease().holds());
  a.recovered(0);
  wait_until([&] { return a.keeper.lease().holds(); });
  EXPECT_TRUE(a.told().starts_with("take 0, close 0"));
}

TEST_F(LeaseKeeping, WithoutItsRowItDropsAllAndEntersAnew) {
  ShortNode a(table, "a", "1");
  a.serve();
  wait_until([&] { return a.told() == "take 0"; });
  {
    std::lock_guard lock(table.mutex);
    table.nodes.clear();
  }
  wait_until(
      [&] { return a.told() == "take 0, drop 0, entered, take 0" && a.keeper.lease().holds(); });
  EXPECT_NE(a.keeper.self().incarnation, "1");
}

TEST_F(LeaseKeeping, WhoseNameWasTakenByAnotherProcessIsToldOnce) {
  ShortNode a(table, "a", "1");
  a.serve();
  wait_until([&] { return a.told() == "take 0"; });
  {
    std::lock_guard lock(table.mutex);
    table.nodes["a"].incarnation = "2";
  }
  // The other one beats.
  wait_until([&] {
    std::lock_guard lock(table.mutex);
    ++table.nodes["a"].beat;
    return a.told().find("shut out") != std::string::npos;
  });
  EXPECT_EQ(
      a.told(),
      "take 0, drop 0, shut out: a node with the name a is alive; give this one another --node");
  EXPECT_FALSE(a.keeper.lease().holds());
}

TEST_F(LeaseKeeping, WhoLeavesSaysSoFirstAndGivesAllUp) {
  table.partitions.push_back({.id = 1, .epoch = 1});
  ShortNode a(table, "a", "1");
  a.serve();
  wait_until([&] { return a.told() == "take 0, take 1"; });
  a.closes_at_once = false;
  std::thread leaving([&] { a.keeper.leave(); });
  wait_until([&] { return a.told() == "take 0, take 1, hand over 0, hand over 1"; });
  {
    std::lock_guard lock(table.mutex);
    EXPECT_TRUE(table.nodes.at("a").draining);
  }
  a.keeper.gone(0);
  a.keeper.gone(1);
  leaving.join();
  EXPECT_FALSE(table.nodes.contains("a"));
  EXPECT_EQ(table.partitions[0].node + table.partitions[1].node, "");
}

TEST_F(LeaseKeeping, AHandOverIsToldBeforeItHappens) {
  ShortNode a(table, "a", "1");
  a.serve();
  wait_until([&] { return a.told() == "take 0"; });
  ShortNode b(table, "b", "2");
  b.serve();
  {
    std::lock_guard lock(table.mutex);
    table.nodes["a"].draining = true;
  }
  wait_until([&] { return b.told() == "take 0"; });
  EXPECT_EQ(a.told(), "take 0, hand over 0");
}

// It is served until it is given up, so its loss must be seen until then.
TEST_F(LeaseKeeping, WhatIsToldToBeHandedOverCanStillBeLost) {
  LeaseTimes slow = kTimes;
  slow.announce_ms = 1'000'000'000;
  ShortNode a(table, "a", "1", "", slow);
  a.serve();
  wait_until([&] { return a.told() == "take 0"; });
  ShortNode b(table, "b", "2");
  b.serve();
  {
    std::lock_guard lock(table.mutex);
    table.nodes["a"].draining = true;
  }
  wait_until([&] { return a.keeper.view().partitions[0].state == PartitionState::HandingOver; });
  EXPECT_TRUE(a.keeper.lease().holds());
  a.closes_at_once = false;
  table.set_partition(7, "b", "2");
  wait_until([&] { return a.told() == "take 0, drop 0"; });
  EXPECT_FALSE(a.keeper.lease().holds());
  a.keeper.gone(0);
}

TEST_F(LeaseKeeping, WhoLeavesWaitsForWhatIsBeingRecovered) {
  ShortNode a(table, "a", "1");
  a.recovers_at_once = false;
  a.serve();
  wait_until([&] { return a.told() == "take 0"; });
  std::thread leaving([&] { a.keeper.leave(); });
  wait_until([&] { return a.keeper.leaving(); });
  a.recovered(0);
  leaving.join();
  EXPECT_EQ(a.told(), "take 0, hand over 0");
}

}  // namespace
}  // namespace pawl::cluster
