// What is open, and who works on it.
#include "worldhost/outbox.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

OpenIntent open_intent(const std::string& hash, const std::string& kind, uint64_t seq,
                       uint32_t n = 0, int64_t deliver_at_ns = 0) {
  return {.hash = hash, .kind = kind, .seq = seq, .n = n, .deliver_at_ns = deliver_at_ns};
}

worlds::Adapter for_all() { return {}; }
worlds::Adapter only(std::vector<std::string> kinds) {
  worlds::Adapter adapter;
  adapter.only_kinds = true;
  adapter.kinds = std::move(kinds);
  return adapter;
}

std::string leased(Outbox& outbox, const std::string& adapter,
                   const std::vector<std::string>& kinds, size_t limit = 10, int64_t now_ms = 0) {
  std::string text;
  for (const std::string& hash : outbox.lease(adapter, kinds, limit, now_ms + 100, now_ms))
    text += hash + " ";
  return text;
}

TEST(Outbox, LeasesInEmissionOrderAcrossKinds) {
  Outbox outbox;
  outbox.put_adapter("a", for_all());
  outbox.add(open_intent("late", "mail.send", 9));
  outbox.add(open_intent("second", "pay.charge", 5, 3));
  outbox.add(open_intent("first", "mail.send", 5, 1));
  EXPECT_EQ(outbox.queued(), 3u);
  EXPECT_EQ(leased(outbox, "a", {"pay.charge", "mail.send"}, 2), "first second ");
  EXPECT_EQ(outbox.queued(), 1u);
  EXPECT_EQ(leased(outbox, "a", {"pay.charge", "mail.send"}), "late ");
  EXPECT_EQ(leased(outbox, "a", {"mail.send"}), "");
}

// By the names of kinds, a blob was looked for before it was put.
TEST(Outbox, BeginsItsOwnInEmissionOrderAcrossKinds) {
  Outbox outbox;
  outbox.add(open_intent("third", "blob.get", 6));
  outbox.add(open_intent("second", "run.start", 5, 4));
  outbox.add(open_intent("first", "job.run", 5, 1));
  std::string begun;
  for (OpenIntent intent; outbox.begin_own(intent);) begun += intent.hash + " ";
  EXPECT_EQ(begun, "first second third ");
}

TEST(Outbox, GivesALeaseThatRanOutToTheNext) {
  Outbox outbox;
  outbox.put_adapter("a", for_all());
  outbox.put_adapter("b", for_all());
  outbox.add(open_intent("x", "mail.send", 1));
  EXPECT_EQ(leased(outbox, "a", {"mail.send"}), "x ");
  EXPECT_EQ(outbox.next_expiry_ms(), 100);
  EXPECT_EQ(leased(outbox, "b", {"mail.send"}, 10, 99), "");
  EXPECT_EQ(leased(outbox, "b", {"mail.send"}, 10, 100), "x ");
  EXPECT_EQ(outbox.work_of("x").adapter_id, "b");
}

TEST(Outbox, NeverLeasesWhatWasSettled) {
  Outbox outbox;
  outbox.put_adapter("a", for_all());
  outbox.add(open_intent("x", "mail.send", 1));
  outbox.add(open_intent("y", "mail.send", 2));
  EXPECT_EQ(leased(outbox, "a", {"mail.send"}, 1), "x ");
  EXPECT_TRUE(outbox.remove("x"));
  EXPECT_FALSE(outbox.remove("x"));
  EXPECT_EQ(leased(outbox, "a", {"mail.send"}, 10, 1000), "y ");
  EXPECT_FALSE(outbox.work_of("x").inflight);
}

TEST(Outbox, BuiltInKindsAreTheServersUntilAnAdapterNamesThem) {
  Outbox outbox;
  outbox.put_adapter("all", for_all());
  outbox.add(open_intent("h", "http.request", 1));
  EXPECT_EQ(leased(outbox, "all", {"http.request"}), "");
  outbox.put_adapter("web", only({"http.request"}));
  OpenIntent own;
  EXPECT_FALSE(outbox.begin_own(own));
  EXPECT_EQ(leased(outbox, "web", {"http.request"}), "h ");
  outbox.remove_adapter("web");
  outbox.add(open_intent("i", "http.request", 2));
  ASSERT_TRUE(outbox.begin_own(own));
  EXPECT_EQ(own.hash, "i");
  EXPECT_EQ(outbox.work_of("i").adapter_id, "pawl");
  outbox.take_back_own("i");
  EXPECT_TRUE(outbox.begin_own(own));
}

TEST(Outbox, AnAdapterWithKindsHasOnlyThese) {
  Outbox outbox;
  outbox.put_adapter("mail", only({"mail.send"}));
  outbox.add(open_intent("m", "mail.send", 1));
  outbox.add(open_intent("p", "pay.charge", 2));
  EXPECT_EQ(leased(outbox, "mail", {"mail.send", "pay.charge"}), "m ");
  EXPECT_EQ(leased(outbox, "nobody", {"pay.charge"}), "");
}

TEST(Outbox, TimersWaitInTheOrderOfDeadlineAndHash) {
  Outbox outbox;
  outbox.put_adapter("t", only({"timer.set"}));
  outbox.add(open_intent("b", "timer.set", 1, 0, 50));
  outbox.add(open_intent("a", "timer.set", 2, 0, 50));
  outbox.add(open_intent("c", "timer.set", 3, 0, 10));
  EXPECT_EQ(outbox.due_timers(49, 10), (std::vector<std::string>{"c"}));
  EXPECT_EQ(outbox.due_timers(50, 10), (std::vector<std::string>{"c", "a", "b"}));
  EXPECT_EQ(outbox.queued(), 3u);  // a timer is queued work, whoever asks
  EXPECT_EQ(leased(outbox, "t", {"timer.set"}), "");
}

// After an outage of the store: what turned out to be settled is gone, leases that are out stay.
TEST(Outbox, RetainsWhatIsStillOpen) {
  Outbox outbox;
  outbox.put_adapter("a", for_all());
  outbox.add(open_intent("x", "mail.send", 1));
  outbox.add(open_intent("y", "mail.send", 2));
  EXPECT_EQ(leased(outbox, "a", {"mail.send"}, 1), "x ");
  outbox.retain({open_intent("x", "mail.send", 1)});
  EXPECT_EQ(outbox.size(), 1u);
  EXPECT_TRUE(outbox.work_of("x").inflight);
}

}  // namespace
}  // namespace pawl
