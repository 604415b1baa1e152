#include "sim/swarm.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>
#include <vector>

#include "base/check.h"
#include "sim/case_file.h"
#include "sim/isolated.h"
#include "sim/shrink.h"
#include "sim/story.h"

namespace pawl::sim {
namespace {

using SwarmClock = std::chrono::steady_clock;

constexpr uint64_t kFailuresMax = 5;
constexpr uint64_t kNoSeed = UINT64_MAX;
constexpr useconds_t kLookEveryUs = 100'000;
constexpr auto kTellEvery = std::chrono::seconds(30);
constexpr auto kSeedMax = std::chrono::minutes(3);  // a world takes milliseconds

// A process's part of the shared memory. It outlives the process, so that the seed which killed it
// is known.
struct Lane {
  SwarmTotals totals;
  volatile uint64_t seed = kNoSeed;
  volatile bool broke = false;  // the seed above broke an invariant
};

class SharedLanes {
 public:
  explicit SharedLanes(unsigned count) : bytes_(count * sizeof(Lane)) {
    void* memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    PAWL_CHECK(memory != MAP_FAILED);
    lanes_ = static_cast<Lane*>(memory);
    for (unsigned i = 0; i < count; ++i) new (&lanes_[i]) Lane;
  }
  ~SharedLanes() { ::munmap(lanes_, bytes_); }
  SharedLanes& operator=(SharedLanes&&) = delete;
  Lane& operator[](size_t i) { return lanes_[i]; }

 private:
  size_t bytes_;
  Lane* lanes_;
};

class Swarm {
 public:
  explicit Swarm(const SwarmPlan& plan)
      : plan_(plan),
        lanes_(plan.processes),
        start_(SwarmClock::now()),
        next_tell_(start_ + kTellEvery) {
    for (unsigned i = 0; i < plan.processes; ++i) next_.push_back(i);
    children_.resize(plan.processes, 0);
    watched_.resize(plan.processes);
  }

  SwarmTotals run() {
    for (size_t i = 0; i < children_.size(); ++i) launch(i);
    while (alive_ > 0) {
      reap();
      end_what_hangs();
      if (SwarmClock::now() >= next_tell_) tell();
      if (alive_ > 0) ::usleep(kLookEveryUs);
    }
    return totals();
  }

 private:
  bool time_is_up() const {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(SwarmClock::now() - start_);
    return seconds.count() >= plan_.seconds_max;
  }

  void launch(size_t lane) {
    std::fflush(stdout);
    pid_t child = ::fork();
    PAWL_CHECK(child >= 0);
    if (child == 0) work(lane);
    children_[lane] = child;
    ++alive_;
  }

  // Runs every n-th seed, from where the previous process ended.
  [[noreturn]] void work(size_t number) {
    bound_memory();
    Lane& lane = lanes_[number];
    for (uint64_t i = next_[number]; i < plan_.count_max && !time_is_up(); i += children_.size()) {
      SimOptions options = plan_.first;
      options.seed += i;
      lane.seed = i;
      SimReport report = run_simulation(options);
      lane.totals.add(report);
      lane.broke = !report.ok;
      if (lane.broke) ::_exit(1);
    }
    lane.seed = kNoSeed;
    ::_exit(0);
  }

  void reap() {
    for (size_t i = 0; i < children_.size(); ++i) {
      int status = 0;
      if (children_[i] == 0 || ::waitpid(children_[i], &status, WNOHANG) != children_[i]) continue;
      children_[i] = 0;
      --alive_;
      Lane& lane = lanes_[i];
      if (lane.seed == kNoSeed) continue;
      if (!lane.broke) {  // the seed killed the process
        ++lane.totals.seeds;
        ++lane.totals.failures;
      }
      tell_story(lane.seed);
      next_[i] = lane.seed + children_.size();
      lane.broke = false;
      lane.seed = kNoSeed;
      if (totals().failures < kFailuresMax && !time_is_up()) launch(i);
    }
  }

  void end_what_hangs() {
    auto now = SwarmClock::now();
    for (size_t i = 0; i < children_.size(); ++i) {
      if (lanes_[i].seed != watched_[i].seed) watched_[i] = {lanes_[i].seed, now};
      if (children_[i] != 0 && now - watched_[i].since > kSeedMax) ::kill(children_[i], SIGKILL);
    }
  }

  void tell_story(uint64_t index) const {
    SimOptions options = plan_.first;
    options.seed += index;
    std::printf("seed %" PRIu64 " broke a promise; looking for the shortest story\n", options.seed);
    std::fflush(stdout);
    Shrunk shrunk = shrink(options);
    if (shrunk.report.ok) {
      std::printf("seed %" PRIu64 " ended its process, and held when it was told again\n",
                  options.seed);
      return;
    }
    print_story(shrunk.options, shrunk.report);
    if (plan_.save_to.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(plan_.save_to, ignored);
    std::string path = plan_.save_to + "/seed-" + std::to_string(options.seed) + ".sim";
    std::ofstream(path) << write_case(shrunk.options, shrunk.report);
    std::printf("kept as %s\n", path.c_str());
  }

  SwarmTotals totals() {
    SwarmTotals all;
    for (size_t i = 0; i < children_.size(); ++i) all.add(lanes_[i].totals);
    return all;
  }

  void tell() {
    next_tell_ += kTellEvery;
    SwarmTotals now = totals();
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(SwarmClock::now() - start_);
    std::printf("  %" PRIi64 " s: %" PRIu64 " seeds, %" PRIu64 " workflows, %" PRIu64
                " crashes, %" PRIu64 " failures\n",
                static_cast<int64_t>(seconds.count()), now.seeds, now.runs, now.crashes,
                now.failures);
    std::fflush(stdout);
  }

  const SwarmPlan& plan_;
  SharedLanes lanes_;
  SwarmClock::time_point start_;
  SwarmClock::time_point next_tell_;
  std::vector<uint64_t> next_;
  std::vector<pid_t> children_;
  struct Watched {
    uint64_t seed = kNoSeed;
    SwarmClock::time_point since = SwarmClock::now();
  };
  std::vector<Watched> watched_;
  int alive_ = 0;
};

}  // namespace

void SwarmTotals::add(const SimReport& report) {
  ++seeds;
  failures += report.ok ? 0 : 1;
  jobs += report.jobs;
  runs += report.runs;
  definitions += report.definitions;
  frames += report.frames;
  events += report.events;
  crashes += report.crashes;
  hashes += report.trace_hash;
  for (size_t i = 0; i < kProbeCount; ++i) probes[i] += report.probes[i];
}

void SwarmTotals::add(const SwarmTotals& other) {
  seeds += other.seeds;
  failures += other.failures;
  jobs += other.jobs;
  runs += other.runs;
  definitions += other.definitions;
  frames += other.frames;
  events += other.events;
  crashes += other.crashes;
  hashes += other.hashes;
  for (size_t i = 0; i < kProbeCount; ++i) probes[i] += other.probes[i];
}

SwarmTotals run_swarm(const SwarmPlan& plan) { return Swarm(plan).run(); }

}  // namespace pawl::sim
