#include "sim/cluster/cluster_simulation.h"

#include "base/silent_log.h"
#include "sim/cluster/cluster_world.h"

namespace pawl::sim {
namespace {

// Most steps are close together; some leave time for leases to end.
int64_t draw_pause_us(SimRandom& random) {
  const uint64_t how = random.below(100);
  return how < 50   ? random.between(100, 20'000)
         : how < 92 ? random.between(20'000, 250'000)
                    : random.between(250'000, 1'500'000);
}

}  // namespace

SimReport run_cluster(const SimOptions& options, const Plants& plants) {
  const log::SilentLog silent;
  Verdict verdict(options.trace);
  SimRandom random(mix64(~options.seed));
  SimReport report;
  {
    ClusterWorld world(random, options.seed, verdict, plants);
    auto step = [&](uint32_t number) {
      const uint64_t step_seed = mix64(options.seed ^ mix64(number + 1));
      random.restart(step_seed);
      world.begin_step(~step_seed);
      world.clients_act();
      world.maybe_fault();
      world.advance(draw_pause_us(random));
      report.steps_done = number + 1;
    };
    if (options.only) {
      for (const uint32_t number : *options.only)
        if (!verdict.failed()) step(number);
    } else {
      for (uint32_t number = 0; number < options.steps && !verdict.failed(); ++number) step(number);
    }
    random.restart(mix64(options.seed));
    if (!verdict.failed()) world.run_to_the_end();
    for (const auto& books : world.books()) {
      report.jobs += books->model().jobs().size();
      report.runs += books->model().runs().all().size();
      report.definitions += books->model().scripts().all().size();
      report.events += books->model().events();
    }
    report.crashes = world.kills();
    // What ends the world is no part of the story.
    report.ok = !verdict.broken();
    report.checker = verdict.checker();
    report.what = verdict.what();
    report.last_lines = verdict.last_lines();
    report.trace_hash = verdict.hash();
    report.probes = verdict.probes();
    if (!verdict.failed()) verdict.end("the world is over");
  }
  return report;
}

}  // namespace pawl::sim
