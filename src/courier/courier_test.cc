// Couriers between engines: what is sent is taken once, in order, whatever the way loses, repeats
// or brings late.
#include "courier/courier.h"

#include <gtest/gtest.h>

#include <future>

#include "courier/testing/faulty_transport.h"
#include "courier/testing/partition_world.h"
#include "engine/waiting_task.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/copied_settings.h"
#include "kernel/messages/inbox.h"
#include "kernel/messages/outbox.h"
#include "kernel/settings/settings.h"

namespace pawl {
namespace {

constexpr uint16_t kPartitions = 3;

struct Partitions {
  explicit Partitions(uint64_t seed = 1, uint32_t faults_percent = 0) : way(seed, faults_percent) {
    for (uint16_t k = 0; k < kPartitions; ++k) {
      worlds.push_back(std::make_unique<PartitionWorld>(desk, k, kPartitions, way.transport()));
      open(k);
    }
  }
  ~Partitions() {
    for (uint16_t k = 0; k < kPartitions; ++k) way.close(k);
    for (auto& world : worlds) world->stop();
  }
  void restart(uint16_t k) {
    way.close(k);
    worlds[k]->restart();
    open(k);
  }
  PartitionWorld& operator[](size_t k) { return *worlds[k]; }
  void open(uint16_t k, OnSetting on_setting = {}) {
    way.open(k, [this, k, on_setting](std::string batch, auto done) {
      take_messages(*worlds[k]->engine.engine, batch, on_setting, std::move(done));
    });
  }

