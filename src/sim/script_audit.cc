// Compares the engine's runs of definitions step by step with the model.
#include <algorithm>

#include "kernel/run.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/open_lists.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "sim/audit.h"

namespace pawl::sim {
namespace {

bool same_step(const StepRecord& record, const ModelStep& known) {
  return record.state == known.state && record.attempt == known.attempt &&
         record.effect == known.effect && record.due_ms == known.due_ms &&
         record.due == known.due && record.handled == known.handled &&
         record.decision == known.decision && record.choice == known.choice &&
         (!known.over() || (record.output == known.output && record.reason == known.reason &&
                            record.error.code == known.error.code));
}

bool same_run(const Run& run, const ModelScript& known) {
  const ScriptRun& script = *run.script;
  bool same = script.status == known.status && script.phase == known.phase &&
              script.paused == known.paused && script.next_effect == known.next_effect &&
              std::equal(script.compensate.begin(), script.compensate.end(),
                         known.compensate.begin(), known.compensate.end()) &&
              script.compensated == known.compensated &&
              script.effects.size() == known.effects.size() &&
              script.signals.size() == known.signals.size() && script.output == known.output &&
              script.error.code == known.error.code && run.version == known.version &&
              script.yielded_ms == known.yielded_ms &&
              run.deadline_ms == (known.yielded_ms != 0 ? 0 : known.due_ms());
  for (const OpenEffect& open : script.effects) {
    auto at = known.effects.find(open.effect);
    same = same && at != known.effects.end() && at->second == open.step;
  }
  for (size_t i = 0; same && i < script.signals.size(); ++i)
    same = script.signals[i].payload == known.signals[i].payload;
  return same;
}

void audit_steps(const State& state, const Run& run, const ModelScript& known, Verdict& verdict) {
  std::string name = "run " + short_name(JobId(run.id));
  size_t lists = 0;
  state.each_scope(run, "", [&](const Scope& scope) {
    ++lists;
    auto at = known.scopes.find(scope.path);
    bool same = at != known.scopes.end() && at->second.closed == scope.closed &&
                at->second.failed == scope.failed &&
                at->second.steps.size() == scope.records.size();
    if (!same) verdict.fail("I1 state", name + ": the list '" + scope.path + "' differs");
    for (size_t i = 0; same && i < scope.records.size(); ++i)
      if (!same_step(scope.records[i], at->second.steps[i]))
        verdict.fail("I1 state", name + ": step " + join_path(scope.path, scope.records[i].id) +
                                     " differs from the journal");
    return !verdict.failed();
  });
  verdict.expect(verdict.failed() || lists == known.scopes.size(), "I1 state",
                 name + " has lost a list");
}

}  // namespace

void audit_scripts(const State& state, const JournalModel& model, Verdict& verdict) {
  size_t seen = 0;
  state.each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
    if (!run.script) return true;
    ++seen;
    const ModelScript* known = model.scripts().existing(run.id);
    std::string name = "run " + short_name(JobId(run.id));
    if (known == nullptr) {
      verdict.fail("I1 state", name + " is there and should not be");
    } else {
      verdict.expect(same_run(run, *known), "I1 state", name + " differs from the journal");
      if (!verdict.failed()) audit_steps(state, run, *known, verdict);
    }
    return !verdict.failed();
  });
  if (verdict.failed()) return;
  size_t expected = 0;
  for (const auto& [id, run] : model.scripts().all()) expected += run.forgotten ? 0 : 1;
  verdict.expect(seen == expected, "I1 state", "the list of runs of definitions misses some");
}

}  // namespace pawl::sim
