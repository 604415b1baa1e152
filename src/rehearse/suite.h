// Suite: runs a case once as written and then, on request, with crashes; and gives the verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rehearse/judge.h"
#include "rehearse/rehearsal.h"
#include "rehearse/test_file.h"

namespace pawl::rehearse {

struct SuiteOptions {
  uint64_t seeds = 0;  // rehearsals with faults; 0 = none
  uint64_t first_seed = 1;
  bool strict = false;  // an unsafe step that ran twice fails the case
  RealAction real = {};
};

// Statistics of a step's repeated calls after crashes.
struct StepTwice {
  std::string step;  // with * for iteration numbers
  std::string action;
  Twice twice = Twice::Harmless;
  bool key = false;      // the service gets an idempotency key
  uint64_t calls = 0;    // over all seeds
  uint64_t doubled = 0;  // of these, made more than once
};

struct SeedFailure {
  uint64_t seed = 0;
  Rehearsed run;
  std::vector<Difference> differences;
};

struct CaseResult {
  std::string name;
  uint32_t line = 0;
  bool passed = false;
  Rehearsed run;  // as written
  std::vector<Difference> differences;
  uint64_t seeds_run = 0;
  uint64_t crashes = 0;
  std::vector<SeedFailure> failed_seeds;  // the first kSeedFailuresMax
  uint64_t failed_seeds_total = 0;
  std::vector<StepTwice> twice;  // of every step with external calls
  bool unsafe = false;           // an unsafe one was made twice
  int64_t real_us = 0;           // duration; set by the caller, which has a clock
};

inline constexpr size_t kSeedFailuresMax = 3;

CaseResult run_case(const TestFile& file, const Case& given, const SuiteOptions& options);

}  // namespace pawl::rehearse
