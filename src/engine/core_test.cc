#include "engine/core.h"

#include <gtest/gtest.h>

#include "engine/testing/core_world.h"
#include "kernel/jobs/queue.h"
#include "kernel/scripts/run.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"

namespace pawl {
namespace {

// D3: nothing leaves before it is durable.
TEST(Core, AnAnswerWaitsForItsCommit) {
  CoreWorld world;
  auto push = world.submit(push_task());
  EXPECT_EQ(push->outcome(), "waits");
  ClosedBatch closed = world.core->close_batch(false);
  EXPECT_EQ(push->outcome(), "waits");
  ASSERT_TRUE(world.store->commit(closed.batch).ok());
  world.core->committed(closed);
  Core::release(closed);
  EXPECT_EQ(push->outcome(), "ok pushed");
}

TEST(Core, ABatchIsOneRecordAndFramesThatDidNothingLeaveNoTrace) {
  CoreWorld world;
  for (int i = 0; i < 10; ++i) world.submit(push_task());
  world.submit(fetch_task({"other"}, 0));
  EXPECT_EQ(world.commit().batch.number, 1u);
  EXPECT_EQ(world.store->journal_last(), 1u);
  auto read = world.submit(ack_task("nobody"));
  EXPECT_TRUE(world.core->wants_commit());
  EXPECT_TRUE(world.commit().empty());
  EXPECT_EQ(read->outcome(), "ok nobody");
  EXPECT_EQ(world.store->journal_last(), 1u);
}

TEST(Core, DecidingGoesOnWhileABatchIsBeingCommitted) {
  CoreWorld world;
  auto first = world.submit(push_task(typed("a")));
  ClosedBatch closed = world.core->close_batch(true);
  auto second = world.submit(fetch_task({"q"}, 0));
  ASSERT_TRUE(world.store->commit(closed.batch).ok());
  world.core->committed(closed);
  Core::release(closed);
  EXPECT_EQ(first->outcome() + ", " + second->outcome(), "ok pushed, waits");
  world.commit(true);
  EXPECT_EQ(second->outcome(), "ok a");
  std::string digest = world.core->state().digest();
  world.crash();
  EXPECT_EQ(world.core->state().digest(), digest);
}

TEST(Core, AFullBatchSaysSo) {
  CoreConfig config;
  config.batch_bytes_max = 500;
  CoreWorld world(config);
  world.submit(push_task());
  EXPECT_FALSE(world.core->batch_full());
  for (int i = 0; i < 9; ++i) world.submit(push_task());
  EXPECT_TRUE(world.core->batch_full());
  world.commit();
  EXPECT_FALSE(world.core->batch_full());
}

// --- failed reads

// The current, waiting and later tasks are refused; nothing of them is closed.
TEST(CoreReading, AReadThatFailsEndsTheCoreNotTheProcess) {
  CoreConfig config;
  config.state.resident_jobs_max = 0;
  CoreWorld world(config);
  world.submit(push_task(typed("a")));
  world.flush();
  FailingStore store(*world.store);
  auto core = std::move(Core::open(store, config, world.clock, world.random)).value();
  auto before = push_task(typed("b"));
  core->decide(before);
  store.fail_reads(ErrorCode::StoreFailed);
  auto reader = ack_task("a");
  core->decide(reader);
  ASSERT_TRUE(core->unreadable().has_value());
  auto after = push_task(typed("c"));
  core->decide(after);
  EXPECT_FALSE(core->tick());
  ClosedBatch closed = core->close_batch(true);
  EXPECT_TRUE(closed.empty());
  Core::refuse(closed, *core->unreadable());
  EXPECT_EQ(before->outcome(), "refused store_failed");
  EXPECT_EQ(reader->outcome(), "refused store_failed");
  EXPECT_EQ(after->outcome(), "refused store_failed");
}

TEST(CoreReading, ARowThatMakesNoSenseIsDamage) {
  CoreConfig config;
  config.state.resident_jobs_max = 0;
  CoreWorld world(config);
  world.submit(push_task(typed("a")));
  world.flush();
  Batch damage;
  ASSERT_TRUE(world.store
                  ->scan(static_cast<uint8_t>(Space::Job), "", "", false, 1,
                         [&](std::string_view key, std::string_view) {
                           damage.writes.push_back(
                               {static_cast<uint8_t>(Space::Job), std::string(key), "\xff"});
                           return true;
                         })
                  .ok());
  ASSERT_EQ(damage.writes.size(), 1u);
  ASSERT_TRUE(world.store->commit(damage).ok());
  auto fetch = world.submit(fetch_task({"q"}, 0));
  ASSERT_TRUE(world.core->unreadable().has_value());
  EXPECT_EQ(world.core->unreadable()->code, ErrorCode::Corrupt);
  ClosedBatch closed = world.core->close_batch(false);
  Core::refuse(closed, *world.core->unreadable());
  EXPECT_EQ(fetch->outcome(), "refused corrupt");
}

// --- parking

TEST(Parking, AJobGoesToWhoHasWaitedLongest) {
  CoreWorld world;
  auto first = world.submit(fetch_task({"q"}, 1000));
  auto second = world.submit(fetch_task({"other", "q"}, 1000));
  auto third = world.submit(fetch_task({"q"}, 1000));
  EXPECT_EQ(world.core->parked(), 3u);
  world.submit(push_task(typed("a")));
  world.submit(push_task(typed("b")));
  world.commit();
  EXPECT_EQ(first->outcome(), "ok a");
  EXPECT_EQ(second->outcome(), "ok b");
  EXPECT_EQ(third->outcome(), "waits");
  EXPECT_EQ(world.core->parked(), 1u);
}

TEST(Parking, WhoeverCouldNotBeServedKeepsItsPlace) {
  CoreWorld world;
  world.submit(push_task(typed("limited", {.limit = "k", .limit_settings = {.concurrency = 1}})));
  world.submit(fetch_task({"q"}, 0));
  auto first = world.submit(fetch_task({"q"}, 1000));
  auto second = world.submit(fetch_task({"q"}, 1000));
  // Wakes the first, which finds it held back and parks again.
  world.submit(push_task(typed("held", {.limit = "k", .limit_settings = {.concurrency = 1}})));
  world.submit(push_task(typed("free")));
  world.commit();
  EXPECT_EQ(first->outcome() + ", " + second->outcome(), "ok free, waits");
}

TEST(Parking, TheLastCallAnswersWithWhatThereIs) {
  CoreWorld world;
  auto fetch = world.submit(fetch_task({"q"}, 1000));
  EXPECT_EQ(world.core->next_tick_ms(), 0) << "the first sweep is due";
  world.advance(999);
  world.commit();
  EXPECT_EQ(fetch->outcome(), "waits");
  EXPECT_EQ(world.core->next_tick_ms(), world.clock.now + 1);
  world.advance(1);
  world.commit();
  EXPECT_EQ(fetch->outcome(), "ok empty");
}

TEST(Parking, EveryWayToBecomeAvailableWakes) {
  CoreWorld world;
  world.submit(push_task(typed("later", {.scheduled_ms = world.clock.now + 500})));
  auto fetch = world.submit(fetch_task({"q"}, 10'000));
  world.advance(500);
  world.commit();
  EXPECT_EQ(fetch->outcome(), "ok later") << "promoted";
  fetch = world.submit(fetch_task({"q"}, 60'000));
  world.advance(kTestLeaseMs);
  world.commit();
  EXPECT_EQ(fetch->outcome(), "ok later") << "its lease ran out";
}

TEST(Parking, AResumedQueueWakes) {
  CoreWorld world;
  auto set_paused = [](bool paused) {
    return std::make_shared<TestTask>(
        [paused](Frame& frame, bool, std::string&) -> std::optional<Parking> {
          (void)configure_queue(frame, "q", [&](QueueSettings& s) { s.paused = paused; }).ok();
          return std::nullopt;
        });
  };
  world.submit(set_paused(true));
  world.submit(push_task(typed("a")));
  auto fetch = world.submit(fetch_task({"q"}, 1000));
  world.submit(push_task(typed("b")));
  EXPECT_EQ(world.core->parked(), 1u);
  world.submit(set_paused(false));
  world.commit();
  EXPECT_EQ(fetch->outcome(), "ok a");
}

TEST(Parking, AFreedConcurrencyKeyWakes) {
  CoreWorld world;
  LimitSettings one{.concurrency = 1};
  world.submit(push_task(typed("a", {.queue = "x", .limit = "k", .limit_settings = one})));
  world.submit(push_task(typed("b", {.queue = "y", .limit = "k", .limit_settings = one})));
  world.submit(fetch_task({"x"}, 0));
  auto fetch = world.submit(fetch_task({"y"}, 20'000));
  world.commit();
  EXPECT_EQ(fetch->outcome(), "waits");
  world.submit(ack_task("a"));
  world.commit();
  EXPECT_EQ(fetch->outcome(), "ok b");
}

TEST(Parking, ARateThatEndsIsTriedAgainAtThatTime) {
  CoreWorld world;
  world.submit(push_task(typed("a", {.queue_rate = 1})));
  world.submit(push_task(typed("b")));
  world.submit(fetch_task({"q"}, 0));
  auto fetch = world.submit(fetch_task({"q"}, 20'000));
  world.advance(999);
  world.commit();
  EXPECT_EQ(fetch->outcome(), "waits");
  world.advance(1);
  world.commit();
  EXPECT_EQ(fetch->outcome(), "ok b");
}

TEST(Parking, AFullLotMeansAnAnswerAtOnce) {
  CoreConfig config;
  config.parked_max = 1;
  CoreWorld world(config);
  auto parked = world.submit(fetch_task({"q"}, 1000));
  auto turned_away = world.submit(fetch_task({"q"}, 1000));
  world.commit();
  EXPECT_EQ(parked->outcome() + ", " + turned_away->outcome(), "waits, ok empty");
}

// A client that disconnected must not get a job.
TEST(Parking, NobodyLeasesForAClientThatHasGone) {
  CoreWorld world;
  auto gone = world.submit(fetch_task({"q"}, 1000));
  auto here = world.submit(fetch_task({"q"}, 1000));
  gone->abandon();
  world.submit(push_task(typed("a")));
  world.commit();
  EXPECT_EQ(gone->outcome() + ", " + here->outcome(), "waits, ok a");
}

// --- time

TEST(Core, TimeNeverGoesBackAlsoNotOverARestart) {
  CoreWorld world;
  world.clock.now += 60'000;
  world.submit(push_task(typed("a")));
  world.flush();
  world.clock.now -= 50'000;
  world.submit(push_task(typed("b")));
  world.commit();
  world.crash();
  world.submit(push_task(typed("c")));
  std::string created;
  world.core->state().each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
    created += std::to_string(job.created_ms - kWorldStartMs) + " ";
    return true;
  });
  EXPECT_EQ(created, "60000 60000 60000 ");
}

// A decision never sees an expired lease, even if no timer has fired.
TEST(Core, WhatIsDueHappensBeforeTheNextDecision) {
  CoreWorld world;
  world.submit(push_task(typed("a")));
  world.submit(fetch_task({"q"}, 0));
  world.clock.now += kTestLeaseMs;
  auto late = world.submit(ack_task("a"));
  auto next = world.submit(fetch_task({"q"}, 0, "w2"));
  world.commit();
  EXPECT_EQ(late->outcome() + ", " + next->outcome(), "ok nobody, ok a");
}

// --- restart

TEST(Core, ACleanRestartHasNothingToFold) {
  CoreWorld world;
  for (int i = 0; i < 100; ++i) world.submit(push_task());
  world.commit();
  world.submit(fetch_task({"q"}, 0));
  world.commit();
  std::string digest = world.core->state().digest();
  world.crash();
  EXPECT_EQ(world.core->recovery().records, 2u);
  EXPECT_EQ(world.core->state().digest(), digest);
  world.flush();
  world.crash();
  EXPECT_EQ(world.core->recovery().records, 0u);
  EXPECT_EQ(world.core->state().digest(), digest);
}

TEST(Core, WhatWasNotCommittedIsGone) {
  CoreWorld world;
  world.submit(push_task());
  world.commit();
  world.submit(push_task());
  world.crash();
  EXPECT_EQ(world.queue().depth(), 1u);
}

TEST(Core, TheTailStaysBoundedUnderLoad) {
  CoreConfig config;
  config.dirty_max = 10;
  config.rows_per_batch_max = 50;
  CoreWorld world(config);
  for (int i = 0; i < 200; ++i) {
    for (int j = 0; j < 5; ++j) world.submit(push_task());
    world.commit();
  }
  EXPECT_LE(world.core->state().dirty_count(), 20u);
  std::string digest = world.core->state().digest();
  world.crash();
  EXPECT_LE(world.core->recovery().records, 10u);
  EXPECT_EQ(world.core->state().digest(), digest);
}

// Nothing makes such keys; if something did, the server would otherwise never commit again.
TEST(Core, AKeyThatNoStoreTakesFailsNoCommit) {
  CoreWorld world;
  const std::string key(2 * kStoreKeyBytesMax, 'k');
  auto put = [](const std::string& name, const std::string& value) {
    return std::make_shared<TestTask>([=](Frame& frame, bool, std::string&) {
      put_doc(frame, DocKind::Pool, name, value);
      return std::nullopt;
    });
  };
  auto read = [](const std::string& name) {
    return std::make_shared<TestTask>([=](Frame& frame, bool, std::string& found) {
      const Doc* doc = frame.state().find_doc(DocKind::Pool, name);
      found = doc == nullptr ? "none" : doc->value;
      return std::nullopt;
    });
  };
  world.submit(put(key + "a", "1"));
  world.submit(put(key + "b", "2"));
  world.flush();
  world.crash();
  auto first = world.submit(read(key + "a"));
  auto second = world.submit(read(key + "b"));
  auto third = world.submit(read(key + "c"));
  world.commit();
  EXPECT_EQ(first->outcome() + ", " + second->outcome() + ", " + third->outcome(),
            "ok 1, ok 2, ok none");
}

TEST(Core, ADamagedJournalIsNotOpened) {
  CoreWorld world;
  world.submit(push_task());
  world.commit();
  Batch garbage;
  garbage.number = 2;
  garbage.journal = "PJ\x01 not a record";
  ASSERT_TRUE(world.store->commit(garbage).ok());
  auto opened = Core::open(*world.store, {}, world.clock, world.random);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, "journal record 2: checksum does not match");
}

TEST(Core, RowsAheadOfTheJournalAreNotOpened) {
  CoreWorld world;
  Batch marker;
  marker.writes.push_back(tail_write({journal::sequence(9, 0), 1}));
  ASSERT_TRUE(world.store->commit(marker).ok());
  auto opened = Core::open(*world.store, {}, world.clock, world.random);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, "the journal ends at record 0 but rows were written up to 8");
}

// --- retention

CoreConfig keeping(const RetentionConfig& retention) {
  CoreConfig config;
  config.retention = retention;
  config.retention.sweep_every_ms = 1000;
  return config;
}

void finish(CoreWorld& world, int count) {
  for (int i = 0; i < count; ++i) {
    world.clock.now += 1;
    world.submit(push_task(typed("a")));
    world.submit(fetch_task({"q"}, 0));
    world.submit(ack_task("a"));
    world.commit();
  }
}

TEST(Retention, FinishedJobsLeaveByAge) {
  CoreWorld world(keeping({.finished_ms = 60'000}));
  finish(world, 10);
  world.submit(push_task(typed("waiting")));
  world.advance(59'000);
  EXPECT_EQ(world.queue().finished_stored(), 10u);
  world.advance(2000);
  EXPECT_EQ(world.queue().finished_stored(), 0u);
  EXPECT_EQ(world.queue().depth(), 1u);
  world.flush();
  size_t rows = 0;
  ASSERT_TRUE(world.store
                  ->scan(static_cast<uint8_t>(Space::Job), "", "", false, 100,
                         [&](std::string_view, std::string_view) { return ++rows, true; })
                  .ok());
  EXPECT_EQ(rows, 1u);
}

TEST(Retention, FinishedJobsLeaveByCountOldestFirst) {
  CoreWorld world(keeping({.finished_ms = 0, .finished_max = 3}));
  finish(world, 10);
  world.advance(1000);
  EXPECT_EQ(world.queue().finished_stored(), 3u);
  std::string kept;
  world.core->state().each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
    return kept += std::to_string(job.created_ms - kWorldStartMs) + " ", true;
  });
  EXPECT_EQ(kept, "8 9 10 ");
}

TEST(Retention, NothingIsKeptBackByTheSizeOfOneStep) {
  CoreWorld world(keeping({.finished_ms = 60'000}));
  for (int i = 0; i < 3000; ++i) {
    world.submit(push_task(typed("a")));
    world.submit(fetch_task({"q"}, 0));
  }
  world.submit(
      std::make_shared<TestTask>([](Frame& frame, bool, std::string&) -> std::optional<Parking> {
        std::vector<JobId> all;
        frame.state().each_job(JobId(), false, SIZE_MAX,
                               [&](const Job& job) { return all.push_back(job.id), true; });
        for (const JobId& id : all) (void)ack_job(frame, {id, "", 0}, "").ok();
        return std::nullopt;
      }));
  world.flush();
  world.advance(70'000);
  EXPECT_EQ(world.queue().finished_stored(), 0u);
}

TEST(Retention, TheJournalIsTrimmedByCount) {
  CoreWorld world(keeping({.journal_ms = 0, .journal_records_max = 5}));
  finish(world, 20);
  world.flush();
  world.advance(1000);
  finish(world, 1);
  EXPECT_EQ(world.store->journal_first(), world.store->journal_last() - 5);
  std::string digest = world.core->state().digest();
  world.crash();
  EXPECT_EQ(world.core->state().digest(), digest);
}

TEST(Retention, TheJournalIsTrimmedByAge) {
  CoreWorld world(keeping({.finished_ms = 0, .journal_ms = 60'000}));
  finish(world, 20);
  world.flush();
  world.advance(30'000);
  finish(world, 5);
  world.flush();
  world.advance(30'000);
  finish(world, 1);
  EXPECT_EQ(world.store->journal_first(), 21u);
}

// Recovery needs the journal from the oldest unwritten row on, however old that is.
TEST(Retention, NeverTrimsPastTheTail) {
  CoreWorld world(keeping({.journal_ms = 1000, .journal_records_max = 2}));
  for (int i = 0; i < 20; ++i) {
    finish(world, 1);
    world.advance(5000);
  }
  EXPECT_EQ(world.store->journal_first(), 1u) << "no row was ever written";
  std::string digest = world.core->state().digest();
  world.commit();
  digest = world.core->state().digest();
  world.crash();
  EXPECT_EQ(world.core->state().digest(), digest);
  world.flush();
  world.advance(5000);
  finish(world, 1);
  EXPECT_GT(world.store->journal_first(), 15u);
  digest = world.core->state().digest();
  world.crash();
  EXPECT_EQ(world.core->state().digest(), digest);
}

}  // namespace
}  // namespace pawl
