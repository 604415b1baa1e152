#include "sim/simulation.h"

#include "sim/crowd.h"
#include "sim/world.h"

namespace pawl::sim {
namespace {

constexpr int kRoundsToTheEnd = 3'000;

struct NamedPlant {
  std::string_view name;
  void (*plant)(WorldPlants&);
};

const NamedPlant kPlants[] = {
    {"drop_last_batch", [](WorldPlants& plants) { plants.store.drop_last_batch = true; }},
    {"skip_event", [](WorldPlants& plants) { plants.store.skip_event = true; }},
    {"lose_due_rows", [](WorldPlants& plants) { plants.store.lose_due_rows = true; }},
    {"lose_ready_rows", [](WorldPlants& plants) { plants.store.lose_ready_rows = true; }},
    {"torn_batch", [](WorldPlants& plants) { plants.store.torn_batch = true; }},
    {"release_before_commit", [](WorldPlants& plants) { plants.release_before_commit = true; }},
    {"ignore_failed_commit", [](WorldPlants& plants) { plants.ignore_failed_commit = true; }},
    {"fetch_reply_twice", [](WorldPlants& plants) { plants.fetch_reply_twice = true; }},
    {"stale_ack_accepted", [](WorldPlants& plants) { plants.stale_ack_accepted = true; }},
    {"callback_twice", [](WorldPlants& plants) { plants.callback_twice = true; }},
    {"retry_counted", [](WorldPlants& plants) { plants.retry_counted = true; }},
    {"cancelled_member_lost", [](WorldPlants& plants) { plants.cancelled_member_lost = true; }},
    {"advance_before_commit", [](WorldPlants& plants) { plants.advance_before_commit = true; }},
    {"frozen_clock", [](WorldPlants& plants) { plants.frozen_clock = true; }},
};

void move_clock(World& world, SimRandom& random) {
  uint64_t how = random.below(100);
  world.advance(how < 60   ? random.between(0, 50)
                : how < 90 ? random.between(50, 5'000)
                : how < 95 ? random.between(5'000, 60'000)
                : how < 97 ? random.between(3'600'000, 90'000'000)
                           : -random.between(1, 20'000));
  if (random.percent(70)) world.tick();
}

// What the engine does with its open batch, one step of it.
void engine_step(World& world, SimRandom& random) {
  if (!world.in_flight()) {
    bool idle = random.percent(20);
    if (world.wants_commit() || idle) world.seal(idle);
    return;
  }
  if (world.is_durable()) return world.finish_commit();
  if (random.percent(2)) return world.fail_commit();
  world.commit();
}

void one_step(World& world, Crowd& crowd, SimRandom& random) {
  uint64_t what = random.below(1000);
  if (what < 200) return crowd.client_acts();
  if (what < 480) return crowd.worker_acts();
  if (what < 600) return move_clock(world, random);
  if (what < 965) return engine_step(world, random);
  if (what < 985) return world.crash();
  if (what < 995) return world.audit(false);
  world.audit(true);
}

// Liveness: without faults, and with time, every job ends.
void run_to_the_end(World& world, Crowd& crowd, Verdict& verdict) {
  world.calm_down();
  world.settle();
  if (verdict.failed()) return;
  crowd.open_all_gates();
  world.settle();
  int round = 0;
  for (; round < kRoundsToTheEnd && !verdict.failed() && world.model().unfinished() > 0; ++round) {
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

}  // namespace

const std::vector<std::string_view>& plants() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const NamedPlant& plant : kPlants) list.push_back(plant.name);
    return list;
  }();
  return names;
}

SimReport run_simulation(const SimOptions& options) {
  SimReport report;
  WorldPlants planted;
  bool known = options.plant.empty();
  for (const NamedPlant& plant : kPlants) {
    if (plant.name != options.plant) continue;
    plant.plant(planted);
    known = true;
  }
  if (!known) {
    report.ok = false;
    report.checker = "options";
    report.what = "no such plant: " + options.plant;
    return report;
  }
  Verdict verdict(options.trace);
  SimRandom random(options.seed);
  World world(random, verdict, planted);
  Crowd crowd(world, random, verdict);
  for (size_t step = 0; step < options.steps && !verdict.failed(); ++step)
    one_step(world, crowd, random);
  if (!verdict.failed()) run_to_the_end(world, crowd, verdict);
  report.ok = !verdict.failed();
  report.checker = verdict.checker();
  report.what = verdict.what();
  report.last_lines = verdict.last_lines();
  report.trace_hash = verdict.hash();
  report.jobs = world.model().jobs().size();
  report.events = world.model().events();
  report.crashes = world.crashes();
  report.probes = verdict.probes();
  return report;
}

}  // namespace pawl::sim