  CourierDesk desk;
  FaultyTransport way;
  std::vector<std::unique_ptr<PartitionWorld>> worlds;
};

// Reads until it is so. Each reading is a task of the engine, so this does not spin fast.
void wait_until(PartitionWorld& world, FunctionRef<bool(const State&)> is_so) {
  bool so = false;
  while (!so)
    PAWL_CHECK(world.engine
                   .submit(std::make_shared<TestTask>(
                       [&](Frame& frame, bool, std::string&) -> std::optional<Parking> {
                         so = is_so(frame.state());
                         return std::nullopt;
                       }))
                   ->wait() == "ok ");
}

size_t unsettled_rows(const State& state) {
  size_t rows = 0;
  state.each_doc_key(DocKind::Outbox, "", SIZE_MAX, [&](std::string_view) { return ++rows, true; });
  return rows;
}

TEST(Courier, ASettingIsEverywhereWhenAllHaveTakenIt) {
  Partitions world;
  world[0].put("s", "1");
  ASSERT_TRUE(world[0].all_taken().ok());
  EXPECT_EQ(world[1].doc("s"), "1");
  EXPECT_EQ(world[2].doc("s"), "1");
  wait_until(world[0], [](const State& state) { return unsettled_rows(state) == 0; });
  EXPECT_EQ(world[0].courier->unsettled(), 0u);
}

TEST(Courier, NothingOwedIsTakenAtOnce) {
  Partitions world;
  EXPECT_TRUE(world[0].all_taken().ok());
  EXPECT_EQ(world.way.carried(), 0u);
}

TEST(Courier, WaitingForAPartitionThatIsGoneEnds) {
  Partitions world;
  world.way.close(2);
  world[0].put("s", "1");
  Status told = world[0].all_taken(20);
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().code, ErrorCode::Unavailable);
  world.open(2);
  EXPECT_TRUE(world[0].all_taken().ok());
  EXPECT_EQ(world[2].doc("s"), "1");
}

TEST(Courier, WhoWaitsIsToldWhenItStops) {
  Partitions world;
  world.way.close(1);
  world[0].put("s", "1");
  std::promise<Status> told;
  world[0].courier->when_all_taken(600'000, [&](Status status) { told.set_value(status); });
  world[0].courier->stop();
  EXPECT_FALSE(told.get_future().get().ok());
}

TEST(Courier, TheReceiverHearsOfEachCopiedSetting) {
  Partitions world;
  std::vector<std::string> heard;
  world.open(1, [&](Frame& frame, DocKind kind, const std::string& key) {
    EXPECT_NE(frame.state().find_doc(kind, key), nullptr);
    heard.push_back(key);
  });
  world[0].put("a", "1", DocKind::ApiKey);
  world[0].put("b", "2", DocKind::Maintenance);
  ASSERT_TRUE(world[0].all_taken().ok());
  EXPECT_EQ(heard, (std::vector<std::string>{"a", "b"}));
}

TEST(Courier, WhatIsOwedSurvivesARestartOfBothSides) {
  Partitions world;
  world.way.close(1);
  for (int i = 0; i < 5; ++i) world[0].put("k" + std::to_string(i), "v");
  world.restart(0);
  world.restart(2);
  world.restart(1);
  ASSERT_TRUE(world[0].all_taken().ok());
  EXPECT_EQ(world[1].doc("k4"), "v");
  EXPECT_EQ(world[2].doc("k4"), "v");
  world.restart(0);  // what is settled is not sent again
  wait_until(world[0], [](const State& state) { return unsettled_rows(state) == 0; });
}

// Under load, messages are carried and settled many at once: far fewer commits than messages.
TEST(Courier, ManyMessagesShareCommits) {
  Partitions world;
  constexpr uint64_t kMessages = 3'000;
  const uint64_t sender_before = world[0].commits();
  const uint64_t receiver_before = world[1].commits();
  auto send = [](Frame& frame, bool, std::string&) -> std::optional<Parking> {
    put_doc(frame, DocKind::Secret, "s", "v");
    return std::nullopt;
  };
  std::vector<TaskPtr> tasks;
  std::vector<TestTaskPtr> sent;
  for (uint64_t i = 0; i < kMessages; ++i) {
    sent.push_back(std::make_shared<TestTask>(send));
    tasks.push_back(sent.back());
  }
  world[0].engine.engine->submit(tasks);
  for (const TestTaskPtr& each : sent) EXPECT_EQ(each->wait(), "ok ");
  ASSERT_TRUE(world[0].all_taken().ok());
  wait_until(world[0], [](const State& state) { return unsettled_rows(state) == 0; });
  wait_until(world[1],
             [&](const State& state) { return last_taken(state, 0, kEverybody) == kMessages; });
  EXPECT_LT(world[0].commits() - sender_before, kMessages / 4);
  EXPECT_LT(world[1].commits() - receiver_before, kMessages / 4);
}

// Every partition counts what the others tell it; a message that worked twice or never, or out of
// order, would show.
TEST(Courier, EachMessageWorksOnceAndInOrderWhateverTheWayDoes) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Partitions world(seed, 60);
    constexpr uint32_t kRates = 40;
    for (uint32_t i = 1; i <= kRates; ++i)
      for (uint16_t k = 0; k < kPartitions; ++k) {
        const std::string queue = "q" + std::to_string(k);
        if (k == 0) {
          world[0].put("s", std::to_string(i));
        } else {
          QueueConfigured event;
          event.queue = queue;
          event.settings.rate_per_second = i;
          auto share = [&](Frame& frame) { share_queue_rate(frame, event); };
          ASSERT_TRUE(run_on_engine(*world[k].engine.engine, share, false).ok());
        }
        if (i == kRates / 2) world.restart(k);
      }
    for (uint16_t k = 1; k < kPartitions; ++k)
      wait_until(world[0], [&](const State& state) {
        const Queue* queue = state.find_queue("q" + std::to_string(k));
        return queue != nullptr && queue->settings.rate_per_second == kRates;
      });
    ASSERT_TRUE(world[0].all_taken().ok());
    uint64_t sent = 0;
    wait_until(world[0], [&](const State& state) {
      sent = last_sent(state, kEverybody);
      EXPECT_EQ(last_taken(state, 1, 0), kRates);
      EXPECT_EQ(last_taken(state, 2, 0), kRates);
      return true;
    });
    EXPECT_EQ(sent, 3 * kRates);
    for (uint16_t k = 1; k < kPartitions; ++k) {
      EXPECT_EQ(world[k].doc("s"), std::to_string(kRates));
      wait_until(world[k], [&](const State& state) {
        EXPECT_EQ(last_taken(state, 0, kEverybody), sent);
        for (const char* queue : {"q1", "q2"})
          EXPECT_EQ(state.find_queue(queue)->settings.rate_per_second, kRates);
        return true;
      });
    }
    for (uint16_t k = 0; k < kPartitions; ++k)
      wait_until(world[k], [](const State& state) { return unsettled_rows(state) == 0; });
  }
}

}  // namespace
}  // namespace pawl
