// Rows: moving entities between memory and disk never changes the state (I2).
#include <gtest/gtest.h>

#include "kernel/cold.h"
#include "kernel/id_table.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/spill_index.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/random_life.h"

namespace pawl {
namespace {

StateConfig tiny() {
  StateConfig config;
  config.resident_jobs_max = config.resident_runs_max = 2;
  config.ready_window_max = 4;
  config.timer_window_max = 4;
  config.docs_max = 1;
  return config;
}

std::string digest_from_genesis(const World& world) {
  MapCold nothing;
  MutableState state(nothing, StateConfig{});
  PAWL_CHECK(world.fold(state, 1).ok());
  return state.digest();
}

std::string digest_after_a_crash(const World& world) {
  MapCold disk;
  disk.rows = world.cold.rows;
  return world.recovered(disk)->digest();
}

// Flushes, evicts and restarts at arbitrary moments.
void disturb(World& world, uint64_t draw) {
  switch (draw % 8) {
    case 0:
    case 1:
      return world.collect(1 + draw / 8 % 9);
    case 2:
      world.commit_rows();
      return world.evict();
    case 3:
      return world.commit_rows();
    case 4:
      return world.evict();
    case 5:
      if (draw / 8 % 10 == 0) world.restart();
      return;
    default:
      return;
  }
}

TEST(Rows, WhereAnEntityIsChangesNoAnswer) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World plain;
    World spilled(tiny());
    for (uint64_t i = 0; i < 400; ++i) {
      uint64_t draw = mix64(seed << 32 | i);
      std::string expected = RandomLife(draw).step(plain);
      ASSERT_EQ(RandomLife(draw).step(spilled), expected) << "seed " << seed << " step " << i;
      disturb(spilled, mix64(draw));
    }
    ASSERT_EQ(spilled.state().digest(), plain.state().digest()) << "seed " << seed;
  }
}

TEST(Rows, RowsAndTailGiveTheStateOfTheWholeJournal) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    World world(tiny());
    for (uint64_t i = 0; i < 300; ++i) {
      uint64_t draw = mix64(seed << 40 | i);
      RandomLife(draw).step(world);
      disturb(world, mix64(draw));
      if (draw % 8 != 0) continue;
      std::string digest = world.state().digest();
      ASSERT_EQ(digest_after_a_crash(world), digest) << "seed " << seed << " step " << i;
      ASSERT_EQ(digest_from_genesis(world), digest) << "seed " << seed << " step " << i;
    }
  }
}

