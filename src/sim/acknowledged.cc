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
    if (job->state != fact.final_state || job->result != fact.result)
      return verdict_.fail("I1 acknowledged",
                           "job " + short_name(id) + " was acknowledged as finished and is not so");
  }
}

}  // namespace pawl::sim
