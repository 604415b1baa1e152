#include "engine/verify.h"

#include <gtest/gtest.h>

#include "engine/testing/core_world.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/jobs/queue.h"
#include "kernel/keys.h"
#include "kernel/scripts/run.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/settings.h"
#include "kernel/testing/run_world.h"
#include "plan/ojs/plan_node.h"

namespace pawl {
namespace {

constexpr auto nobody = [](uint64_t, uint64_t) {};

std::unique_ptr<Store> empty_store() {
  return std::move(open_memory(std::make_shared<MemoryDisk>())).value();
}

std::string told(Store& store) {
  auto scratch = empty_store();
  auto report = verify(store, *scratch, nobody);
  if (!report.ok()) return report.error().message;
  if (report->good()) return "good";
  return report->first_differences.empty() ? "other digest" : report->first_differences[0].text();
}

struct VerifyWorld : CoreWorld {
  using CoreWorld::CoreWorld;

  // Entities of every kind, partly flushed, partly only in the journal.
  void live() {
    for (int i = 0; i < 30; ++i) {
      clock.now += 1;
      submit(push_task(typed("t" + std::to_string(i), {.queue = i % 2 == 0 ? "q" : "other",
                                                       .limit = "k",
                                                       .limit_settings = {.concurrency = 9}})));
      if (i % 3 == 0) submit(fetch_task({"q"}, 0));
      if (i % 6 == 0) submit(ack_task("t0"));
      commit();
      if (i == 15) flush();
    }
    submit(
        std::make_shared<TestTask>([](Frame& frame, bool, std::string&) -> std::optional<Parking> {
          put_doc(frame, DocKind::Webhook, "hook", "{}");
          CronSpec cron;
          cron.name = "nightly";
          cron.expression = "0 3 * * *";
          cron.timezone = "UTC";
          cron.job = codec::encoded(new_job());
          PAWL_CHECK(put_cron(frame, cron).ok());
          return std::nullopt;
        }));
    commit();
  }
  // A chain that waits for its first step, with a timeout; flushed.
  void live_run() {
    submit(
        std::make_shared<TestTask>([](Frame& frame, bool, std::string&) -> std::optional<Parking> {
          PlanNode plan = chain({step(), step()});
          plan.timeout_ms = 60'000;
          PAWL_CHECK(create_run(frame, plan, "").ok());
          return std::nullopt;
        }));
    commit();
    flush();
  }
  void write(Space space, const std::string& key, std::optional<std::string> value) {
    Batch batch;
    batch.writes.push_back({static_cast<uint8_t>(space), key, std::move(value)});
    PAWL_CHECK(store->commit(batch).ok());
  }
  // The first row of a space.
  std::pair<std::string, std::string> row(Space space) {
    std::pair<std::string, std::string> found;
    PAWL_CHECK(store
                   ->scan(static_cast<uint8_t>(space), "", "", false, 1,
                          [&](std::string_view key, std::string_view value) {
                            return found = {std::string(key), std::string(value)}, false;
                          })
                   .ok());
    return found;
  }
};

TEST(Verify, AGoodStoreIsGood) {
  VerifyWorld world;
  EXPECT_EQ(told(*world.store), "good") << "an empty one";
  world.live();
  EXPECT_EQ(told(*world.store), "good") << "rows and tail";
  world.flush();
  EXPECT_EQ(told(*world.store), "good") << "rows only";
  auto scratch = empty_store();
  uint64_t last_done = 0;
  auto report = verify(*world.store, *scratch, [&](uint64_t done, uint64_t) { last_done = done; });
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->records, world.store->journal_last());
  EXPECT_EQ(last_done, report->records);
  EXPECT_EQ(report->entities, 30u + 2 + 1 + 1 + 1);
  EXPECT_EQ(report->entities_old, 0u);
  EXPECT_EQ(report->digest, world.core->state().digest());
  EXPECT_EQ(report->digest_replayed, report->digest);
  EXPECT_GT(report->index_entries, 25u);
}

TEST(Verify, ATemporaryStoreOnDiskServesAsWell) {
  VerifyWorld world;
  world.live();
  auto report = verify(*world.store, nobody);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->good());
}

