// Deleting a definition: no partition begins a run of it while it is decided, and each has counted.
#include "kernel/messages/closing.h"

#include <gtest/gtest.h>

#include "kernel/messages/message.h"
#include "kernel/settings/doc.h"
#include "kernel/testing/post.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

StateConfig closing_config(uint16_t partition) {
  StateConfig config;
  config.partition = partition;
  config.partitions = 3;
  return config;
}

struct ThreeOfADefinition {
  ScriptWorld zero{false, closing_config(0)};
  ScriptWorld one{false, closing_config(1)};
  ScriptWorld two{false, closing_config(2)};
  Post post{{&zero, &one, &two}};

  ThreeOfADefinition() {
    zero.define("d", "steps: [{id: w, type: wait, config: {signal: go}}]", "1.0.0");
    post.carry_all();
  }
  std::string start(ScriptWorld& at) {
    StartScript command;
    command.definition = "d";
    return at.start(command);
  }
  Uuid close() {
    Uuid token;
    zero.frame([&](Frame& frame) {
      auto begun = begin_closing(frame, "d", "");
      if (begun.ok()) token = *begun;
      return "";
    });
    return token;
  }
  void reopen(const Uuid& token) {
    zero.frame([&](Frame& frame) { return reopen_definition(frame, token), ""; });
    post.carry_all();
  }
};

TEST(Closing, RunsOfAllPartitionsAreCounted) {
  ThreeOfADefinition world;
  for (ScriptWorld* each : {&world.zero, &world.one, &world.one, &world.two}) world.start(*each);
  const Uuid token = world.close();
  EXPECT_EQ(counted_runs(world.zero.state(), token), std::nullopt);
  world.post.next(0, 1);
  world.post.next(1, 0);
  EXPECT_EQ(counted_runs(world.zero.state(), token), std::nullopt);
  world.post.carry_all();
  EXPECT_EQ(counted_runs(world.zero.state(), token), 4u);
}

TEST(Closing, NoRunBeginsUntilItIsReopened) {
  ThreeOfADefinition world;
  const Uuid token = world.close();
  EXPECT_TRUE(world.close().is_nil());
  world.post.carry_all();
  for (ScriptWorld* each : {&world.zero, &world.one, &world.two}) {
    EXPECT_NE(world.start(*each).find("is being deleted"), std::string::npos);
    each->restart();
    EXPECT_TRUE(is_closed(each->state(), "d"));
  }
  EXPECT_EQ(counted_runs(world.zero.state(), token), 0u);
  world.reopen(token);
  for (ScriptWorld* each : {&world.zero, &world.one, &world.two})
    EXPECT_EQ(world.start(*each), "suspended waiting");
  EXPECT_EQ(world.post.unsettled(), 0u);
}

// The task that began it is gone.
TEST(Closing, WhatNobodyFinishesIsReopened) {
  ThreeOfADefinition world;
  world.close();
  world.post.carry_all();
  world.zero.restart();
  world.zero.frame([](Frame& frame) {
    EXPECT_EQ(reopen_stale(frame, frame.now_ms()), 0u);
    EXPECT_EQ(reopen_stale(frame, frame.now_ms() + 1), 1u);
    return "";
  });
  world.post.carry_all();
  for (ScriptWorld* each : {&world.zero, &world.one, &world.two})
    EXPECT_FALSE(is_closed(each->state(), "d"));
  EXPECT_FALSE(world.close().is_nil());
}

// Each of these stands in journals: another number would be another message.
TEST(Closing, KindsOfMessagesKeepTheirNumbers) {
  EXPECT_EQ(static_cast<int>(MessageKind::DocPut), 1);
  EXPECT_EQ(static_cast<int>(MessageKind::QueueRate), 5);
  EXPECT_EQ(static_cast<int>(MessageKind::Place), 6);
  EXPECT_EQ(static_cast<int>(MessageKind::Revive), 10);
  EXPECT_EQ(static_cast<int>(MessageKind::Claim), 11);
  EXPECT_EQ(static_cast<int>(MessageKind::Release), 14);
  EXPECT_EQ(static_cast<int>(MessageKind::Reopen), 17);
}

}  // namespace
}  // namespace pawl
