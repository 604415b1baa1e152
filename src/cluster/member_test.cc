// Members of one cluster in one process, on a real PostgreSQL.
#include "cluster/member.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "store/testing/postgres_server.h"

namespace pawl::cluster {
namespace {

constexpr uint16_t kPartitions = 8;
// Shorter than the real ones; their relation is the real one.
constexpr LeaseTimes kShortTimes{.lease_ms = 1200,
                                 .beat_ms = 100,
                                 .gap_ms = 700,
                                 .margin_ms = 200,
                                 .others_ms = 400,
                                 .announce_ms = 150,
                                 .settled_ms = 600,
                                 .between_hand_overs_ms = 100,
                                 .same_again_ms = 500};

void wait_for(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      ADD_FAILURE() << "waited for too long";
      return;
    }
    std::this_thread::yield();
  }
}

// Keeps what it serves open, and writes to it.
class KeepingHost : public PartitionHost {
 public:
  Status serve(uint16_t partition, std::unique_ptr<PostgresStore> store) override {
    std::unique_lock lock(mutex_);
    if (failures_left > 0) {
      --failures_left;
      return Error{ErrorCode::Corrupt, "it does not recover"};
    }
    EXPECT_FALSE(stores_.contains(partition));
    EXPECT_LT(stores_.size(), size_t{kPartitions});
    stores_[partition] = std::move(store);
    return ok_status();
  }
  void give_up(uint16_t partition, bool lost) override {
    std::unique_ptr<PostgresStore> store;
    {
      std::lock_guard lock(mutex_);
      EXPECT_TRUE(stores_.contains(partition));
      store = std::move(stores_[partition]);
      stores_.erase(partition);
      lost_ += lost ? 1 : 0;
    }
  }
  uint64_t journal_head(uint16_t partition) override {
    std::lock_guard lock(mutex_);
    const auto found = stores_.find(partition);
    return found == stores_.end() ? 0 : found->second->journal_last();
  }

  std::set<uint16_t> served() {
    std::lock_guard lock(mutex_);
    std::set<uint16_t> ids;
    for (const auto& [id, store] : stores_) ids.insert(id);
    return ids;
  }
  size_t lost() {
    std::lock_guard lock(mutex_);
    return lost_;
  }
  // Commits one record to a partition that it serves.
  std::string append(uint16_t partition) {
    std::lock_guard lock(mutex_);
    const auto found = stores_.find(partition);
    if (found == stores_.end()) return "not served";
    const Status done =
        found->second->commit({.number = found->second->journal_last() + 1, .journal = "record"});
    if (done.ok()) return "ok";
    // As the engine does after an outage.
    const std::string code(wire_code(done.error().code));
    return found->second->reopen().ok() ? "reopened" : code;
  }
  uint64_t epoch(uint16_t partition) {
    std::lock_guard lock(mutex_);
    return stores_.at(partition)->epoch();
  }

  std::atomic<int> failures_left = 0;

 private:
  std::mutex mutex_;
  std::map<uint16_t, std::unique_ptr<PostgresStore>> stores_;
  size_t lost_ = 0;
};

struct TestNode {
  KeepingHost host;
  std::unique_ptr<Member> member;

  size_t count() { return host.served().size(); }
};

class Members : public testing::Test {
 protected:
  Members() {
    const std::string key = directory / "cluster.key";
    std::ofstream(key) << std::string(32, 'k');
    ::chmod(key.c_str(), 0600);
  }

