// The simulated disk keeps its guarantees; and SQLite on it survives a crash at every single
// operation of a short run, for every outcome of unsynced writes.
#include <gtest/gtest.h>

#include "engine/core.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/frame.h"
#include "kernel/jobs/fetch_jobs.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/effect_request.h"
#include "sim/audit.h"
#include "sim/sim_vfs.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace pawl::sim {
namespace {

// --- the file

std::string content(const SimDiskFile& file) {
  std::string bytes(file.size(), '\0');
  EXPECT_EQ(file.read(0, bytes.data(), bytes.size()), bytes.size());
  return bytes;
}

TEST(SimDiskFile, WhatWasSyncedStaysAndWhatWasNotIsLeftInWholeSectors) {
  const std::string old(2'000, 'o'), young(2'000, 'y');
  bool some_torn = false;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SimRandom random(seed);
    SimDiskFile file;
    file.write(0, old);
    file.sync();
    file.write(0, young);
    CrashLosses losses = file.crash(Survival::Subset, random);
    const std::string left = content(file);
    ASSERT_EQ(left.size(), 2'000u);
    for (size_t at = 0; at < left.size(); ++at)
      ASSERT_EQ(left[at], left[at / 512 * 512]) << "a sector is torn";
    EXPECT_EQ(losses.lost, left != young);
    EXPECT_EQ(losses.torn, left != young && left != old);
    some_torn |= losses.torn;
  }
  EXPECT_TRUE(some_torn);
}

TEST(SimDiskFile, ALieIsOnlySeenAfterACrash) {
  SimRandom random(1);
  SimDiskFile file;
  file.write(0, "abc");
  file.lie();
  EXPECT_EQ(content(file), "abc");
  EXPECT_TRUE(file.crash(Survival::None, random).lied);
  EXPECT_EQ(content(file), "");
}

TEST(SimDiskFile, AFailedSyncIsNotCuredByTheNextOne) {
  bool lost = false;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimRandom random(seed);
    SimDiskFile file;
    file.write(0, "abc");
    file.fail_sync(random);
    file.sync();
    file.crash(Survival::All, random);
    lost |= content(file).empty();
  }
  EXPECT_TRUE(lost);
}

// Disk and page cache differ after a failed sync: a flipped bit must not make them equal.
TEST(SimDiskFile, RotIsNoCureOfAFailedSync) {
  bool lost = false;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimRandom random(seed);
    SimDiskFile file;
    file.write(0, "ab");
    file.sync();
    file.write(2, "cd");
    file.fail_sync(random);
    std::string rotten = content(file);
    rotten[1] = 'B';
    file.rot(rotten);
    EXPECT_EQ(content(file), rotten);
    file.crash(Survival::All, random);
    EXPECT_EQ(content(file).substr(0, 2), "aB");
    lost |= content(file) == "aB" && rotten == "aBcd";
  }
  EXPECT_TRUE(lost);
}

// --- a short run of the engine, as the batches that it commits

class Act : public Task {
 public:
  explicit Act(std::function<void(Frame&)> act) : act_(std::move(act)) {}
  std::optional<Parking> decide(Frame& frame, bool) override {
    act_(frame);
    return std::nullopt;
  }
  void durable(Wakes&) override {}
  void refuse(const Error&) override {}

 private:
  std::function<void(Frame&)> act_;
};

CoreConfig small_core() {
  CoreConfig config;
  config.state.resident_jobs_max = 4;
  config.dirty_max = 3;
  config.rows_per_batch_max = 12;
  config.tail_bytes_max = 1'500;
  config.retention.journal_records_max = 5;
  config.retention.sweep_every_ms = 1;
  return config;
}

NewJob new_job(const std::string& queue) {
  NewJob job;
  job.queue = queue;
  job.max_attempts = 2;
  job.type = "t";
  job.spec = codec::encoded(JobSpec{});
  return job;
}

PlanNode chain() {
  PlanNode plan, step;
  plan.kind = NodeKind::Run;
  plan.run_kind = RunKind::Chain;
  plan.name = "r";
  step.job = codec::encoded(new_job("q"));
  plan.children = {codec::encoded(step), codec::encoded(step)};
  plan.job_count = 2;
  return plan;
}

