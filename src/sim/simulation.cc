#include "sim/simulation.h"

#include <utility>

#include "sim/crowd.h"
#include "sim/world.h"

namespace pawl::sim {
namespace {

constexpr int kRoundsToTheEnd = 20'000;  // a long loop in tiny turns takes some thousands
constexpr uint64_t kSeedsPerSqlite = 4;  // the slower world; the others are in memory

void move_clock(World& world, SimRandom& random) {
  uint64_t how = random.below(100);
  world.advance(random.percent(world.mix().clock_back)    ? -random.between(1, 20'000)
                : random.percent(world.mix().clock_jumps) ? random.between(3'600'000, 90'000'000)
                : how < 63                                ? random.between(0, 50)
                : how < 94                                ? random.between(50, 5'000)
                                                          : random.between(5'000, 60'000));
  if (random.percent(70)) world.tick();
}

// One step of the engine with its open batch.
void engine_step(World& world, SimRandom& random) {
  if (!world.in_flight()) {
    bool idle = random.percent(20);
    if (world.wants_commit() || idle) world.close_batch(idle);
    return;
  }
  if (world.is_durable()) return world.finish_commit();
  if (random.percent(world.mix().commit_fails)) return world.fail_commit();
  world.commit();
}

void one_step(World& world, Crowd& crowd, SimRandom& random) {
  if (random.below(1000) < world.mix().crash) return world.crash();
  uint64_t what = random.below(1000);
  if (what < 235) return crowd.client_acts();
  if (what < 535) return crowd.worker_acts();
  if (what < 645) return move_clock(world, random);
  if (what < 985) return engine_step(world, random);
  if (what < 995) return world.audit(false);
  world.audit(true);
}

// Liveness: without faults, and with time, every job ends.
void run_to_the_end(World& world, Crowd& crowd, Verdict& verdict) {
  world.calm_down();
  world.settle();
  if (verdict.failed()) return;
  crowd.open_all_gates();
  uint64_t life = world.life();
  world.settle();
  int round = 0;
  for (; round < kRoundsToTheEnd && !verdict.failed() && world.model().unfinished() > 0; ++round) {
    // A checkpoint that failed before the faults stopped fails the commit after it.
    if (std::exchange(life, world.life()) != world.life()) crowd.open_all_gates();
    crowd.work_off();
    world.settle();
    if (verdict.failed()) return;
    int64_t due_ms = world.model().first_due_ms();
    int64_t wait_ms = due_ms == 0 ? 1'000 : due_ms - world.now_ms();
    world.advance(wait_ms < 1'000 ? 1'000 : wait_ms);
    world.tick();
  }
  verdict.expect(round < kRoundsToTheEnd, "liveness",
                 std::to_string(world.model().unfinished()) + " jobs and runs never end");
  if (!verdict.failed()) world.audit(false);
  if (!verdict.failed()) world.audit(true);
}

SimReport refused(std::string what) {
  SimReport report;
  report.ok = false;
  report.checker = "options";
  report.what = std::move(what);
  return report;
}

SimReport report_of(const World& world, const Verdict& verdict) {
  SimReport report;
  report.ok = !verdict.broken();
  report.checker = verdict.checker();
  report.what = verdict.what();
  report.last_lines = verdict.last_lines();
  report.trace_hash = verdict.hash();
  report.jobs = world.model().jobs().size();
  report.runs = world.model().runs().all().size();
  report.definitions = world.model().scripts().all().size();
  report.events = world.model().events();
  report.crashes = world.crashes();
  report.probes = verdict.probes();
  return report;
}

}  // namespace

SimReport run_simulation(const SimOptions& options) {
  Plants planted;
  bool known = options.plant.empty();
  std::string store = options.store;
  for (const PlantInfo& plant : all_plants()) {
    if (plant.name != options.plant) continue;
    planted.*plant.flag = true;
    if (store.empty()) store = plant.store;
    known = true;
  }
  if (!known) return refused("no such plant: " + options.plant);
  if (store.empty()) store = mix64(options.seed) % kSeedsPerSqlite == 0 ? "sqlite" : "memory";
  if (store != "sqlite" && store != "memory") return refused("no such store: " + store);
  Verdict verdict(options.trace);
  SimRandom random(options.seed);
  FaultMix mix = FaultMix::draw(random);
  SimRandom disk_random(~options.seed);
  mix.draw_disk(disk_random);
  World world(random, verdict, planted, mix, store == "sqlite");
  Crowd crowd(world, random, verdict);
  uint32_t steps_done = 0;
  auto step = [&](uint32_t number) {
    uint64_t step_seed = mix64(options.seed ^ mix64(number + 1));
    random.restart(step_seed);
    world.begin_step(~step_seed);
    one_step(world, crowd, random);
    steps_done = number + 1;
  };
  if (options.only) {
    for (uint32_t number : *options.only)
      if (!verdict.failed()) step(number);
  } else {
    for (uint32_t number = 0; number < options.steps && !verdict.failed(); ++number) step(number);
  }
  if (!verdict.failed()) run_to_the_end(world, crowd, verdict);
  SimReport report = report_of(world, verdict);
  report.steps_done = steps_done;
  return report;
}

}  // namespace pawl::sim
