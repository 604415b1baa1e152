#include "sim/acknowledged.h"

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

}  // namespace pawl::sim
