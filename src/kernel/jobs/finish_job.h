// How a job ends: acknowledged, failed, returned, cancelled, expired; and how a finished one is
// revived or deleted.
//
// Only the current lease can finish a job (I6): the state must be active, and the worker and
// attempt, where the caller names them, must be the lease's. Everything else is Conflict and
// changes nothing, with one exception: a worker whose job was cancelled during its lease is told so
// and not refused, since it could not know.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"
#include "kernel/jobs/lease_claim.h"

namespace pawl {

class Frame;
struct Job;

// Ok without an effect if the job was cancelled while this lease held it.
Status ack_job(Frame& frame, const LeaseClaim& claim, const std::string& result);

struct NackJob {
  LeaseClaim claim;
  JobError error;
  bool requeue = false;
};
Status nack_job(Frame& frame, const NackJob& command);  // likewise

// Renews the lease of an active job of this worker; returns whether it was renewed.
bool extend_lease(Frame& frame, const LeaseClaim& claim, int64_t asked_ms, int64_t default_ms);

Status cancel_job(Frame& frame, const JobId& job, std::string_view reason);
void cancel_job(Frame& frame, const Job& job, std::string_view reason);
Status activate_job(Frame& frame, const JobId& job);

// discarded → available with attempts starting again; NotFound unless the job is discarded.
Status revive_job(Frame& frame, const JobId& job);
// The same by an operator, who may also revive a cancelled job.
Status revive_ended_job(Frame& frame, const JobId& job);
Status delete_dead(Frame& frame, const JobId& job);
// The same for a job that its run restarts, however it ended.
void revive(Frame& frame, const Job& job);

// Called by timers when the job's due time has come.
void expire_lease(Frame& frame, const Job& job);
void fail_by_timeout(Frame& frame, const Job& job);
void expire_job(Frame& frame, const Job& job);

}  // namespace pawl
