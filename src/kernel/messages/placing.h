// Jobs of runs and crons that live at another partition.
//
// A job with a concurrency key lives at the home of the key, and a job of a pinned queue at that of
// the queue: only there can limits be exact. If a run's member or a cron's firing has another home
// than the run or cron, its partition keeps a job too, which is elsewhere (Job::is_elsewhere): it
// follows what the home tells of the real one, under the same id, so that everything about the run
// (its children, results, retry, retention) is as if the job were here. An id names its partition,
// so this one names the home.
//
//   Place    the run's partition → home: make this job
//   Began    home → the run's partition: a worker has it for the first time
//   Ended    likewise: it has ended, or was refused
//   Cancel   the run's partition → home: the run no longer needs it
//   Revive   likewise: the run is retried, and restarts it
//
// Messages between two partitions keep their order, so each end is that of the latest start.
//
// Thread: that of the state.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/uuid.h"
#include "journal/job_events.h"

namespace pawl {

class Frame;
class State;
struct Job;
struct NewJob;

// Where a pushed job is to live; this partition if no limit and no queue asks for another.
uint16_t home_of_job(const State& state, const NewJob& job);
// The same of a member or firing, which also follows its unique key: it cannot wait for a claim.
uint16_t home_of_member(const State& state, const NewJob& job);
Uuid at_partition(Uuid id, uint16_t partition);  // the same id, made to name this partition
Uuid id_at_home(const State& state, const NewJob& job, const Uuid& id);  // of a member
// Of Job::placed_by and Job::home, which are partitions plus one.
uint16_t partition_of_mark(uint32_t mark);

// Begins a member or firing at its home: the job must have an id there, unless it has none yet.
// Duplicate if the id is known here already.
Result<JobId> place_elsewhere(Frame& frame, NewJob job, uint16_t home);
// A pushed job, for which nobody here waits.
void hand_over(Frame& frame, const NewJob& job, uint16_t home);
// What is to be known here of a job that is, or will be, at another partition.
void note_elsewhere(Frame& frame, const NewJob& job, uint16_t home, const std::string& unique_key,
                    const std::string& spec);
// Forgets that, if there is any, and a job with this id is to be here.
void forget_noted(Frame& frame, const JobId& job);

// --- of a job that is elsewhere
// `only_waiting`: a worker that has it may go on, but it is not tried again.
void cancel_elsewhere(Frame& frame, const Job& job, std::string_view reason, bool only_waiting);
void revive_elsewhere(Frame& frame, const JobId& job);

// --- of a job that another partition has placed here (Job::placed_by)
void tell_began(Frame& frame, const Job& job);  // after a lease
void tell_ended(Frame& frame, const Job& job);
// Its state, if it is at work or has ended, to a partition that follows it.
void tell_how_it_is(Frame& frame, const Job& job, uint16_t to);
bool is_wanted(const State& state, const Job& job);  // its run has not ended, as far as known

// --- jobs of steps
// An effect's number gives the id that its job has if it is here. If it is elsewhere, this is noted
// (DocKind::Elsewhere).
void note_step_job(Frame& frame, const Uuid& id_here, const JobId& job);
void forget_step_job(Frame& frame, const JobId& job);
Uuid step_child_id(const State& state, const Uuid& id_here);

// --- messages, taken
struct MemberBegan {
  JobId job;
  uint32_t attempt = 0;
  std::string worker;
  bool waits = false;  // not yet: it was revived

  static void fields(auto& self, auto&& visit) {
    visit(1, "job", self.job);
    visit(2, "attempt", self.attempt);
    visit(3, "worker", self.worker);
    visit(4, "waits", self.waits);
  }
};
struct MemberEnded {
  JobId job;
  JobState state = JobState::None;
  std::string result;
  JobError error;  // the last one
  bool expired = false;
  std::string reason;  // of its cancelling
  int64_t started_ms = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "job", self.job);
    visit(2, "state", self.state);
    visit(3, "result", self.result);
    visit(4, "error", self.error);
    visit(5, "expired", self.expired);
    visit(6, "reason", self.reason);
    visit(7, "started_ms", self.started_ms);
  }
};
struct MemberCancelled {
  JobId job;
  std::string reason;
  bool only_waiting = false;

  static void fields(auto& self, auto&& visit) {
    visit(1, "job", self.job);
    visit(2, "reason", self.reason);
    visit(3, "only_waiting", self.only_waiting);
  }
};
struct MemberRevived {
  JobId job;
  uint32_t placed_by = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "job", self.job);
    visit(2, "placed_by", self.placed_by);
  }
};
void take_placed(Frame& frame, const NewJob& job);
void take_began(Frame& frame, const MemberBegan& began);
void take_ended(Frame& frame, const MemberEnded& ended);
void take_cancelled(Frame& frame, const MemberCancelled& cancelled);
void take_revived(Frame& frame, const MemberRevived& revived);

}  // namespace pawl
