#include "cluster/lease_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cluster/balance.h"

namespace pawl::cluster {
namespace {

// A table that nodes with a plan each look at twice a second, without any database. What a plan
// decides happens at once.
class PlannedCluster : public testing::Test {
 protected:
  struct Node {
    LeasePlan plan;
    std::string incarnation;
    std::vector<HeldPartition> held = {};
    bool beats = true;
    LeaseDecision last = {};
  };

  void make_partitions(uint16_t count) {
    for (uint16_t id = 0; id < count; ++id) seen.partitions.push_back({.id = id, .epoch = 1});
  }
  void join(const std::string& name, const std::string& incarnation,
            const std::string& former = "") {
    nodes.erase(name);
    nodes.emplace(name, Node{LeasePlan(name, incarnation, former), incarnation});
    std::erase_if(seen.nodes, [&](const NodeSeen& one) { return one.name == name; });
    seen.nodes.push_back({name, incarnation, 1});
  }
  NodeSeen& row(const std::string& name) {
    return *std::find_if(seen.nodes.begin(), seen.nodes.end(),
                         [&](const NodeSeen& one) { return one.name == name; });
  }
  void give(const std::string& name, uint16_t id) {
    Node& node = nodes.at(name);
    PartitionSeen& partition = seen.partitions[id];
    partition = {id, partition.epoch + 1, name, node.incarnation};
    node.held.push_back({id, partition.epoch, PartitionStage::Serving, now_ms});
  }
  void let_go(const std::string& name, uint16_t id) {
    std::erase_if(nodes.at(name).held, [&](const HeldPartition& one) { return one.id == id; });
  }

  // What the node decides at a beat.
  const LeaseDecision& look(const std::string& name) {
    Node& node = nodes.at(name);
    const auto own = std::find_if(seen.nodes.begin(), seen.nodes.end(), [&](const NodeSeen& one) {
      return one.name == name && one.incarnation == node.incarnation;
    });
    if (own != seen.nodes.end()) ++own->beat;
    seen.beaten = own != seen.nodes.end();
    return node.last = node.plan.decide({now_ms, now_ms, seen}, node.held, false);
  }
  void act(const std::string& name) {
    const LeaseDecision decision = nodes.at(name).last;
    for (const uint16_t id : decision.drop) let_go(name, id);
    for (const uint16_t id : decision.hand_over) {
      ++hand_overs;
      let_go(name, id);
      seen.partitions[id] = {.id = id, .epoch = seen.partitions[id].epoch + 1};
    }
    for (const LeaseDecision::Take& take : decision.take)
      if (seen.partitions[take.partition].epoch == take.seen.epoch) give(name, take.partition);
  }
  // Half a second of everybody.
  void pass() {
    for (auto& [name, node] : nodes) {
      if (!node.beats) continue;
      look(name);
      act(name);
    }
    now_ms += 500;
  }
  void pass_until(const std::function<bool()>& done, int beats_max = 600) {
    for (int i = 0; i < beats_max && !done(); ++i) pass();
    EXPECT_TRUE(done()) << told();
  }

  std::string owners() const {
    std::string out;
    for (const PartitionSeen& one : seen.partitions) out += one.node.empty() ? "-" : one.node;
    return out;
  }
  size_t count_of(const std::string& name) const {
    const std::string all = owners();
    return static_cast<size_t>(std::count(all.begin(), all.end(), name[0]));
  }
  std::string told() const { return owners() + " at " + std::to_string(now_ms); }
  // The last decision of a node as one line.
  std::string decided(const std::string& name) const {
    const LeaseDecision& last = nodes.at(name).last;
    std::string out = last.lease_goes_on ? "holds" : "";
    for (const auto& take : last.take)
      out += " take " + std::to_string(take.partition) + "@" + std::to_string(take.seen.epoch) +
             (take.seen.owner_beat ? " beat " + std::to_string(*take.seen.owner_beat) : "");
    for (const uint16_t id : last.hand_over) out += " hand over " + std::to_string(id);
    for (const uint16_t id : last.drop) out += " drop " + std::to_string(id);
    return out + (last.enter_anew ? " enter anew" : "");
  }

