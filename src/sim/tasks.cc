#include "sim/tasks.h"

#include <set>

#include "kernel/compositions/run_values.h"
#include "kernel/frame.h"
#include "kernel/jobs/fetch_jobs.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/job_notes.h"
#include "kernel/run.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl::sim {
namespace {

constexpr std::string_view kMarkKey = "mark";

bool counts_as_conflict(const UniquePolicy& unique, JobState state) {
  return (unique.states & 1u << static_cast<unsigned>(state)) != 0;
}

}  // namespace

// --- every task

std::optional<Parking> SimTask::decide(Frame& frame, bool last_call) {
  decided_ms_ = frame.now_ms();
  return run(frame, last_call);
}

void SimTask::leave_mark(Frame& frame) {
  put_doc(frame, DocKind::Pool, std::string(kMarkKey), "");
  mark_ = frame.state().find_doc(DocKind::Pool, kMarkKey)->version;
}

void SimTask::durable(Wakes&) {
  answered_ = true;
  desk_.verdict.expect(desk_.durable_head >= needs_record, "I3 release",
                       "a reply left before its batch was durable");
  if (desk_.verdict.failed()) return;
  judge_reply();
  if (on_reply && !reply_is_lost) on_reply();
}

void SimTask::refuse(const Error&) {
  if (on_refused) on_refused();
}

// --- push

std::optional<Parking> PushTask::run(Frame& frame, bool) {
  if (wants_mark) leave_mark(frame);
  reply = push_jobs(frame, jobs);
  return std::nullopt;
}

// Admission by the specification, evaluated on the model at the task's mark.
bool PushTask::should_be_refused() const {
  std::set<JobId> ids;
  std::map<std::string, uint64_t> added;
  std::map<std::string, uint32_t> born;  // unique key → states that this list creates
  for (const NewJob& job : jobs) {
    if (!job.id.is_nil() && (!ids.insert(job.id).second || desk_.model.existing(job.id) != nullptr))
      return true;
    auto queue = desk_.model.queues().find(job.queue);
    if (queue != desk_.model.queues().end() && queue->second.settings.depth_max != 0 &&
        desk_.model.waiting(job.queue) + ++added[job.queue] > queue->second.settings.depth_max)
      return true;
    if (job.unique.key.empty()) continue;
    uint32_t state = job.pending ? 1u << static_cast<unsigned>(JobState::Pending)
                     : job.scheduled_ms > decided_ms_
                         ? 1u << static_cast<unsigned>(JobState::Scheduled)
                         : 1u << static_cast<unsigned>(JobState::Available);
    bool conflict = (born[job.unique.key] & job.unique.states) != 0;
    born[job.unique.key] |= state;
    if (job.unique.on_conflict != OnConflict::Reject) continue;
    for (const auto& [id, other] : desk_.model.jobs())
      conflict =
          conflict ||
          (!other.forgotten && other.birth.unique_key == job.unique.key &&
           counts_as_conflict(job.unique, other.state) &&
           (job.unique.period_ms == 0 || decided_ms_ - other.created_ms < job.unique.period_ms));
    if (conflict) return true;
  }
  return false;
}

void PushTask::judge_at_mark() {
  bool refused = should_be_refused();
  if (refused != !reply->ok())
    desk_.verdict.fail("model push", refused ? "a push was taken that should have been refused"
                                             : "a push was refused: " + reply->error().message);
}

