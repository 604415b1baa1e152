#include "sim/acknowledged.h"

#include <algorithm>

#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"

namespace pawl::sim {

void Acknowledged::pushed(const ModelJob& job) {
  Fact& fact = facts_[job.birth.job];
  if (fact.born != job.born) fact = {.born = job.born};
}

void Acknowledged::completed(const ModelJob& job, const std::string& result) {
  facts_[job.birth.job] = {job.born, JobState::Completed, result};
}

void Acknowledged::cancelled(const ModelJob& job) {
  facts_[job.birth.job] = {job.born, JobState::Cancelled};
}

void Acknowledged::handed_out(uint64_t lease_sequence, const JobId& job) {
  if (!leases_.insert(lease_sequence).second)
    verdict_.fail("I6 lease", "job " + short_name(job) + ": one lease was handed out twice");
}

void Acknowledged::check(const State& state, const JournalModel& model) const {
  for (const auto& [id, fact] : facts_) {
    const ModelJob* durable = model.find(id);
    if (durable != nullptr && (durable->forgotten || durable->born != fact.born)) continue;
    const Job* job = state.find_job(id);
    if (job == nullptr)
      return verdict_.fail("I1 acknowledged",
                           "job " + short_name(id) + " was acknowledged and is gone");
    if (fact.final_state == JobState::None) continue;
    if (fact.final_state == JobState::Cancelled && durable != nullptr && durable->restarted)
      continue;
    if (job->state != fact.final_state || job->result != fact.result)
      return verdict_.fail("I1 acknowledged",
                           "job " + short_name(id) + " was acknowledged as finished and is not so");
  }
  check_runs(state, model);
  if (!verdict_.failed()) check_scripts(state, model);
}

// --- runs

Acknowledged::RunFact& Acknowledged::fact_of(const ModelRun& run) {
  RunFact& fact = run_facts_[run.birth.run];
  if (fact.born != run.born) fact = {.born = run.born};
  return fact;
}

void Acknowledged::run_exists(const ModelRun& run) { fact_of(run); }

void Acknowledged::run_cancelled(const ModelRun& run, uint32_t generation) {
  RunFact& fact = fact_of(run);
  if (generation >= fact.generation) fact = {run.born, generation, true};
}

void Acknowledged::run_retried(const ModelRun& run, uint32_t generation) {
  RunFact& fact = fact_of(run);
  if (generation > fact.generation) fact = {run.born, generation, false};
}

void Acknowledged::check_runs(const State& state, const JournalModel& model) const {
  for (const auto& [id, fact] : run_facts_) {
    const ModelRun* durable = model.runs().find(id);
    if (durable != nullptr && (durable->forgotten || durable->born != fact.born)) continue;
    const Run* run = state.find_run(id);
    if (run == nullptr)
      return verdict_.fail("I1 acknowledged",
                           "run " + short_name(JobId(id)) + " was acknowledged and is gone");
    if (run->generation < fact.generation)
      return verdict_.fail("I1 acknowledged",
                           "run " + short_name(JobId(id)) + " was retried and is not");
    if (fact.cancelled && run->generation == fact.generation && run->state != RunState::Cancelled)
      return verdict_.fail("I1 acknowledged",
                           "run " + short_name(JobId(id)) + " was cancelled and is not");
  }
}

// --- runs of definitions

Acknowledged::ScriptFact& Acknowledged::fact_of(const ModelScript& run) {
  ScriptFact& fact = script_facts_[run.birth.run];
  if (fact.born != run.born) fact = {.born = run.born};
  return fact;
}

void Acknowledged::script_exists(const ModelScript& run) { fact_of(run); }

void Acknowledged::script_stopped(const ModelScript& run, uint32_t retries) {
  ScriptFact& fact = fact_of(run);
  fact.stopped = true;
  fact.retries = std::max(fact.retries, retries);
}

void Acknowledged::signalled(const ModelScript& run, const std::string& payload) {
  fact_of(run).payloads.insert(payload);
}

void Acknowledged::check_scripts(const State& state, const JournalModel& model) const {
  for (const auto& [id, fact] : script_facts_) {
    const ModelScript* durable = model.scripts().find(id);
    if (durable != nullptr && (durable->forgotten || durable->born != fact.born)) continue;
    const Run* run = state.find_run(id);
    std::string name = "run " + short_name(JobId(id));
    if (run == nullptr || !run->script)
      return verdict_.fail("I1 acknowledged", name + " was acknowledged and is gone");
    bool came_back = durable != nullptr && durable->retries > fact.retries;
    if (fact.stopped && !came_back && run->script->phase == ScriptPhase::Steps)
      return verdict_.fail("I1 acknowledged", name + " was cancelled and goes on");
    for (const std::string& payload : fact.payloads)
      if (durable == nullptr || durable->got.count(payload) == 0)
        return verdict_.fail("I1 acknowledged", name + " was sent a signal that is gone");
  }
  for (const std::string& id : decisions_) {
    const Doc* doc = state.find_doc(DocKind::Decision, id);
    StoredDecision decision;
    if (doc == nullptr || !codec::decode(doc->value, decision) || decision.status == "pending")
      return verdict_.fail("I1 acknowledged", "a decision was taken and is open again");
  }
}

}  // namespace pawl::sim
