// push_jobs() pushes all jobs or none. A refusal names the job by its place in the list, and comes
// before anything is emitted.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"

namespace pawl {

class Frame;
class State;
struct Job;
struct JobCopy;
struct NameAnswers;
struct NewJob;
struct UniquePolicy;

struct Pushed {
  JobId id;
  bool created = true;  // false: a unique job existed and the push was ignored
  std::shared_ptr<const JobCopy> elsewhere = nullptr;  // the job, if it is at another partition
};

// Jobs whose home is another partition are handed over to it (kernel/messages/placing.h).
// `answers`: of the homes of the jobs' names (claims_of_jobs()); null if nothing was asked.
Result<std::vector<Pushed>> push_jobs(Frame& frame, const std::vector<NewJob>& jobs,
                                      const NameAnswers* answers = nullptr);
// To be shown; it lasts until the next change of the state.
const Job& pushed_job(const State& state, const Pushed& pushed);

// The job that a new one with this policy would conflict with; null if there is none.
const Job* unique_conflict(const State& state, const UniquePolicy& unique, int64_t now_ms);
// Cancels it, unless it has ended, for a newer one with its unique key.
void replace_job(Frame& frame, const JobId& job);

// Pushes one job of a run or cron: depth bounds do not apply to it, since it must not be lost; its
// unique policy does. Duplicate if that refuses it.
Result<JobId> place_job(Frame& frame, const NewJob& job);

// The same at the job's home, if that is another partition (kernel/messages/placing.h): then a
// refusal comes later, as the end of the job.
Result<JobId> place_member(Frame& frame, const NewJob& job);

}  // namespace pawl
