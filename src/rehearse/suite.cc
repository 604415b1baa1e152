#include "rehearse/suite.h"

#include <algorithm>
#include <map>

namespace pawl::rehearse {
namespace {

// each.iter_3.call → each.*.call
std::string without_numbers(const std::string& path) {
  std::string out;
  size_t at = 0;
  while (at <= path.size()) {
    size_t dot = std::min(path.find('.', at), path.size());
    std::string part = path.substr(at, dot - at);
    if (!out.empty()) out += '.';
    out += part.substr(0, 5) == "iter_" ? "*" : part;
    at = dot + 1;
  }
  return out;
}

class TwiceBook {
 public:
  void add(const Rehearsed& run) {
    for (const Call& call : run.calls) {
      const actions::ActionInfo* info = actions::find_action(call.action);
      if (info != nullptr && info->pure) continue;
      StepTwice& entry = steps_[without_numbers(call.step)];
      entry.action = call.job_type.empty() ? call.action : "job " + call.job_type;
      entry.twice = std::max(entry.twice, call.twice);
      entry.key = carries_key(call.action);
      ++entry.calls;
      if (call.executions > 1) ++entry.doubled;
    }
  }
  std::vector<StepTwice> take() {
    std::vector<StepTwice> all;
    for (auto& [step, entry] : steps_) {
      entry.step = step;
      all.push_back(std::move(entry));
    }
    return all;
  }

 private:
  std::map<std::string, StepTwice> steps_;
};

bool failed(const Rehearsed& run, const std::vector<Difference>& differences) {
  return !run.problems.empty() || !differences.empty();
}

void run_seeds(const TestFile& file, const Case& given, const SuiteOptions& options,
               CaseResult& result) {
  TwiceBook book;
  for (uint64_t i = 0; i < options.seeds; ++i) {
    FaultPlan plan;
    plan.seed = options.first_seed + i;
    if (!result.run.calls.empty())
      plan.die_after_call = static_cast<size_t>(plan.seed % result.run.calls.size());
    Rehearsed run = rehearse(file, given, plan, options.real);
    ++result.seeds_run;
    result.crashes += run.crashes;
    book.add(run);
    std::vector<Difference> differences = judge(given, run, true);
    if (!failed(run, differences)) continue;
    if (++result.failed_seeds_total <= kSeedFailuresMax)
      result.failed_seeds.push_back({plan.seed, std::move(run), std::move(differences)});
  }
  result.twice = book.take();
  result.unsafe = std::any_of(result.twice.begin(), result.twice.end(), [](const StepTwice& step) {
    return step.doubled > 0 && step.twice == Twice::Unsafe;
  });
}

}  // namespace

CaseResult run_case(const TestFile& file, const Case& given, const SuiteOptions& options) {
  CaseResult result;
  result.name = given.name;
  result.line = given.line;
  result.run = rehearse(file, given, std::nullopt, options.real);
  result.differences = judge(given, result.run, false);
  result.passed = !failed(result.run, result.differences);
  // A case that fails without faults says nothing about crashes.
  if (result.passed && options.seeds > 0) run_seeds(file, given, options, result);
  if (result.failed_seeds_total > 0 || (options.strict && result.unsafe)) result.passed = false;
  return result;
}

}  // namespace pawl::rehearse
