// Rehearsal: one case, run by the engine's own core on a store in memory and a virtual clock.
//
// The clock stands still while there is something to do and then jumps to the next thing that will
// happen: an answer, an event, a timer. So a month costs what its steps cost. There is no thread,
// no network and no wall clock in it (but for actions the case allows for real).
//
// With faults the engine also dies: before a commit, after it, and right after a call was made.
// Then everything in memory is gone, the core is opened again from the store, and what was not
// answered is asked again. Answers come late or twice. The same seed gives the same story. Bounded:
// it ends after kCommitsMax commits and a hundred years.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rehearse/stage.h"
#include "rehearse/story.h"
#include "rehearse/test_file.h"

namespace pawl::rehearse {

struct FaultPlan {
  uint64_t seed = 0;
  size_t die_after_call = SIZE_MAX;  // by its number, counted from 0
};

struct StepSeen {
  std::string path;
  std::string status;
  uint32_t attempts = 0;
  Value output;
  Value error;  // object or null
  std::string reason;
};

struct Rehearsed {
  std::string status;
  Value outputs;
  Value error;  // object or null
  std::string reason;
  int64_t elapsed_ms = 0;
  std::vector<StepSeen> steps;
  std::vector<Call> calls;
  std::vector<Moment> timeline;
  std::vector<std::string> waits;     // what holds it, if it is not over
  std::vector<std::string> problems;  // why the rehearsal itself went wrong
  bool given_up = false;              // by these: how it stands then means nothing
  std::vector<std::string> faults;    // what was done to it
  uint32_t crashes = 0;
};

inline constexpr uint32_t kCommitsMax = 200'000;
inline constexpr int64_t kVirtualMsMax = int64_t{100} * 365 * 86'400'000;

Rehearsed rehearse(const TestFile& file, const Case& given,
                   const std::optional<FaultPlan>& faults = {}, const RealAction& real = {});

}  // namespace pawl::rehearse
