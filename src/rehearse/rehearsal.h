// Rehearsal: one case, run by the engine's own core on a store in memory and a virtual clock.
//
// The clock stands still while there is work and then jumps to the next event: an answer, an action
// of a person, a timer. So a month costs as much as its steps. There is no thread, no network and
// no wall clock (except for actions that the case allows as `real`).
//
// With faults the engine also crashes: before a commit, after it, and right after a call was made.
// Then the memory is lost, the core is opened again from the store, and unanswered effects are
// requested again. Answers come late or twice. The same seed gives the same trace. Bounded: it ends
// after kCommitsMax commits or a hundred years.
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
  std::vector<std::string> waits;     // what it waits for, if it has not ended
  std::vector<std::string> problems;  // errors of the rehearsal itself
  bool given_up = false;              // because of these: its state means nothing then
  std::vector<std::string> faults;    // the injected faults
  uint32_t crashes = 0;
};

inline constexpr uint32_t kCommitsMax = 200'000;
inline constexpr int64_t kVirtualMsMax = int64_t{100} * 365 * 86'400'000;

Rehearsed rehearse(const TestFile& file, const Case& given,
                   const std::optional<FaultPlan>& faults = {}, const RealAction& real = {});

}  // namespace pawl::rehearse