void PushTask::judge_reply() {
  if (!reply->ok()) {
    bool full = reply->error().code == ErrorCode::QueueFull;
    bool by_key = reply->error().message.find("unique key") != std::string::npos;
    return desk_.verdict.reach(full     ? Probe::QueueFull
                               : by_key ? Probe::UniqueRejected
                                        : Probe::DuplicateIdRefused);
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Pushed& pushed = (**reply)[i];
    const ModelJob* job = desk_.model.find(pushed.id);
    if (job == nullptr)
      return desk_.verdict.fail("I1 acknowledged",
                                "push of " + short_name(pushed.id) + " is not in the journal");
    if (!pushed.created) {
      desk_.verdict.reach(Probe::UniqueIgnored);
      desk_.verdict.expect(job->birth.unique_key == jobs[i].unique.key, "model push",
                           "ignored in favour of a job with another unique key");
      continue;
    }
    bool same = job->birth.queue == jobs[i].queue && job->birth.spec == jobs[i].spec &&
                job->birth.priority == jobs[i].priority;
    // Its id may have been used again since, also within the record of this push.
    bool used_again =
        journal::record_of(job->born) > needs_record ||
        (job->born_before != 0 && journal::record_of(job->born_before) >= needs_record);
    desk_.verdict.expect(same || used_again, "model push",
                         "the journal holds another job than was pushed");
    desk_.acknowledged.pushed(*job);
  }
}

// --- fetch

std::optional<Parking> FetchTask::run(Frame& frame, bool last_call) {
  if (until_ms_ == 0) until_ms_ = frame.now_ms() + wait_ms;
  Fetched fetched = fetch_jobs(frame, {.queues = queues,
                                       .count = count,
                                       .worker = worker,
                                       .visibility_ms = visibility_ms,
                                       .visibility_default_ms = 30'000});
  if (fetched.retry_at_ms != 0) desk_.verdict.reach(Probe::FetchRateLimited);
  if (fetched.jobs.empty() && !last_call && until_ms_ > frame.now_ms()) {
    desk_.verdict.reach(Probe::FetchParked);
    parked_ = true;
    return Parking{queues, until_ms_, fetched.retry_at_ms};
  }
  if (parked_) desk_.verdict.reach(last_call ? Probe::FetchLastCall : Probe::FetchWoken);
  for (const JobId& id : fetched.jobs) {
    const Job* job = frame.state().find_job(id);
    leases.push_back({id, job->attempt, job->version, job->lease_until_ms});
    read_results(frame.state(), *job);
  }
  if (wants_mark) leave_mark(frame);
  return std::nullopt;
}

void FetchTask::read_results(const State& state, const Job& job) {
  const Run* run = job.parent.run.is_nil() ? nullptr : state.find_run(job.parent.run);
  if (run == nullptr || run->kind != RunKind::Chain || is_callback(index_of(job.parent.place)))
    return;
  for (uint32_t i = 0; i < index_of(job.parent.place); ++i) {
    JobId step(child_of(state, *run, i));
    if (run->child(i) != ChildState::Completed || state.find_job(step) == nullptr) continue;
    results.push_back({step, ""});
    append_child_result(results.back().text, state, *run, i);
  }
}

void FetchTask::judge_at_mark() {
  if (leases.size() >= count) return;
  for (const std::string& queue : queues) {
    auto known = desk_.model.queues().find(queue);
    if (known != desk_.model.queues().end() && known->second.settings.paused &&
        !known->second.ready.empty())
      desk_.verdict.reach(Probe::FetchPaused);
    if (const ModelJob* left = desk_.model.fetchable(queue, decided_ms_))
      desk_.verdict.fail("model fetch", "a fetch came back short, though " +
                                            short_name(left->birth.job) + " was waiting in " +
                                            queue);
  }
}

void FetchTask::judge_reply() {
  for (const SeenResult& seen : results) {
    const ModelJob* step = desk_.model.find(seen.step);
    desk_.verdict.reach(Probe::ParentResultsSeen);
    desk_.verdict.expect(step != nullptr && step->result == seen.text, "I4 results",
                         "a step was given another result than the one that was acknowledged");
  }
  for (const Lease& lease : leases) {
    const ModelJob* job = desk_.model.find(lease.job);
    const ModelPoint* point = job == nullptr ? nullptr : job->point_at(lease.sequence);
    if (point == nullptr || point->state != JobState::Active || point->worker != worker ||
        point->attempt != lease.attempt)
      return desk_.verdict.fail("I6 lease", "job " + short_name(lease.job) +
                                                " was handed out without a lease in the journal");
    desk_.acknowledged.handed_out(lease.sequence, lease.job);
  }
}

}  // namespace pawl::sim