  MemberSetup setup(const std::string& name, uint16_t partitions = kPartitions) {
    MemberSetup setup;
    setup.database = backing.options().url;
    setup.partitions = partitions;
    setup.key_file = directory / "cluster.key";
    setup.data_dir = directory / name;
    setup.name = name;
    setup.url = "http://" + name;
    setup.times = kShortTimes;
    return setup;
  }
  void join(const std::string& name, int64_t beat_ms = kShortTimes.beat_ms) {
    TestNode& node = nodes[name];
    MemberSetup own = setup(name);
    own.times.beat_ms = beat_ms;
    auto joined = Member::join(own);
    ASSERT_TRUE(joined.ok()) << joined.error().message;
    node.member = std::move(joined).value();
    node.member->start(node.host);
  }
  std::string refused(const MemberSetup& setup) {
    const auto joined = Member::join(setup);
    return joined.ok() ? "joined" : joined.error().message;
  }
  // Every partition is served by exactly one of these, and the shares are even.
  bool evenly_served() {
    std::set<uint16_t> all;
    size_t sum = 0;
    for (auto& [name, node] : nodes) {
      const std::set<uint16_t> served = node.host.served();
      sum += served.size();
      all.insert(served.begin(), served.end());
      if (served.size() > (kPartitions + nodes.size() - 1) / nodes.size()) return false;
    }
    return sum == kPartitions && all.size() == kPartitions;
  }

  TempDirectory directory;
  PostgresBacking backing;
  std::map<std::string, TestNode> nodes;
};

TEST_F(Members, OneServesAllAndThoseThatJoinGetTheirShare) {
  join("a");
  wait_for([&] { return nodes["a"].count() == kPartitions; });
  join("b");
  join("c");
  wait_for([&] { return evenly_served(); });
  for (auto& [name, node] : nodes) {
    EXPECT_EQ(node.host.lost(), 0u);
    for (const uint16_t id : node.host.served()) EXPECT_EQ(node.host.append(id), "ok");
  }
  const auto told = [&](Member& member) {
    std::string text;
    const ClusterView view = member.view();
    for (const PartitionView& one : view.partitions)
      text += one.node + (one.state == PartitionState::Serving ? " serves " : " has ") +
              std::to_string(one.journal_head) + "\n";
    return text;
  };
  wait_for([&] { return told(*nodes["a"].member).find(" 0\n") == std::string::npos; });
  wait_for([&] {
    return told(*nodes["a"].member) == told(*nodes["b"].member) &&
           told(*nodes["b"].member) == told(*nodes["c"].member);
  });
  EXPECT_EQ(told(*nodes["a"].member).find("has"), std::string::npos);
}

TEST_F(Members, WhoLeavesHandsItsPartitionsOver) {
  join("a");
  join("b");
  wait_for([&] { return evenly_served(); });
  nodes["a"].member->leave();
  EXPECT_EQ(nodes["a"].count(), 0u);
  EXPECT_EQ(backing.ask("SELECT string_agg(name, ',') FROM pawl_node"), "b");
  nodes.erase("a");
  wait_for([&] { return nodes["b"].count() == kPartitions; });
  EXPECT_EQ(nodes["b"].host.lost(), 0u);
}

TEST_F(Members, ADrainedNodeHasNoneUntilItIsUndrained) {
  join("a");
  join("b");
  wait_for([&] { return evenly_served(); });
  EXPECT_TRUE(nodes["b"].member->set_draining("a", true).value()) << "by another node";
  EXPECT_FALSE(nodes["b"].member->set_draining("nobody", true).value());
  wait_for([&] { return nodes["a"].count() == 0 && nodes["b"].count() == kPartitions; });
  wait_for([&] { return nodes["b"].member->view().nodes[0].state == NodeState::Draining; });
  ASSERT_TRUE(nodes["a"].member->undrain().ok());
  wait_for([&] { return evenly_served(); });
  EXPECT_EQ(nodes["a"].host.lost() + nodes["b"].host.lost(), 0u);
}