// When everything is written, finished and deleted, the disk holds no orphaned entry.
TEST(Rows, IndexRowsLeaveWithTheirJobs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World world(tiny());
    for (uint64_t i = 0; i < 300; ++i) {
      uint64_t draw = mix64(seed << 48 | i);
      RandomLife(draw).step(world);
      disturb(world, mix64(draw));
    }
    for (int i = 1; i < 500; ++i)
      world.frame([&](Frame& frame) {
        RunId run = world.names.run_id("r" + std::to_string(i));
        return world.refused(cancel_run(frame, run, "asked"));
      });
    for (int again = 0; again < 4; ++again)  // cancelled runs may fire callbacks under an old id
      for (int i = 1; i < 2000; ++i)
        for (const char* kind : {"j", "r"})  // an id may be a run first and then a job
          world.cancel(kind + std::to_string(i));
    world.frame([&](Frame& frame) {
      RunId cursor;
      forget_runs(frame, world.now_ms, 10'000, cursor);
      forget_jobs(frame, {.from = JobId(),
                          .finished_before_ms = world.now_ms,
                          .at_most = 10'000,
                          .scan_max = 10'000});
      return std::string();
    });
    for (int i = 0; i < 50; ++i) world.commit_rows();
    world.collect(SIZE_MAX);
    world.commit_rows();
    for (Space space : {Space::Job, Space::Run, Space::RunChild, Space::Ready, Space::Due,
                        Space::Unique, Space::Dead})
      EXPECT_TRUE(world.cold.rows[space].empty())
          << "seed " << seed << " space " << static_cast<int>(space);
    EXPECT_EQ(world.state().tail_start(99), 99u);
  }
}

// Memory stays bounded when the backlog does not: this is what makes a million waiting jobs cheap.
TEST(Rows, MemoryIsBoundedWhateverTheBacklog) {
  World world(tiny());
  for (int i = 0; i < 500; ++i) {
    world.push({new_job(), new_job({.scheduled_ms = world.now_ms + 1000 + i})});
    world.collect(100);
    world.commit_rows();
    world.evict();
    ASSERT_LE(world.state().counts().jobs_resident, 2u);
    ASSERT_LE(world.state().find_queue("q")->ready->resident(), 5u);
  }
  for (int i = 1; i <= 500; ++i) {
    ASSERT_EQ(world.fetch(), "JobLeased(j" + std::to_string(2 * i - 1) + " w1 #1)");
    if (i % 50 == 0) world.collect(1000), world.commit_rows(), world.evict();
  }
}

// Few jobs may be many bytes.
TEST(Rows, MemoryIsBoundedWhateverTheJobsHold) {
  StateConfig config;
  config.resident_job_bytes_max = 20'000;
  World world(config);
  for (int i = 0; i < 100; ++i) {
    world.push({new_job({.type = std::string(3'000, 't')})});
    world.collect(100);
    world.commit_rows();
    world.evict();
    ASSERT_LE(world.state().counts().jobs_resident, 7u);
  }
  EXPECT_EQ(world.fetch(2), "JobLeased(j1 w1 #1) | JobLeased(j2 w1 #1)");
}

StoredDefinition definition(const std::string& version, size_t text_bytes) {
  StoredDefinition stored;
  stored.name = "d";
  stored.version = version;
  stored.canonical = std::string(text_bytes, ' ');
  stored.description = "of " + version;
  return stored;
}

void put_definition(World& world, const StoredDefinition& stored) {
  world.frame([&](Frame& frame) {
    put_doc(frame, DocKind::Definition, definition_key(stored.name, stored.version),
            codec::encoded(stored));
    return "";
  });
}

void to_disk(World& world) {
  world.collect(SIZE_MAX);
  world.commit_rows();
  world.evict();
}

// Most documents are small, but not all.
TEST(Rows, MemoryIsBoundedWhateverTheDocumentsHold) {
  StateConfig config;
  config.resident_doc_bytes_max = 250'000;
  World world(config);
  auto reads_of = [&](const std::string& version) {
    const size_t before = world.cold.gets[Space::Doc];
    const Doc* doc = world.state().find_doc(DocKind::Definition, definition_key("d", version));
    EXPECT_GT(doc->value.size(), 100'000u);
    return world.cold.gets[Space::Doc] - before;
  };
  for (const char* version : {"v1", "v2"}) put_definition(world, definition(version, 100'000));
  to_disk(world);
  EXPECT_EQ(reads_of("v1") + reads_of("v2"), 0u);
  put_definition(world, definition("v3", 100'000));
  to_disk(world);
  EXPECT_EQ(reads_of("v1") + reads_of("v2") + reads_of("v3"), 3u);
  EXPECT_EQ(reads_of("v1") + reads_of("v2") + reads_of("v3"), 0u);
  world.evict();
  EXPECT_EQ(reads_of("v1"), 1u);
}

TEST(Rows, WhatAListShowsOfADefinitionIsReadOffItsTextOnce) {
  World world;
  put_definition(world, definition("v1", 1000));
  put_definition(world, definition("v2", 1000));
  to_disk(world);
  world.restart();
  const std::string key = definition_key("d", "v1");
  size_t keys = 0;
  const size_t reads = world.cold.gets[Space::Doc];
  world.state().each_doc_key(DocKind::Definition, "", 100,
                             [&](std::string_view) { return ++keys, true; });
  EXPECT_EQ(keys, 2u);
  EXPECT_EQ(world.cold.gets[Space::Doc], reads);
  size_t bytes_read = 0;
  EXPECT_EQ(world.state().definition_head(key, bytes_read)->description, "of v1");
  EXPECT_GT(bytes_read, 1000u);
  bytes_read = 0;
  EXPECT_EQ(world.state().definition_head(key, bytes_read)->description, "of v1");
  EXPECT_EQ(bytes_read, 0u);
  StoredDefinition gone = definition("v1", 1000);
  gone.removed = true;
  put_definition(world, gone);
  EXPECT_TRUE(world.state().definition_head(key, bytes_read)->removed);
  EXPECT_FALSE(world.state().definition_head(definition_key("d", "v3"), bytes_read).has_value());
}

TEST(Rows, AScanLooksAtSoManyBytesOfJobs) {
  World world;
  for (int i = 0; i < 4; ++i) world.push(new_job({.type = std::string(12u << 20, 't')}));
  size_t seen = 0;
  auto count = [&](const Job&) { return ++seen, true; };
  JobId go_on = world.state().each_job(JobId(), false, 100, count);
  EXPECT_EQ(seen, 3u);
  ASSERT_FALSE(go_on.is_nil());
  EXPECT_TRUE(world.state().each_job(go_on, false, 100, count).is_nil());
  EXPECT_EQ(seen, 4u);
  EXPECT_TRUE(world.state().each_job(JobId(), false, SIZE_MAX, count).is_nil());
  EXPECT_EQ(seen, 8u);
}

// A window that grew by reading back what was not yet flushed must shrink again like any other.
TEST(Rows, AWindowFilledByReadingBackShrinksToo) {
  World world(tiny());
  for (int i = 0; i < 10; ++i) world.push();
  world.evict();
  for (int i = 0; i < 3; ++i) world.fetch();
  for (int i = 0; i < 100; ++i) world.push();
  world.collect(SIZE_MAX);
  world.commit_rows();
  world.evict();
  EXPECT_LE(world.state().find_queue("q")->ready->resident(), 5u);
  EXPECT_EQ(world.fetch(2), "JobLeased(j4 w1 #1) | JobLeased(j5 w1 #1)");
}

TEST(Rows, ARowThatCannotBeReadIsCorrupt) {
  for (Space space : {Space::Queue, Space::Limit, Space::Cron}) {
    MapCold disk;
    disk.rows[space]["k"] = "\xff";
    MutableState state(disk, StateConfig{});
    Status loaded = state.load();
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, ErrorCode::Corrupt);
    EXPECT_NE(loaded.error().message.find("\"k\""), std::string::npos) << loaded.error().message;
  }
}

TEST(Rows, AnEventThatCannotBeReadIsCorrupt) {
  MapCold nothing;
  MutableState state(nothing, StateConfig{});
  Status folded = state.fold({.sequence = journal::sequence(7, 3),
                              .time_ms = 1,
                              .type = EventType::JobLeased,
                              .bytes = "\xff",
                              .first_of_frame = true});
  ASSERT_FALSE(folded.ok());
  EXPECT_EQ(folded.error().message, "journal record 7: event 3 (JobLeased) cannot be read");
}

}  // namespace
}  // namespace pawl
