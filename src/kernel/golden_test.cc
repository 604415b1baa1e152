// tests/golden: journals kept for ever, each with the digest of its folded state. A change in the
// meaning of a released event fails here. A new event comes with a new golden file:
// kernel_test --gtest_also_run_disabled_tests --gtest_filter=Golden.DISABLED_WriteRuns.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/hash.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/jobs/job_notes.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/settings.h"
#include "kernel/testing/run_world.h"

namespace pawl {
namespace {

constexpr const char* kFolder = "tests/golden";

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// One record per line, in hex; the first is record 1.
std::vector<std::string> read_golden(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> records;
  for (std::string line; std::getline(file, line);) records.push_back(from_hex(line));
  return records;
}

std::vector<std::filesystem::path> golden_journals() {
  std::set<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".journal") found.insert(entry.path());
  return {found.begin(), found.end()};
}

std::string digest_beside(std::filesystem::path path) {
  std::ifstream file(path.replace_extension(".digest"));
  std::string digest;
  file >> digest;
  return digest;
}

// Folds, and flushes after every `flush_every` records.
std::string fold_to_digest(const std::vector<std::string>& records, size_t flush_every,
                           const StateConfig& config, std::set<EventType>& seen) {
  MapCold disk;
  MutableState state(disk, config);
  for (size_t i = 0; i < records.size(); ++i) {
    auto events = journal::read_record(i + 1, records[i]);
    if (!events.ok()) return events.error().message;
    for (const auto& event : *events) {
      seen.insert(event.type);
      Status folded = state.fold(event);
      if (!folded.ok()) return folded.error().message;
    }
    if (flush_every == 0 || i % flush_every != 0) continue;
    std::vector<Row> rows;
    state.collect_rows(SIZE_MAX, rows);
    disk.write(rows);
    state.rows_durable();
    state.evict();
  }
  return state.digest();
}

TEST(Golden, EveryReleasedJournalStillMeansTheSame) {
  std::set<EventType> seen;
  ASSERT_FALSE(golden_journals().empty()) << "run from the source directory";
  for (const auto& path : golden_journals()) {
    std::vector<std::string> records = read_golden(path);
    EXPECT_EQ(fold_to_digest(records, 0, {}, seen), digest_beside(path)) << path;
    StateConfig tiny;
    tiny.resident_jobs_max = tiny.resident_runs_max = 1;
    tiny.ready_window_max = tiny.timer_window_max = 2;
    EXPECT_EQ(fold_to_digest(records, 3, tiny, seen), digest_beside(path)) << path;
  }
#define PAWL_EVENT(number, name) \
  EXPECT_EQ(seen.count(EventType::name), 1u) << "no golden journal holds a " #name;
#include "journal/event_types.def"
#include "kernel/cold.h"
#include "kernel/mutable_state.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "plan/ojs/plan_node.h"
#undef PAWL_EVENT
}

// Each uses the events that were new at the time; its journal is checked in, so it never changes.
void live_jobs(World& world) {
  TestSpec once;
  once.retry.max_attempts = 1;
  once.retry.on_exhaustion = OnExhaustion::DeadLetter;
  world.push({new_job({.priority = 3}), new_job({.queue = "a"}), new_job({.queue = "b"}, once),
              new_job({.queue = "c", .limit = "k", .limit_settings = {.concurrency = 2}}),
              new_job({.scheduled_ms = world.now_ms + 500, .queue_rate = 9}),
              new_job({.expires_ms = world.now_ms + 700}), new_job({.pending = true}),
              new_job({.unique = {.key = std::string(16, 'u'), .states = 0x5e}})});
  world.fetch({.queues = {"q", "a", "b", "c"}, .count = 2});
  world.extend("j1", "w1");
  world.ack("j1", "w1", 1, R"({"answer":42})");
  world.fetch({.queues = {"a", "b", "c"}, .count = 3, .worker = "w2"});
  world.nack("j2");
  world.nack("j3", {.code = "E", .type = "Deadly", .message = "no", .details = "[1]"});
  world.give_back("j4");
  world.frame([&](Frame& f) {
    return world.refused(save_checkpoint(f, {world.names.id("j4"), "{}"}));
  });
  world.frame([&](Frame& f) { return world.refused(delete_checkpoint(f, world.names.id("j4"))); });
  world.frame([&](Frame& f) {
    return world.refused(save_checkpoint(f, {world.names.id("j2"), "{}"}));
  });
  world.frame([&](Frame& f) {
    return world.refused(report_progress(f, {world.names.id("j2"), "0.5", "half", "{}"}));
  });
  world.advance(1500);
  world.cancel("j7");
  world.revive("j3");
  world.configure("q", [](QueueSettings& s) {
    s = {.paused = true, .depth_max = 99, .warn_permille = 800, .rate_per_second = 7};
  });
  world.frame([](Frame& f) { return put_doc(f, DocKind::Schema, "s", "{}"), std::string(); });
  world.frame([](Frame& f) { return put_doc(f, DocKind::Webhook, "w", "{}", 77), std::string(); });
  world.frame([&](Frame& f) { return world.refused(delete_doc(f, DocKind::Schema, "s")); });
  for (const char* name : {"kept", "dropped"}) {
    CronSpec spec{
        name, "* * * * *", "UTC", CronOverlap::Skip, false, codec::encoded(new_job()), "{}", 0};
    world.frame([&](Frame& f) { return world.refused(put_cron(f, spec)); });
  }
  world.frame([&](Frame& f) { return world.refused(delete_cron(f, "dropped")); });
  world.advance(60'000);
  world.advance(60'000);
  world.frame([&](Frame& f) {
    forget_jobs(
        f, {.from = JobId(), .finished_before_ms = world.now_ms, .at_most = 2, .scan_max = 99});
    return std::string();
  });
}

void live_runs(RunWorld& world) {
  PlanNode timed = group({step(), step()});
  timed.timeout_ms = 900'000;
  world.start(chain({step(), group({step(), chain({step()})}), batch({step()}), step()}));
  world.start(batch({step(), step({}, TestSpec{})}));
  world.start(dag({named("a"), named("b", {0}), named("c", {1})}));
  world.start(map_over("[1,2,3]", 1));
  world.start(chain({step(), when("results[0].go"), when("results[9].x")}));
  world.start(call_back(timed, {kCancel}));
  world.start(chain({timed, step()}));
  for (int i = 0; i < 12; ++i) world.pass(R"({"go":false})");
  for (int i = 0; i < 6; ++i) i % 2 == 0 ? world.fail() : world.pass("7");
  world.stop("r6");
  world.advance(2000);
  for (int i = 0; i < 4; ++i) world.fail();
  for (int i = 1; i < 9; ++i) world.retry("r" + std::to_string(i));
  for (int i = 0; i < 5; ++i) world.pass("8");
  world.advance(1000);
  world.fail();
  world.advance(950'000);
  world.pass();
  world.forget();
  world.start(chain({step(), step()}));
  world.take();
}

// Runs whose ids are used twice, and maps that are retried in turns.
void live_second_lives(RunWorld& world) {
  PlanNode plan = batch({step(), chain({step(), step()})}, {kComplete, kFailure});
  plan.id = RunId(Uuid::v7(kWorldStartMs, 5, 6, 0));
  plan.client_id = "order-7";
  world.start(plan);
  world.start(map_over("[1,2,3,4,5]", 2));
  world.fail();
  for (int i = 0; i < 9; ++i) i % 3 == 0 ? world.pass("1") : world.fail();
  world.retry("r3");
  world.pass("2");
  world.pass("3");
  world.advance(1000);
  world.forget();
  world.revive("j1");
  world.start(plan);
  world.fetch(2);
  world.ack("j1", "", 0, "4");
}

void write(const std::string& name, const World& world) {
  std::filesystem::create_directories(kFolder);
  std::ofstream journal(std::string(kFolder) + "/" + name + ".journal");
  for (const std::string& record : world.journal()) journal << to_hex(record) << "\n";
  std::ofstream(std::string(kFolder) + "/" + name + ".digest") << world.state().digest() << "\n";
}

TEST(Golden, DISABLED_WriteJobs) {
  World world;
  live_jobs(world);
  write("v1-jobs", world);
}

TEST(Golden, DISABLED_WriteRuns) {
  RunWorld world;
  live_runs(world);
  write("v2-runs", world);
}

TEST(Golden, DISABLED_WriteSecondLives) {
  RunWorld world;
  live_second_lives(world);
  write("v3-second-lives", world);
}

}  // namespace
}  // namespace pawl