TEST(Verify, ATamperedRowIsNamed) {
  VerifyWorld world;
  world.live();
  world.flush();
  auto [key, value] = world.row(Space::Job);
  Job job;
  std::string queue_name;
  ASSERT_TRUE(decode_job(value, job, queue_name));
  Queue queue(queue_name, 1);
  job.queue = &queue;
  job.result = "forged";
  world.write(Space::Job, key, encode_job(job));
  EXPECT_EQ(told(*world.store),
            "job " + job.id.text() + ": stored as of record " +
                std::to_string(journal::record_of(job.version)) + " event " +
                std::to_string(journal::index_of(job.version)) + ", replayed as of record " +
                std::to_string(journal::record_of(job.version)) + " event " +
                std::to_string(journal::index_of(job.version)) + ", with other content");
}

TEST(Verify, AMissingRowIsNamed) {
  for (auto [space, name] : {std::pair{Space::Queue, "queue "},
                             {Space::Limit, "limit k"},
                             {Space::Cron, "cron nightly"},
                             {Space::Doc, "document of kind 3 hook"}}) {
    VerifyWorld world;
    world.live();
    world.flush();
    world.write(space, world.row(space).first, std::nullopt);
    std::string line = told(*world.store);
    EXPECT_EQ(line.substr(0, std::string(name).size()), name);
    EXPECT_NE(line.find("stored not there, replayed as of"), std::string::npos) << line;
  }
}

TEST(Verify, AMissingJobIsNamedWithTheEntriesItLeft) {
  VerifyWorld world;
  world.live();
  world.flush();
  auto [key, value] = world.row(Space::Job);
  std::string id = Uuid::from_bytes(key)->text();
  world.write(Space::Job, key, std::nullopt);
  auto scratch = empty_store();
  auto report = verify(*world.store, *scratch, nobody);
  ASSERT_TRUE(report.ok());
  ASSERT_FALSE(report->good());
  EXPECT_NE(report->first_differences.back().text().find("job " + id + ": stored not there"),
            std::string::npos);
}

// A job without its ready entry would wait for ever.
TEST(Verify, AMissingOrForeignIndexEntryIsNamed) {
  VerifyWorld world;
  world.live();
  world.flush();
  std::string ready = world.row(Space::Ready).first;
  std::string id = Uuid::from_bytes(ready.substr(ready.size() - 16))->text();
  world.write(Space::Ready, ready, std::nullopt);
  EXPECT_EQ(told(*world.store).substr(0, 19 + id.size()), "ready entry of job " + id);
  world.write(Space::Ready, ready, "");
  EXPECT_EQ(told(*world.store), "good");
  world.write(Space::Due, due_row_key({5, TimerKind::Job, *Uuid::parse(id)}), "");
  EXPECT_EQ(told(*world.store).substr(0, 19 + id.size()), "timer entry of job " + id);
}

TEST(Verify, AnUnreadableRowIsNamed) {
  VerifyWorld world;
  world.live();
  world.flush();
  std::string key = world.row(Space::Job).first;
  world.write(Space::Job, key, "\xff");
  EXPECT_EQ(told(*world.store),
            "the row of job " + Uuid::from_bytes(key)->text() + " cannot be read");
}

// Copies a store record by record, changed on the way.
std::unique_ptr<Store> copy_of(Store& from, FunctionRef<void(uint64_t, std::string&)> change) {
  auto to = empty_store();
  PAWL_CHECK(from.read_journal(1, SIZE_MAX,
                               [&](uint64_t number, std::string_view bytes) {
                                 Batch batch;
                                 batch.number = number;
                                 batch.journal = bytes;
                                 change(number, batch.journal);
                                 PAWL_CHECK(to->commit(batch).ok());
                                 return true;
                               })
                 .ok());
  for (int space = 0; space < 256; ++space)
    PAWL_CHECK(from.scan(static_cast<uint8_t>(space), "", "", false, SIZE_MAX,
                         [&](std::string_view key, std::string_view value) {
                           Batch batch;
                           batch.writes.push_back(
                               {static_cast<uint8_t>(space), std::string(key), std::string(value)});
                           PAWL_CHECK(to->commit(batch).ok());
                           return true;
                         })
                   .ok());
  return to;
}

