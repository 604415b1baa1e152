#include "kernel/jobs/job_copy.h"

namespace pawl {

JobState birth_state(const NewJob& job, int64_t now_ms) {
  return job.pending                 ? JobState::Pending
         : job.scheduled_ms > now_ms ? JobState::Scheduled
                                     : JobState::Available;
}

std::shared_ptr<const JobCopy> copy_of(const NewJob& job, int64_t now_ms) {
  auto copy = std::make_shared<JobCopy>(job.queue);
  Job& made = copy->job;
  made.id = job.id;
  made.state = birth_state(job, now_ms);
  made.priority = job.priority;
  made.max_attempts = job.max_attempts;
  made.created_ms = now_ms;
  made.enqueued_ms = made.state == JobState::Available ? now_ms : 0;
  made.scheduled_ms = job.scheduled_ms;
  made.expires_ms = job.expires_ms;
  made.unique_key = job.unique.key;
  made.limit = job.limit;
  made.spec = job.spec;
  return copy;
}

std::shared_ptr<const JobCopy> copy_of_row(std::string_view bytes) {
  Job job;
  std::string queue;
  if (!decode_job(bytes, job, queue)) return nullptr;
  auto copy = std::make_shared<JobCopy>(std::move(queue));
  Queue* const of_copy = copy->job.queue;
  copy->job = std::move(job);
  copy->job.queue = of_copy;
  return copy;
}

}  // namespace pawl
