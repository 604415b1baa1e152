// JobCopy: a job that is in no state here, to be shown: one that was handed over to another
// partition, or one of another partition that refused a new one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"

namespace pawl {

struct JobCopy {
  explicit JobCopy(std::string queue_name) : queue(std::move(queue_name), 0) { job.queue = &queue; }

  Queue queue;
  Job job;
};

// As it will be made.
std::shared_ptr<const JobCopy> copy_of(const NewJob& job, int64_t now_ms);
// From encode_job(); null if it cannot be read.
std::shared_ptr<const JobCopy> copy_of_row(std::string_view bytes);

JobState birth_state(const NewJob& job, int64_t now_ms);

}  // namespace pawl