TEST(Verify, ATamperedRecordIsNamed) {
  VerifyWorld world;
  world.live();
  world.flush();
  auto flipped = copy_of(*world.store, [](uint64_t number, std::string& record) {
    if (number == 7) record[record.size() / 2] ^= 1;
  });
  EXPECT_EQ(told(*flipped), "journal record 7: checksum does not match");
  auto emptied = copy_of(*world.store, [](uint64_t number, std::string& record) {
    if (number == 7) record = journal::RecordWriter(7).finish();
  });
  EXPECT_NE(told(*emptied), "good") << "a well-formed record that says something else";
  auto same = copy_of(*world.store, [](uint64_t, std::string&) {});
  EXPECT_EQ(told(*same), "good");
}

// Retention removed the journal's beginning: older entities cannot be compared, the rest must
// match.
TEST(Verify, WhatIsOlderThanTheJournalIsCountedNotJudged) {
  CoreConfig config;
  config.retention.journal_records_max = 10;
  config.retention.sweep_every_ms = 100;
  VerifyWorld world(config);
  world.live();
  world.flush();
  world.advance(100);
  world.submit(push_task(typed("young", {.queue = "young"})));
  world.flush();
  ASSERT_GT(world.store->journal_first(), 1u);
  auto scratch = empty_store();
  auto report = verify(*world.store, *scratch, nobody);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->good()) << report->first_differences[0].text();
  EXPECT_GT(report->entities_old, 15u);
  EXPECT_GE(report->entities, 10u);
  EXPECT_EQ(report->digest_replayed, "");

  Queue young("young", 1);
  auto row = world.store->get(static_cast<uint8_t>(Space::Queue), "young");
  ASSERT_TRUE(decode_queue(row->value(), young));
  young.dead = 5;
  world.write(Space::Queue, "young", encode_queue(young));
  EXPECT_EQ(told(*world.store).substr(0, 12), "queue young:");
}

// A run, its timer and its plans: each can be missing or changed by itself.
TEST(Verify, RunsAreCompared) {
  VerifyWorld world;
  world.live_run();
  EXPECT_EQ(told(*world.store), "good");
  auto [key, value] = world.row(Space::Run);
  std::string id = RunId(*Uuid::from_bytes(key)).text();

  pawl::Run other;
  ASSERT_TRUE(decode_run(value, other));
  other.completed = 1;
  world.write(Space::Run, key, encode_run(other));
  EXPECT_EQ(told(*world.store).substr(0, 41), "run " + id + ":");
  world.write(Space::Run, key, value);

  auto [plan_key, plan] = world.row(Space::RunChild);
  world.write(Space::RunChild, plan_key, std::nullopt);
  EXPECT_EQ(told(*world.store).substr(0, 44), "plan of run " + id.substr(0, 32));
  PlanNode changed;
  ASSERT_TRUE(codec::decode(plan, changed));
  changed.when = "false";
  world.write(Space::RunChild, plan_key, codec::encoded(changed));
  EXPECT_EQ(told(*world.store).substr(0, 41), "run " + id + ":");
  world.write(Space::RunChild, plan_key, plan);

  auto [due_key, nothing] = world.row(Space::Due);
  world.write(Space::Due, due_key, std::nullopt);
  EXPECT_EQ(told(*world.store).substr(0, 19), "timer entry of run ");
  world.write(Space::Due, due_key, "");
  due_key[7] ^= 1;
  world.write(Space::Due, due_key, "");
  EXPECT_EQ(told(*world.store).substr(0, 19), "timer entry of run ");
  world.write(Space::Due, due_key, std::nullopt);
  EXPECT_EQ(told(*world.store), "good");

  world.write(Space::Run, key, std::nullopt);
  EXPECT_EQ(told(*world.store).substr(0, 12), "plan of run ");
}

}  // namespace
}  // namespace pawl
