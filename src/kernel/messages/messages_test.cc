// Messages between partitions, and the settings that they copy.
#include <gtest/gtest.h>

#include "base/partition.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/inbox.h"
#include "kernel/messages/outbox.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/testing/post.h"

namespace pawl {
namespace {

StateConfig partition_config(uint16_t partition, uint16_t partitions = 3) {
  StateConfig config;
  config.partition = partition;
  config.partitions = partitions;
  return config;
}

struct ThreePartitions {
  World zero{partition_config(0)};
  World one{partition_config(1)};
  World two{partition_config(2)};
  Post post{{&zero, &one, &two}};

  std::string put(const std::string& key, const std::string& value,
                  DocKind kind = DocKind::Secret) {
    return zero.frame([&](Frame& frame) { return put_doc(frame, kind, key, value), ""; });
  }
};

std::string doc_of(const World& world, const std::string& key, DocKind kind = DocKind::Secret) {
  const Doc* doc = world.state().find_doc(kind, key);
  return doc == nullptr ? "none" : doc->value;
}

// A key whose home among three partitions is this one.
std::string key_at_home(NameKind kind, uint16_t home) {
  for (int i = 0;; ++i) {
    std::string key = "key" + std::to_string(i);
    if (home_of(kind, "", key, 3) == home) return key;
  }
}

// With one partition there is nobody to tell: not a byte more is journaled.
TEST(Messages, OnePartitionSendsNothing) {
  World alone(partition_config(0, 1));
  alone.frame([](Frame& frame) { return put_doc(frame, DocKind::Secret, "s", "1"), ""; });
  alone.configure("q", [](QueueSettings& queue) { queue.paused = true; });
  alone.push(new_job({.queue_rate = 5}));
  alone.state().each_doc_key(DocKind::Outbox, "", 10, [](std::string_view) {
    ADD_FAILURE() << "a message";
    return true;
  });
  EXPECT_EQ(last_sent(alone.state(), kEverybody), 0u);
  EXPECT_FALSE(alone.mutable_state().take_new_messages());
}

TEST(Messages, SettingsOfPartitionZeroReachEveryJournal) {
  ThreePartitions world;
  for (DocKind kind : {DocKind::ApiKey, DocKind::Schema, DocKind::Webhook, DocKind::Pool,
                       DocKind::Definition, DocKind::Secret, DocKind::Maintenance}) {
    world.put("k", "v", kind);
    EXPECT_TRUE(world.zero.mutable_state().take_new_messages());
    EXPECT_EQ(world.post.carry_all(), 2u);
    EXPECT_EQ(doc_of(world.one, "k", kind), "v");
    EXPECT_EQ(doc_of(world.two, "k", kind), "v");
  }
  world.zero.frame([](Frame& frame) {
    EXPECT_TRUE(delete_doc(frame, DocKind::Secret, "k").ok());
    return "";
  });
  world.zero.configure("q", [](QueueSettings& queue) { queue.paused = true; });
  world.post.carry_all();
  EXPECT_EQ(doc_of(world.one, "k"), "none");
  ASSERT_NE(world.two.state().find_queue("q"), nullptr);
  EXPECT_TRUE(world.two.state().find_queue("q")->settings.paused);
  EXPECT_EQ(world.post.unsettled(), 0u);
}

// What a partition decides about its own things is nobody else's.
TEST(Messages, OnlySettingsAreCopied) {
  ThreePartitions world;
  world.put("cursor", "v1.7", DocKind::Webhook);
  for (DocKind kind : {DocKind::Idempotency, DocKind::Decision, DocKind::Breaker, DocKind::World,
                       DocKind::WorldItem})
    world.put("k", "v", kind);
  world.one.frame([](Frame& frame) { return put_doc(frame, DocKind::Secret, "k", "v"), ""; });
  world.zero.push();
  EXPECT_EQ(world.post.unsettled(), 0u);
}

TEST(Messages, OlderOnesAreIgnoredAndAGapIsRefused) {
  ThreePartitions world;
  world.put("a", "1");
  world.put("a", "2");
  EXPECT_EQ(world.post.offer(0, 1, true, 2),
            "rejected conflict: messages of partition 0 are missing: after 0 came 2");
  world.post.offer(0, 1, true, 1);
  world.post.offer(0, 1, true, 2);
  EXPECT_EQ(world.post.offer(0, 1, true, 1), "old");
  EXPECT_EQ(doc_of(world.one, "a"), "2");
  EXPECT_EQ(last_taken(world.one.state(), 0, kEverybody), 2u);
  EXPECT_EQ(last_taken(world.two.state(), 0, kEverybody), 0u);
}

// One row serves all receivers: it stays until the last of them has taken it.
TEST(Messages, AMessageToEverybodyIsKeptForTheSlowest) {
  ThreePartitions world;
  world.put("a", "1");
  world.post.next(0, 1);
  world.post.settle();
  EXPECT_EQ(world.post.unsettled(), 1u);
  EXPECT_EQ(first_unsettled(world.zero.state(), kEverybody), 1u);
  world.post.next(0, 2);
  world.post.settle();
  EXPECT_EQ(world.post.unsettled(), 0u);
  EXPECT_EQ(first_unsettled(world.zero.state(), kEverybody), 2u);
}

TEST(Messages, ARestartKeepsWhatIsOwedAndWhatWasTaken) {
  ThreePartitions world;
  world.put("a", "1");
  world.put("b", "2");
  world.post.next(0, 1);
  for (bool with_rows : {false, true}) {
    for (World* each : {&world.zero, &world.one}) {
      if (with_rows) each->collect(100), each->commit_rows(), each->evict();
      const std::string before = each->state().digest();
      each->restart();
      EXPECT_EQ(each->state().digest(), before);
    }
    EXPECT_EQ(world.post.unsettled(), 2u);
    EXPECT_FALSE(world.zero.mutable_state().take_new_messages());
  }
  EXPECT_EQ(world.post.offer(0, 1, true, 1), "old");
  world.post.carry_all();
  EXPECT_EQ(doc_of(world.one, "b"), "2");
  EXPECT_EQ(doc_of(world.two, "a"), "1");
  EXPECT_EQ(world.post.unsettled(), 0u);
}

// Its jobs are all at its home, so nobody else needs what a push there sets.
TEST(Messages, LimitsOfPartitionZeroStayThere) {
  ThreePartitions world;
  auto configure = [&](const std::string& key) {
    world.zero.frame([&](Frame& frame) {
      return frame.emit(LimitConfigured{key, {.concurrency = 2}}), "";
    });
    return world.post.carry_all();
  };
  EXPECT_EQ(configure(key_at_home(NameKind::Limit, 0)), 0u);
  const std::string elsewhere = key_at_home(NameKind::Limit, 2);
  EXPECT_EQ(configure(elsewhere), 2u);
  EXPECT_EQ(world.two.state().find_limit(elsewhere)->settings.concurrency, 2u);
}

// A push may bring a rate for its queue: the others hear of it by partition 0, and what an operator
// has set meanwhile stays.
TEST(Messages, ARateThatAPushBringsIsKnownEverywhere) {
  ThreePartitions world;
  world.zero.configure("q", [](QueueSettings& queue) { queue.depth_max = 9; });
  world.one.push(new_job({.queue_rate = 5}));
  world.post.carry_all();
  for (World* each : {&world.zero, &world.one, &world.two}) {
    EXPECT_EQ(each->state().find_queue("q")->settings.rate_per_second, 5u);
    EXPECT_EQ(each->state().find_queue("q")->settings.depth_max, 9u);
  }
}

// Clients hear of a pause once, from the journal of partition 0.
TEST(Messages, ACopiedPauseIsMarked) {
  ThreePartitions world;
  world.zero.configure("q", [](QueueSettings& queue) { queue.paused = true; });
  world.post.carry_all();
  auto copied = [](const World& of) {
    bool marked = false;
    auto events = journal::read_record(of.journal().size(), of.journal().back());
    for (const auto& event : *events)
      if (QueueConfigured found; event.type == EventType::QueueConfigured)
        marked = codec::decode(event.bytes, found) && found.copied;
    return marked;
  };
  EXPECT_TRUE(copied(world.one));
}

TEST(Messages, AnUnknownKindIsRefusedAndComesAgain) {
  ThreePartitions world;
  world.zero.frame([](Frame& frame) {
    return send_message(frame, 1, {static_cast<MessageKind>(250), ""}), "";
  });
  EXPECT_EQ(world.post.offer(0, 1, false, 1),
            "rejected corrupt: message 1 of partition 0 has an unknown kind (250)");
  EXPECT_EQ(last_taken(world.one.state(), 0, 1), 0u);
}

}  // namespace
}  // namespace pawl