  ClusterSeen seen;
  std::map<std::string, Node> nodes;
  int64_t now_ms = 1'000'000;
  int hand_overs = 0;
};

TEST_F(PlannedCluster, OneNodeTakesAllAtOnce) {
  make_partitions(4);
  join("a", "1");
  look("a");
  EXPECT_EQ(decided("a"), "holds take 0@1 take 1@1 take 2@1 take 3@1");
}

TEST_F(PlannedCluster, WhoIsNotNamedWaitsASecond) {
  make_partitions(1);
  join("a", "1");
  join("b", "2");
  const std::string named = named_owners(1, {"a", "b"})[0];
  const std::string other = named == "a" ? "b" : "a";
  look(other);
  EXPECT_EQ(decided(other), "holds");
  now_ms += 999;
  look(other);
  EXPECT_EQ(decided(other), "holds");
  now_ms += 1;
  look(other);
  EXPECT_EQ(decided(other), "holds take 0@1");
  look(named);
  EXPECT_EQ(decided(named), "holds take 0@1");
}

TEST_F(PlannedCluster, ThePauseBeginsAnewWhenThePartitionHadAnOwnerInBetween) {
  make_partitions(1);
  join("a", "1");
  join("b", "2");
  const std::string other = named_owners(1, {"a", "b"})[0] == "a" ? "b" : "a";
  look(other);
  now_ms += 900;
  seen.partitions[0].epoch = 3;  // taken and given up again
  look(other);
  now_ms += 900;
  look(other);
  EXPECT_EQ(decided(other), "holds");
}

TEST_F(PlannedCluster, ANodeThatJoinsGetsItsShareOneASecond) {
  make_partitions(16);
  join("a", "1");
  pass();
  EXPECT_EQ(count_of("a"), 16u);
  join("b", "2");
  const int64_t joined_ms = now_ms;
  pass_until([&] { return count_of("b") > 0; });
  EXPECT_GE(now_ms - joined_ms, 5000);
  EXPECT_LE(now_ms - joined_ms, 6500);
  const int64_t first_ms = now_ms;
  pass_until([&] { return count_of("b") == 8; });
  EXPECT_GE(now_ms - first_ms, 7000);
  EXPECT_LE(now_ms - first_ms, 9000);
  for (int i = 0; i < 200; ++i) pass();
  EXPECT_EQ(hand_overs, 8) << "and then it rests";
}

TEST_F(PlannedCluster, AJoinSoonAfterAnotherPutsTheHandOverOff) {
  make_partitions(4);
  join("a", "1");
  pass();
  join("b", "2");
  for (int i = 0; i < 9; ++i) pass();
  join("c", "3");
  for (int i = 0; i < 10; ++i) pass();
  EXPECT_EQ(hand_overs, 0);
  pass();
  EXPECT_EQ(hand_overs, 1);
}

TEST_F(PlannedCluster, TheOthersTakeOverFromADeadOneAtTheBeatTheySaw) {
  make_partitions(6);
  join("a", "1");
  join("b", "2");
  join("c", "3");
  pass_until([&] { return count_of("a") == 2 && count_of("b") == 2 && count_of("c") == 2; });
  nodes.at("a").beats = false;
  const int64_t died_ms = now_ms;
  pass_until([&] { return count_of("a") == 0; });
  EXPECT_GE(now_ms - died_ms, 3000);
  EXPECT_LE(now_ms - died_ms, 4500);
  pass_until([&] { return count_of("b") == 3 && count_of("c") == 3; });
}

TEST_F(PlannedCluster, ADeadOwnersBeatIsTheCondition) {
  make_partitions(1);
  join("a", "1");
  pass();
  nodes.at("a").beats = false;
  const uint64_t beat = row("a").beat;
  join("b", "2");
  for (int i = 0; i < 6; ++i, now_ms += 500) {
    look("b");
    EXPECT_EQ(decided("b"), "holds");
  }
  look("b");
  EXPECT_EQ(decided("b"), "holds take 0@2 beat " + std::to_string(beat));
}

TEST_F(PlannedCluster, AfterAnOutageNobodyIsDead) {
  make_partitions(2);
  join("a", "1");
  pass();
  nodes.at("a").beats = false;
  join("b", "2");
  look("b");
  now_ms += 60'000;
  look("b");
  EXPECT_EQ(decided("b"), "holds");
}

TEST_F(PlannedCluster, ADrainingNodeHandsAllOverAndTakesNone) {
  make_partitions(6);
  join("a", "1");
  join("b", "2");
  pass_until([&] { return count_of("a") == 3 && count_of("b") == 3; });
  row("a").draining = true;
  pass_until([&] { return count_of("b") == 6; }, 6);
  for (int i = 0; i < 40; ++i) pass();
  EXPECT_EQ(count_of("b"), 6u);
  row("a").draining = false;
  pass_until([&] { return count_of("a") == 3 && count_of("b") == 3; });
}

TEST_F(PlannedCluster, ADrainingNodeKeepsWhatNobodyElseWouldTake) {
  make_partitions(3);
  join("a", "1");
  pass();
  row("a").draining = true;
  for (int i = 0; i < 40; ++i) pass();
  EXPECT_EQ(owners(), "aaa");
  join("b", "2");
  pass_until([&] { return owners() == "bbb"; }, 6);
}

TEST_F(PlannedCluster, AStartOnTheSameDataTakesItsPartitionsAtOnce) {
  make_partitions(4);
  join("a", "1");
  join("b", "2");
  pass_until([&] { return count_of("a") == 2 && count_of("b") == 2; });
  const std::string before = owners();
  join("a", "3", "1");
  look("a");
  EXPECT_EQ(nodes.at("a").last.take.size(), 2u) << decided("a");
  act("a");
  EXPECT_EQ(owners(), before);
}

TEST_F(PlannedCluster, WhatItTookWithoutKnowingIsTakenAgain) {
  make_partitions(1);
  join("a", "1");
  seen.partitions[0] = {0, 5, "a", "1"};
  look("a");
  EXPECT_EQ(decided("a"), "holds take 0@5") << "its own beat goes on";
}

TEST_F(PlannedCluster, OnlyWhatIsLostIsDropped) {
  make_partitions(2);
  join("a", "1");
  pass();
  seen.partitions[1] = {1, 3, "b", "2"};
  row("a");
  seen.nodes.push_back({"b", "2", 1});
  look("a");
  EXPECT_EQ(decided("a"), " drop 1") << "no answer leaves until it is closed";
  nodes.at("a").held[1].stage = PartitionStage::Ending;
  look("a");
  EXPECT_EQ(decided("a"), "");
  let_go("a", 1);
  look("a");
  EXPECT_EQ(decided("a"), "holds");
}

TEST_F(PlannedCluster, AHigherEpochOfItsOwnIsNoLoss) {
  make_partitions(1);
  join("a", "1");
  pass();
  ++seen.partitions[0].epoch;  // its store was reopened
  look("a");
  EXPECT_EQ(decided("a"), "holds");
}

TEST_F(PlannedCluster, ALowerEpochWasReadBeforeItWasTakenOrTheDatabaseForgot) {
  make_partitions(1);
  join("a", "1");
  pass();
  seen.partitions[0] = {.id = 0, .epoch = 1};
  nodes.at("a").held[0].taken_ms = now_ms + 1;
  look("a");
  EXPECT_EQ(decided("a"), "holds");
  now_ms += 500;
  look("a");
  EXPECT_EQ(decided("a"), " drop 0");
}

TEST_F(PlannedCluster, WithoutItsRowAllIsDropped) {
  make_partitions(2);
  join("a", "1");
  pass();
  seen.nodes.clear();
  look("a");
  EXPECT_EQ(decided("a"), " drop 0 drop 1 enter anew");
  act("a");
  nodes.at("a").plan.begin_anew("2");
  nodes.at("a").incarnation = "2";
  seen.nodes.push_back({"a", "2", 1});
  look("a");
  EXPECT_EQ(decided("a"), "holds take 0@2 take 1@2");
}

TEST_F(PlannedCluster, WhatCannotBeServedIsTriedAgainAfterAPauseThatGrows) {
  make_partitions(1);
  join("a", "1");
  LeasePlan& plan = nodes.at("a").plan;
  const auto next_try_after = [&] {
    plan.note_failure(0, now_ms);
    const int64_t failed_ms = now_ms;
    do {
      now_ms += 500;
      look("a");
    } while (nodes.at("a").last.take.empty());
    return now_ms - failed_ms;
  };
  EXPECT_EQ(next_try_after(), 500);
  EXPECT_EQ(next_try_after(), 1000);
  EXPECT_EQ(next_try_after(), 2000);
  for (int i = 0; i < 6; ++i) next_try_after();
  EXPECT_EQ(next_try_after(), 30'000);
  plan.note_served(0);
  EXPECT_EQ(next_try_after(), 500);
}

// A named node that lives, but cannot serve it, would be offered it for ever.
TEST_F(PlannedCluster, APartitionThatCameBackStaysForAWhile) {
  make_partitions(2);
  join("a", "1");
  pass();
  join("b", "2");
  pass_until([&] { return count_of("b") == 1; });
  const auto moved = static_cast<uint16_t>(owners().find('b'));
  let_go("b", moved);
  give("a", moved);
  nodes.at("b").plan.note_failure(moved, now_ms + 1'000'000);
  for (int i = 0; i < 60; ++i) pass();
  EXPECT_EQ(hand_overs, 1);
}

TEST_F(PlannedCluster, AJoinEndsThatStay) {
  make_partitions(2);
  join("a", "1");
  pass();
  join("b", "2");
  pass_until([&] { return count_of("b") == 1; });
  row("b").draining = true;
  pass_until([&] { return count_of("a") == 2; });
  row("b").draining = false;
  pass_until([&] { return count_of("b") == 1; }, 20);
}

TEST_F(PlannedCluster, WhoIsAboutToGetAPartitionLooksOften) {
  make_partitions(1);
  join("a", "1");
  pass();
  join("b", "2");
  row("a").draining = true;
  row("a").reports = {{0, PartitionStage::Serving, 0}};
  const auto looks_soon = [&] { return look("b").look_soon; };
  EXPECT_TRUE(looks_soon());
  row("a").draining = false;
  // Its owner is full as well; without the report balance decides alone.
  const bool named = named_owners(1, {"a", "b"})[0] == "b";
  EXPECT_FALSE(looks_soon());
  row("a").reports[0].stage = PartitionStage::HandingOver;
  EXPECT_EQ(looks_soon(), named);
  row("a").draining = true;
  const int64_t told_ms = now_ms;
  while (looks_soon()) {
    ++row("a").beat;
    now_ms += 100;
  }
  EXPECT_LE(now_ms - told_ms, 5000) << "it does not come";
  EXPECT_GE(now_ms - told_ms, 4000);
}

TEST_F(PlannedCluster, WhoGaveAPartitionUpLooksUntilItHasAnOwner) {
  make_partitions(1);
  join("a", "1");
  join("b", "2");
  give("a", 0);
  row("a").draining = true;
  look("a");
  act("a");
  EXPECT_TRUE(look("a").look_soon);
  give("b", 0);
  EXPECT_FALSE(look("a").look_soon);
}

// It is served until it is given up.
TEST_F(PlannedCluster, WhatIsToldToBeHandedOverIsStillWatched) {
  make_partitions(1);
  join("a", "1");
  join("b", "2");
  give("a", 0);
  row("a").draining = true;
  look("a");
  EXPECT_EQ(decided("a"), "holds hand over 0");
  nodes.at("a").held[0].announced = true;
  look("a");
  EXPECT_EQ(decided("a"), "holds");
  seen.partitions[0] = {0, 9, "b", "2"};
  look("a");
  EXPECT_EQ(decided("a"), " drop 0");
}

// Chaos: whatever happens, all partitions are served again, evenly, and then nothing moves.
TEST_F(PlannedCluster, ComesToRestAfterAnySequence) {
  make_partitions(16);
  uint64_t random = 7;
  const auto next = [&](uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  int incarnation = 0;
  for (int round = 0; round < 60; ++round) {
    const std::string name(1, static_cast<char>('a' + next(4)));
    switch (next(4)) {
      case 0:
        join(name, std::to_string(++incarnation));
        break;
      case 1:
        if (nodes.contains(name)) nodes.at(name).beats = false;
        break;
      case 2:
        if (nodes.contains(name)) row(name).draining = !row(name).draining;
        break;
      default:
        break;
    }
    for (uint64_t i = next(30); i > 0; --i) pass();
  }
  for (auto& [name, node] : nodes) row(name).draining = false;
  join("a", std::to_string(++incarnation));
  const auto even = [&] {
    size_t beating = 0;
    for (auto& [name, node] : nodes) beating += node.beats ? 1 : 0;
    for (auto& [name, node] : nodes)
      if (count_of(name) > (node.beats ? share_of_node(16, beating) : 0)) return false;
    return owners().find('-') == std::string::npos;
  };
  pass_until(even);
  for (int i = 0; i < 140; ++i) pass();
  const std::string settled = owners();
  hand_overs = 0;
  for (int i = 0; i < 400; ++i) pass();
  EXPECT_EQ(owners(), settled);
  EXPECT_EQ(hand_overs, 0);
}

}  // namespace
}  // namespace pawl::cluster
