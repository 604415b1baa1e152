// Retention: deletes finished jobs that are old enough, or too many, a bounded number at a time.
#pragma once

#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Frame;

struct ForgetJobs {
  JobId from;  // where the last sweep stopped; nil = the oldest
  int64_t finished_before_ms = 0;
  uint64_t at_most = 0;  // delete at most this many in this frame
  size_t scan_max = 0;   // read at most this many in this frame
};
struct Forgotten {
  uint64_t jobs = 0;
  JobId go_on;  // nil: the sweep has seen everything
};
Forgotten forget_jobs(Frame& frame, const ForgetJobs& command);

// Deletes finished runs, with their nested runs. Their jobs are deleted in a later sweep: a job
// outlives its run, never the reverse, so that results can be read as long as the run. `cursor` is
// where to continue; nil at the end.
uint64_t forget_runs(Frame& frame, int64_t finished_before_ms, size_t at_most, RunId& cursor);

// Deletes expired documents.
uint64_t forget_documents(Frame& frame, DocKind kind, size_t at_most);

}  // namespace pawl
