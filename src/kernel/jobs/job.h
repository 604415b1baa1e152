// Job: one unit of work and its state. The immutable part is its JobSpec.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/codec.h"
#include "journal/events.h"
#include "kernel/resident.h"
#include "plan/ojs/job_spec.h"

namespace pawl {

struct Queue;

// Rarely used fields.
struct JobExtras {
  std::vector<JobError> errors;  // the latest kErrorsKept
  std::string checkpoint;        // JSON text
  uint64_t checkpoint_sequence = 0;
  int64_t checkpoint_ms = 0;
  std::string progress;
  std::string progress_message;
  std::string progress_data;
  int64_t progress_ms = 0;
  int64_t retry_delay_ms = 0;
  std::string cancel_reason;
  bool cancelled_while_held = false;  // a worker had it when it was cancelled:
  std::string cancelled_worker;       //   this one

  static void fields(auto& self, auto&& visit) {
    visit(1, "errors", self.errors);
    visit(2, "checkpoint", self.checkpoint);
    visit(3, "checkpoint_sequence", self.checkpoint_sequence);
    visit(4, "checkpoint_ms", self.checkpoint_ms);
    visit(5, "progress", self.progress);
    visit(6, "progress_message", self.progress_message);
    visit(7, "progress_data", self.progress_data);
    visit(8, "progress_ms", self.progress_ms);
    visit(9, "retry_delay_ms", self.retry_delay_ms);
    visit(10, "cancel_reason", self.cancel_reason);
    visit(11, "cancelled_while_held", self.cancelled_while_held);
    visit(12, "cancelled_worker", self.cancelled_worker);
  }
};
constexpr size_t kErrorsKept = 25;

// The index rows of an entity: derived from it alone, so that the old ones can be found when it
// changes.
struct JobPlaces {
  bool ready = false;
  int32_t priority = 0;
  uint64_t order = 0;
  int64_t due_ms = 0;  // 0 = no timer
  bool dead = false;
  bool unique = false;

  bool operator==(const JobPlaces&) const = default;
};

struct Job : Resident {
  JobId id;
  Queue* queue = nullptr;
  JobState state = JobState::None;
  bool expired = false;
  bool dead_letter = false;
  bool forgotten = false;    // in memory only: deleted, its row not yet removed
  bool has_row = false;      // in memory only: a row was written, with the index rows of `places`
  bool row_durable = false;  // in memory only: that row (or an earlier one) can be read back
  int32_t priority = 0;
  uint32_t attempt = 0;
  uint32_t max_attempts = 0;
  uint64_t order = 0;  // FIFO place: the sequence that made it available
  int64_t created_ms = 0;
  int64_t enqueued_ms = 0;
  int64_t scheduled_ms = 0;  // next promotion while scheduled or retryable
  int64_t expires_ms = 0;
  int64_t started_ms = 0;
  int64_t finished_ms = 0;
  int64_t lease_until_ms = 0;
  int64_t deadline_ms = 0;
  JobPlaces places;  // on disk
  std::string worker;
  std::string spec;  // JobSpec, encoded
  std::string unique_key;
  std::string limit;
  std::string result;
  JobParent parent;
  uint32_t placed_by = 0;  // the partition that waits for its end, plus one; 0 = this one
  uint32_t home = 0;       // the partition where it is, plus one; 0 = here
  std::unique_ptr<JobExtras> extras;

  // What is known here of a job of another partition: it has no place in a queue and no timer, and
  // is not shown as a job.
  bool is_elsewhere() const { return home != 0; }

  // Approximate memory beyond its own size.
  uint32_t weight_bytes() const { return static_cast<uint32_t>(spec.size() + result.size()); }
  JobSpecView spec_view() const;
  RetryPolicy retry_policy() const;
  JobPlaces current_places() const;
  JobExtras& need_extras() { return extras ? *extras : *(extras = std::make_unique<JobExtras>()); }
};

// The row of a job. It contains the queue's name; the caller sets the pointer after decoding.
std::string encode_job(const Job& job);
bool decode_job(std::string_view bytes, Job& job, std::string& queue_name);

}  // namespace pawl
