#include "sim/sim_main.h"

#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>

#include "sim/simulation.h"

namespace pawl::sim {
namespace {

// A PAWL_CHECK ends the process: at least the seed must be known then.
volatile std::sig_atomic_t seed_high = 0;
volatile std::sig_atomic_t seed_low = 0;

void tell_seed(int) {
  auto high = static_cast<uint64_t>(static_cast<uint32_t>(seed_high));
  auto low = static_cast<uint64_t>(static_cast<uint32_t>(seed_low));
  std::fprintf(stderr, "sim: aborted in seed %" PRIu64 "\n", high << 32 | low);
  std::signal(SIGABRT, SIG_DFL);
}

void remember_seed(uint64_t seed) {
  seed_high = static_cast<std::sig_atomic_t>(static_cast<uint32_t>(seed >> 32));
  seed_low = static_cast<std::sig_atomic_t>(static_cast<uint32_t>(seed));
}

void print_failure(uint64_t seed, const SimCommand& command, const SimReport& report) {
  std::printf("seed %" PRIu64 " broke %s: %s\n%s", seed, report.checker.c_str(),
              report.what.c_str(), report.last_lines.c_str());
  std::printf("again: pawl sim --seed %" PRIu64 " --steps %zu --trace%s%s\n", seed, command.steps,
              command.plant.empty() ? "" : " --plant ", command.plant.c_str());
}

}  // namespace

int sim_command(const SimCommand& command) {
  std::signal(SIGABRT, tell_seed);
  auto start = std::chrono::steady_clock::now();
  ProbeCounts probes{};
  uint64_t jobs = 0, events = 0, crashes = 0, failures = 0, hash = 0;
  for (uint64_t i = 0; i < command.count && failures == 0; ++i) {
    remember_seed(command.seed + i);
    SimReport report =
        run_simulation({command.seed + i, command.steps, command.trace, command.plant});
    jobs += report.jobs;
    events += report.events;
    crashes += report.crashes;
    hash = hash * 31 + report.trace_hash;
    for (size_t p = 0; p < kProbeCount; ++p) probes[p] += report.probes[p];
    if (report.ok) continue;
    ++failures;
    print_failure(command.seed + i, command, report);
  }
  std::signal(SIGABRT, SIG_DFL);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%" PRIu64 " seeds (%.0f/s), %" PRIu64 " jobs, %" PRIu64 " events, %" PRIu64
              " crashes, %" PRIu64 " failures, trace %016" PRIx64 "\n",
              command.count, static_cast<double>(command.count) / seconds.count(), jobs, events,
              crashes, failures, hash);
  if (command.probes)
    for (size_t p = 0; p < kProbeCount; ++p)
      std::printf("  %-30s %" PRIu64 "\n", std::string(probe_name(static_cast<Probe>(p))).c_str(),
                  probes[p]);
  return failures == 0 ? 0 : 1;
}

}  // namespace pawl::sim
