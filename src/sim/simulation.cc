#include "sim/simulation.h"

#include <utility>

#include "base/plant.h"
#include "sim/cluster/cluster_simulation.h"
#include "sim/crowd.h"
#include "sim/module_crowd.h"
#include "sim/world.h"

namespace pawl::sim {
namespace {

constexpr int kRoundsToTheEnd = 20'000;  // a long loop in tiny turns takes some thousands
constexpr uint64_t kSeedsPerSqlite = 4;  // the slower world; the others are in memory

constexpr uint64_t kSeedsPerModules = 3;  // worlds with a host of module worlds

void move_clock(World& world, SimRandom& random) {
  uint64_t how = random.below(100);
  world.advance(random.percent(world.mix().clock_back)    ? -random.between(1, 20'000)
                : random.percent(world.mix().clock_jumps) ? random.between(3'600'000, 90'000'000)
                : how < 63                                ? random.between(0, 50)
                : how < 94                                ? random.between(50, 5'000)
                                                          : random.between(5'000, 60'000));
  if (!random.percent(70)) return;
  world.tick();
  world.fire_module_timers();
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

// One of those around module worlds; what it draws is apart, so that other seeds stay as they are.
void module_step(World& world, ModuleCrowd& crowd, SimRandom& aside) {
  if (aside.percent(60)) crowd.act();
  world.serve_modules(aside.below(6));
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
bool is_over(const World& world) {
  return world.model().unfinished() == 0 && world.model().modules().open_intents() == 0;
}

// When something is due next; a second from now if nobody knows. Retention of module worlds, which
// never ends, does not count: it would make a wait of a day very many short ones.
int64_t next_wait_ms(World& world) {
  int64_t due_ms = world.model().first_due_ms();
  if (ModuleWorlds* modules = world.modules()) due_ms = sooner(due_ms, modules->next_work_ms());
  return due_ms == 0 ? 1'000 : std::max<int64_t>(due_ms - world.now_ms(), 1'000);
}

void run_to_the_end(World& world, Crowd& crowd, ModuleCrowd& module_crowd, Verdict& verdict) {
  world.calm_down();
  world.settle();
  if (verdict.failed()) return;
  crowd.open_all_gates();
  uint64_t life = world.life();
  world.settle();
  int round = 0;
  for (; round < kRoundsToTheEnd && !verdict.failed() && !is_over(world); ++round) {
    // A checkpoint that failed before the faults stopped fails the commit after it.
    if (std::exchange(life, world.life()) != world.life()) crowd.open_all_gates();
    crowd.work_off();
    if (world.modules() != nullptr) module_crowd.work_off();
    world.settle();
    if (verdict.failed()) return;
    world.advance(next_wait_ms(world));
    world.tick();
  }
  verdict.expect(round < kRoundsToTheEnd, "liveness",
                 std::to_string(world.model().unfinished()) + " jobs and runs never end, " +
                     std::to_string(world.model().modules().open_intents()) +
                     " intents are never settled");
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
  report.frames = world.model().modules().frames();
  report.probes = verdict.probes();
  return report;
}

}  // namespace

SimReport run_simulation(const SimOptions& options) {
  Plants planted;
  bool known = options.plant.empty();
  bool in_modules = false;
  bool in_cluster = options.cluster;
  std::string store = options.store;
  for (const PlantInfo& plant : all_plants()) {
    if (plant.name != options.plant) continue;
    planted.*plant.flag = true;
    if (store.empty()) store = plant.store;
    in_modules = plant.in_modules();
    in_cluster = in_cluster || plant.in_cluster();
    known = true;
  }
  if (!known) return refused("no such plant: " + options.plant);
  if (in_cluster) return run_cluster(options, planted);
  if (store.empty()) store = mix64(options.seed) % kSeedsPerSqlite == 0 ? "sqlite" : "memory";
  if (store != "sqlite" && store != "memory") return refused("no such store: " + store);
  planted_bug = bug_named(options.plant);
  Verdict verdict(options.trace);
  SimRandom random(options.seed);
  FaultMix mix = FaultMix::draw(random);
  SimRandom disk_random(~options.seed);
  mix.draw_disk(disk_random);
  const uint64_t modules = mix64(~mix64(options.seed));
  World world(random, verdict, planted, mix, store == "sqlite",
              in_modules || (options.modules && modules % kSeedsPerModules == 0) ? modules : 0);
  Crowd crowd(world, random, verdict);
  ModuleCrowd module_crowd(world, verdict);
  uint32_t steps_done = 0;
  auto step = [&](uint32_t number) {
    uint64_t step_seed = mix64(options.seed ^ mix64(number + 1));
    random.restart(step_seed);
    world.begin_step(~step_seed);
    SimRandom aside(mix64(step_seed));
    module_crowd.begin_step(aside.next());
    if (world.modules() != nullptr && aside.percent(60)) module_step(world, module_crowd, aside);
    if (verdict.failed()) return;  // a damaged disk ends the world
    if (world.modules() == nullptr || aside.percent(60)) one_step(world, crowd, random);
    steps_done = number + 1;
  };
  if (options.only) {
    for (uint32_t number : *options.only)
      if (!verdict.failed()) step(number);
  } else {
    for (uint32_t number = 0; number < options.steps && !verdict.failed(); ++number) step(number);
  }
  if (!verdict.failed()) run_to_the_end(world, crowd, module_crowd, verdict);
  planted_bug = Bug::None;
  SimReport report = report_of(world, verdict);
  report.steps_done = steps_done;
  return report;
}

}  // namespace pawl::sim
