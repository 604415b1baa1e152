#include "sim/sim_main.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "sim/case_file.h"
#include "sim/plant_report.h"
#include "sim/story.h"
#include "sim/swarm.h"

namespace pawl::sim {
namespace {

constexpr uint64_t kSeedsPerPlant = 200;

// Numbers as 12 or 0x51f3.
bool number(const std::string& text, uint64_t& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtoull(text.c_str(), &end, 0);
  return errno == 0 && !text.empty() && *end == '\0' && text[0] != '-';
}

bool step_list(const std::string& text, SimOptions& options) {
  options.only.emplace();
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    uint64_t step = 0;
    if (!number(part, step) || step > UINT32_MAX) return false;
    options.only->push_back(static_cast<uint32_t>(step));
  }
  return true;
}

unsigned processes_of(const SimCommand& command) {
  if (command.processes != 0)
    return static_cast<unsigned>(std::min<uint64_t>(command.processes, 256));
  if (!command.swarm) return 1;
  return static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

void print_totals(const SwarmTotals& totals, double seconds) {
  std::printf("%" PRIu64 " seeds (%.0f/s, %.0f s), %" PRIu64 " workflows, %" PRIu64
              " runs of definitions, %" PRIu64 " jobs, %" PRIu64 " frames of modules, %" PRIu64
              " events, %" PRIu64 " crashes, %" PRIu64 " failures, trace %016" PRIx64 "\n",
              totals.seeds, static_cast<double>(totals.seeds) / seconds, seconds, totals.runs,
              totals.definitions, totals.jobs, totals.frames, totals.events, totals.crashes,
              totals.failures, totals.hashes);
}

void print_probes(const ProbeCounts& probes) {
  for (size_t p = 0; p < kProbeCount; ++p)
    std::printf("  %-30s %" PRIu64 "\n", std::string(probe_name(static_cast<Probe>(p))).c_str(),
                probes[p]);
}

int run_one_aloud(const SimOptions& options) {
  SimReport report = run_simulation(options);
  if (!report.ok) print_story(options, report);
  return report.ok ? 0 : 1;
}

int run_many(const SimCommand& command) {
  SwarmPlan plan;
  plan.first = command.first;
  plan.processes = processes_of(command);
  plan.save_to = command.save_to;
  if (command.swarm) {
    plan.seconds_max = static_cast<int64_t>(std::min<uint64_t>(command.minutes, 1u << 20) * 60);
  } else {
    plan.count_max = command.count;
  }
  auto start = std::chrono::steady_clock::now();
  SwarmTotals totals = run_swarm(plan);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  print_totals(totals, seconds.count());
  if (command.probes) print_probes(totals.probes);
  return totals.failures == 0 ? 0 : 1;
}

}  // namespace

std::span<const SimFlag> sim_flags() {
  using Command = SimCommand;
  using Text = const std::string&;
  static const SimFlag kFlags[] = {
      {"--seed", "N", "the first world (1)",
       [](Command& c, Text text) { return number(text, c.first.seed); }},
      {"--count", "N", "how many seeds, counted from the first (1)",
       [](Command& c, Text text) { return number(text, c.count); }},
      {"--steps", "N", "length of each (300)",
       [](Command& c, Text text) {
         uint64_t steps = 0;
         bool fits = number(text, steps) && steps <= UINT32_MAX;
         c.first.steps = steps;
         return fits;
       }},
      {"--store", "NAME", "store of the engine: memory or sqlite (drawn from the seed)",
       [](Command& c, Text text) {
         c.first.store = text;
         return true;
       }},
      {"--modules", "", "with module worlds in a third of the seeds",
       [](Command& c, Text) { return c.first.modules = true; }},
      {"--cluster", "", "clusters of nodes over one database instead of one engine",
       [](Command& c, Text) { return c.first.cluster = true; }},
      {"--trace", "", "print everything that happens",
       [](Command& c, Text) { return c.first.trace = true; }},
      {"--only", "LIST", "only these steps, as 3,17,29",
       [](Command& c, Text text) { return step_list(text, c.first); }},
      {"--case", "FILE", "run a case file",
       [](Command& c, Text text) {
         c.case_file = text;
         return true;
       }},
      {"--probes", "", "also print how often each rare path was entered",
       [](Command& c, Text) { return c.probes = true; }},
      {"--plant", "BUG", "plant a bug in the engine, to see that it is found",
       [](Command& c, Text text) {
         c.first.plant = text;
         return true;
       }},
      {"--plants", "", "plant each known bug in turn, and print which checker finds it",
       [](Command& c, Text) { return c.plants = true; }},
      {"--swarm", "", "run seeds until the time is up, on all cores",
       [](Command& c, Text) { return c.swarm = true; }},
      {"--minutes", "N", "how long a swarm lasts (10)",
       [](Command& c, Text text) { return number(text, c.minutes); }},
      {"--processes", "N", "how many seeds at once",
       [](Command& c, Text text) { return number(text, c.processes); }},
      {"--save", "DIR", "write failing seeds there, as case files",
       [](Command& c, Text text) {
         c.save_to = text;
         return true;
       }},
  };
  return kFlags;
}

Status set_flag(SimCommand& command, std::string_view name, const std::string& value) {
  for (const SimFlag& flag : sim_flags()) {
    if (flag.name != name) continue;
    if (flag.set(command, value)) return ok_status();
    return Error{
        ErrorCode::InvalidRequest,
        std::string(name) + " takes " + std::string(flag.value) + ", not \"" + value + "\""};
  }
  return Error{ErrorCode::InvalidRequest, "no such flag: " + std::string(name)};
}

int sim_command(const SimCommand& command) {
  if (command.plants) return print_plant_report(kSeedsPerPlant) == 0 ? 0 : 1;
  SimOptions options = command.first;
  if (!command.case_file.empty()) {
    Result<SimOptions> read = read_case_file(command.case_file);
    if (!read.ok()) {
      std::fprintf(stderr, "%s\n", read.error().message.c_str());
      return 2;
    }
    options = *read;
    options.trace = true;
  }
  if (options.trace && (command.count == 1 || !command.case_file.empty()))
    return run_one_aloud(options);
  return run_many(command);
}

}  // namespace pawl::sim