void work_one(Frame& frame) {
  for (const JobId& id : fetch_jobs(frame, {{"q"}, 2, "w", 0, 30'000}).jobs) {
    const Job* job = frame.state().find_job(id);
    PAWL_CHECK(job != nullptr);
    const LeaseClaim claim{id, "w", job->attempt};
    PAWL_CHECK(ack_job(frame, claim, "\"done\"").ok());
  }
}

std::vector<Batch> short_life() {
  auto store = open_memory(std::make_shared<MemoryDisk>());
  SimClock clock(1'767'225'600'000);
  SimRandom random(7);
  auto core = Core::open(**store, small_core(), clock, random);
  PAWL_CHECK(core.ok());
  std::vector<Batch> batches;
  for (int i = 0; i < 12; ++i) {
    (*core)->decide(std::make_shared<Act>([&](Frame& frame) {
      if (i % 3 == 0) PAWL_CHECK(push_jobs(frame, {new_job("q"), new_job("q")}).ok());
      if (i % 4 == 1) PAWL_CHECK(create_run(frame, chain(), "").ok());
      if (i % 3 != 0) work_one(frame);
    }));
    clock.move(10);
    (*core)->tick();
    ClosedBatch closed = (*core)->close_batch(i % 5 == 4);
    PAWL_CHECK((*store)->commit(closed.batch).ok());
    if (!closed.empty()) batches.push_back(closed.batch);
    (*core)->committed(closed);
    Core::release(closed);
  }
  return batches;
}

// Every row and record of a store, as one text.
std::string dump(Store& store) {
  std::string text;
  for (int space = 0; space < 256; ++space)
    EXPECT_TRUE(store.scan(static_cast<uint8_t>(space), "", "", false, SIZE_MAX,
                           [&](std::string_view key, std::string_view value) {
                             text += std::to_string(space) + ":" + std::string(key) + "=" +
                                     std::string(value) + "\n";
                             return true;
                           }));
  EXPECT_TRUE(store.read_journal(0, SIZE_MAX, [&](uint64_t number, std::string_view record) {
    text += "record " + std::to_string(number) + ":" + std::string(record) + "\n";
    return true;
  }));
  return text;
}

struct Life {
  std::vector<Batch> batches = short_life();
  std::vector<std::string> dumps;  // by number of batches

  Life() {
    auto store = open_memory(std::make_shared<MemoryDisk>());
    dumps.push_back(dump(**store));
    for (const Batch& batch : batches) {
      PAWL_CHECK((*store)->commit(batch).ok());
      dumps.push_back(dump(**store));
    }
  }
};

struct TestDisk {
  Verdict verdict{false};
  SimVfs files;
  SqliteOptions options;

  explicit TestDisk(uint64_t seed) : files(seed, verdict, Plants{}, [](int64_t) {}) {
    options.base_vfs = files.name();
    options.page_bytes = 512;
    options.checkpoint.start_bytes = 12 << 10;
    options.checkpoint.finish_bytes = 0;
    options.checkpoint.in_commit = true;
  }
  Result<std::unique_ptr<Store>> open() { return open_sqlite("sim", options); }
};

// Commits batches from the `done`-th on until one fails; returns how many were acknowledged.
size_t live(Store& store, const Life& life, size_t done) {
  while (done < life.batches.size() && store.commit(life.batches[done]).ok()) ++done;
  return done;
}

void check_replay(Store& store, const Life& life) {
  Verdict verdict(false);
  GenesisFold fold;
  for (const Batch& batch : life.batches)
    if (batch.number != 0 && batch.number <= store.journal_last())
      fold.fold(batch.number, batch.journal, verdict);
  SimClock clock(1'767'225'600'000);
  SimRandom random(1);
  auto core = Core::open(store, small_core(), clock, random);
  ASSERT_TRUE(core.ok()) << core.error().message;
  EXPECT_EQ((*core)->state().digest(), fold.digest());
}

// I1: after the crash a prefix of the batches is there, with all acknowledged ones. I2: the state
// is the fold of their records. Then the run continues to its end.
void check_after_crash(TestDisk& disk, const Life& life, size_t acknowledged) {
  auto store = disk.open();
  ASSERT_TRUE(store.ok()) << store.error().message;
  const std::string there = dump(**store);
  size_t done = acknowledged;
  if (there != life.dumps[done] && done + 1 < life.dumps.size()) ++done;
  ASSERT_TRUE(there == life.dumps[done]) << "neither " << acknowledged << " batches nor one more";
  check_replay(**store, life);
  ASSERT_EQ(live(**store, life, done), life.batches.size());
  ASSERT_TRUE(dump(**store) == life.dumps.back());
}

TEST(SimDisk, ACrashAtEveryOperationLeavesAPrefixWithAllThatWasAcknowledged) {
  const Life life;
  uint64_t operations = 0;
  {
    TestDisk disk(1);
    auto store = disk.open();
    ASSERT_TRUE(store.ok());
    ASSERT_EQ(live(**store, life, 0), life.batches.size());
    store->reset();
    operations = disk.files.faults().operations();
  }
  uint64_t crashes = 0, in_checkpoint = 0;
  for (uint64_t at = 1; at <= operations; ++at) {
    for (Survival survival : {Survival::Killed, Survival::None, Survival::All, Survival::Prefix,
                              Survival::Subset, Survival::Subset}) {
      TestDisk disk(at * 7 + ++crashes);
      disk.files.faults().arm(DiskTrouble::Stop, at);
      size_t acknowledged = 0;
      if (auto store = disk.open(); store.ok()) acknowledged = live(**store, life, 0);
      ASSERT_TRUE(disk.files.faults().stopped());
      disk.files.power_cut(survival);
      check_after_crash(disk, life, acknowledged);
      if (HasFatalFailure())
        FAIL() << "crash at operation " << at << ", survival " << static_cast<int>(survival);
      in_checkpoint += disk.verdict.probes()[static_cast<size_t>(Probe::CrashInCheckpoint)];
    }
  }
  std::printf("%zu batches, %lu operations, %lu crashes, %lu of them in a checkpoint\n",
              life.batches.size(), static_cast<unsigned long>(operations),
              static_cast<unsigned long>(crashes), static_cast<unsigned long>(in_checkpoint));
  EXPECT_GT(in_checkpoint, 100u);
}

// A crash, and another one at every operation of the recovery.
TEST(SimDisk, ACrashAtEveryOperationOfARecoveryLosesNothing) {
  const Life life;
  for (Survival survival : {Survival::Killed, Survival::None, Survival::Prefix, Survival::Subset}) {
    bool stopped = true;
    for (uint64_t at = 1; stopped; ++at) {
      TestDisk disk(at);
      auto store = disk.open();
      ASSERT_TRUE(store.ok());
      const size_t acknowledged = live(**store, life, 0);
      disk.files.faults().stop();
      store->reset();
      disk.files.power_cut(Survival::Killed);
      disk.files.faults().arm(DiskTrouble::Stop, at);
      (void)disk.open().ok();  // opened and closed again, if it gets that far
      stopped = disk.files.faults().stopped();
      disk.files.power_cut(survival);
      check_after_crash(disk, life, acknowledged);
      if (HasFatalFailure()) FAIL() << "second crash at operation " << at;
    }
  }
}

}  // namespace
}  // namespace pawl::sim