// A process that stands still: it beats no more, and believes what it knew.
TEST_F(Members, OthersTakeOverFromWhoeverStandsStillAndItWritesNothing) {
  join("a", 1'000'000'000);
  wait_for([&] { return nodes["a"].count() == kPartitions; });
  for (uint16_t id = 0; id < kPartitions; ++id) EXPECT_EQ(nodes["a"].host.append(id), "ok");
  join("b");
  join("c");
  const auto taken_over = [&] {
    return nodes["b"].count() + nodes["c"].count() == kPartitions && nodes["b"].count() > 2 &&
           nodes["c"].count() > 2;
  };
  wait_for(taken_over);
  EXPECT_FALSE(nodes["a"].member->lease().holds());
  EXPECT_EQ(nodes["b"].member->counts().takeovers + nodes["c"].member->counts().takeovers,
            uint64_t{kPartitions});
  EXPECT_EQ(nodes["a"].count(), size_t{kPartitions}) << "it has not noticed";
  for (uint16_t id = 0; id < kPartitions; ++id) EXPECT_EQ(nodes["a"].host.append(id), "fenced");
  for (const char* name : {"b", "c"})
    for (const uint16_t id : nodes[name].host.served()) {
      EXPECT_EQ(nodes[name].host.journal_head(id), 1u) << "all that was acknowledged is there";
      EXPECT_EQ(nodes[name].host.append(id), "ok");
    }
  nodes["a"].member->look_now();
  wait_for([&] { return nodes["a"].host.lost() == kPartitions; });
  EXPECT_EQ(nodes["a"].count(), 0u);
}

TEST_F(Members, OnlyThePartitionThatWasLostIsDropped) {
  join("a");
  wait_for([&] { return nodes["a"].count() == kPartitions; });
  EXPECT_EQ(nodes["a"].host.append(3), "ok");
  const uint64_t epoch = nodes["a"].host.epoch(3);
  backing.ask(
      "UPDATE pawl_partition SET owner = 'b', epoch = epoch + 1,"
      " incarnation = '01890a5d-ac96-774b-bcce-b302099a8057' WHERE id = 3");
  EXPECT_EQ(nodes["a"].host.append(3), "fenced");
  wait_for([&] { return nodes["a"].host.lost() == 1; });
  EXPECT_EQ(nodes["a"].count(), kPartitions - 1u);
  for (const uint16_t id : nodes["a"].host.served()) EXPECT_EQ(nodes["a"].host.append(id), "ok");
  EXPECT_EQ(nodes["a"].member->counts().fenced, 1u);
  // Nobody of that name beats: it is taken back.
  wait_for([&] { return nodes["a"].count() == kPartitions; });
  EXPECT_EQ(nodes["a"].host.append(3), "ok");
  EXPECT_EQ(nodes["a"].host.epoch(3), epoch + 2);
}

// As by kill -9: the row stays, and the same data directory says who it was.
TEST_F(Members, AStartOnTheSameDataDoesNotWaitForItsFormerOne) {
  const std::string former = "01890a5d-ac96-774b-bcce-b302099a8057";
  join("a");
  wait_for([&] { return nodes["a"].count() == kPartitions; });
  nodes.clear();
  std::ofstream(directory / "a/incarnation") << former;
  backing.ask("INSERT INTO pawl_node VALUES ('a', '" + former +
              "', '', '', '1', now(), 8, now(), false)");
  backing.ask("UPDATE pawl_partition SET owner = 'a', incarnation = '" + former + "'");
  MemberSetup patient = setup("a");
  patient.times.lease_ms = 1'000'000'000;  // it would wait for longer than this test may take
  auto joined = Member::join(patient);
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  nodes["a"].member = std::move(joined).value();
  nodes["a"].member->start(nodes["a"].host);
  wait_for([&] { return nodes["a"].count() == kPartitions; });
  EXPECT_EQ(nodes["a"].member->counts().takeovers, 0u);
}

TEST_F(Members, ANodeWhoseRowIsGoneGoesOnAsAnother) {
  join("a");
  wait_for([&] { return nodes["a"].count() == kPartitions; });
  const std::string before = nodes["a"].member->self().incarnation;
  backing.ask("DELETE FROM pawl_node");
  wait_for([&] { return nodes["a"].member->self().incarnation != before; });
  wait_for([&] { return nodes["a"].count() == kPartitions; });
  EXPECT_EQ(nodes["a"].host.lost(), size_t{kPartitions});
  EXPECT_EQ(nodes["a"].host.append(0), "ok");
}

TEST_F(Members, TheFormatRisesWhenTheLastOldNodeHasGone) {
  const auto speaking = [&](const std::string& name, uint64_t format) {
    MemberSetup own = setup(name);
    own.format = format;
    auto joined = Member::join(own);
    EXPECT_TRUE(joined.ok()) << joined.error().message;
    return std::move(joined).value();
  };
  auto old = speaking("a", 1);
  const auto newer = speaking("b", 2);
  EXPECT_TRUE(newer->keep_format(true).ok());
  EXPECT_EQ(newer->view().format, 1u);
  old.reset();
  EXPECT_TRUE(newer->keep_format(false).ok());
  EXPECT_EQ(newer->view().format, 1u) << "that is for the owner of partition 0";
  EXPECT_TRUE(newer->keep_format(true).ok());
  EXPECT_EQ(newer->view().format, 2u);
  EXPECT_EQ(backing.ask("SELECT value FROM pawl_meta WHERE name = 'format'"), "2");
  EXPECT_NE(refused(setup("a")).find("journal format 2, this Pawl knows up to 1"),
            std::string::npos);
}

TEST_F(Members, AFormatThatIsHeldStays) {
  { const auto first = Member::join(setup("a")); }
  MemberSetup holding = setup("b");
  holding.format = 2;
  holding.hold_format = true;
  const auto member = Member::join(holding);
  ASSERT_TRUE(member.ok()) << member.error().message;
  EXPECT_TRUE((*member)->keep_format(true).ok());
  EXPECT_EQ((*member)->view().format, 1u);
}

TEST_F(Members, TheDatabaseEndsItsSessions) {
  join("a");
  join("b");
  wait_for([&] { return evenly_served(); });
  const auto kill_sessions = [&] {
    backing.ask(
        "SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity"
        " WHERE application_name LIKE 'pawl/%' AND datname = current_database()");
  };
  for (int round = 0; round < 3; ++round) {
    kill_sessions();
    for (auto& [name, node] : nodes)
      for (const uint16_t id : node.host.served())
        wait_for([&] { return node.host.append(id) == "ok"; });
  }
  EXPECT_TRUE(evenly_served());
  EXPECT_EQ(nodes["a"].host.lost() + nodes["b"].host.lost(), 0u);
}

TEST_F(Members, WhatDoesNotRecoverIsTriedAgain) {
  TestNode& node = nodes["a"];
  node.host.failures_left = 3;
  join("a");
  wait_for([&] { return node.count() == kPartitions; });
}

TEST_F(Members, TheNumberOfPartitionsIsFixed) {
  join("a");
  EXPECT_EQ(nodes["a"].member->partitions(), kPartitions);
  EXPECT_EQ(refused(setup("b", 4)),
            "the database has 8 partitions, which is fixed; 4 were asked for");
  auto as_kept = Member::join(setup("b", 0));
  ASSERT_TRUE(as_kept.ok());
  EXPECT_EQ((*as_kept)->partitions(), kPartitions);
}

TEST_F(Members, ANewDatabaseHasSixteenUnlessAskedOtherwise) {
  auto made = Member::join(setup("a", 0));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ((*made)->partitions(), 16);
}

TEST_F(Members, ANewerFormatIsRefused) {
  join("a");
  backing.ask("UPDATE pawl_meta SET value = '7' WHERE name = 'format'");
  const std::string why = refused(setup("b"));
  EXPECT_NE(why.find("format 7, this Pawl knows up to 1"), std::string::npos) << why;
}

TEST_F(Members, ConnectionsAreBounded) {
  join("a");
  wait_for([&] { return nodes["a"].count() == kPartitions; });
  wait_for([&] {
    return std::stoi(backing.ask("SELECT count(*)::text FROM pg_stat_activity WHERE"
                                 " application_name LIKE 'pawl/a/%'"
                                 " AND datname = current_database()")) <= kPartitions + 5;
  });
}

}  // namespace
}  // namespace pawl::cluster
