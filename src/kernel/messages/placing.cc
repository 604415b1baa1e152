#include "kernel/messages/placing.h"

#include "base/json_writer.h"
#include "base/partition.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/compositions/run_values.h"
#include "kernel/frame.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/job_copy.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/claims.h"
#include "kernel/messages/message.h"
#include "kernel/messages/outbox.h"
#include "kernel/run.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl {
namespace {

template <class Event>
Event event_of(const Job& job) {
  Event event;
  static_cast<JobEventHead&>(event) = event_head(job);
  return event;
}

// What the home cannot know: what the worker is told of the run.
void add_surroundings(const State& state, NewJob& job) {
  const Run* run = job.parent.run.is_nil() ? nullptr : state.find_run(job.parent.run);
  if (run == nullptr) return;
  JobSpec spec;
  PAWL_CHECK(codec::decode(job.spec, spec));
  json::Writer w(spec.around);
  w.begin_object();
  render_parent_results(w, state, job.parent);
  w.end_object();
  spec.around = spec.around.substr(1, spec.around.size() - 2);
  spec.around_id = run->client_id;
  job.spec = codec::encoded(spec);
}

MemberEnded end_of_member(const Job& job) {
  MemberEnded ended{job.id, job.state, job.result, {}, job.expired, "", job.started_ms};
  if (job.extras) {
    if (!job.extras->errors.empty()) ended.error = job.extras->errors.back();
    ended.reason = job.extras->cancel_reason;
  }
  return ended;
}

MemberEnded refused_member(const JobId& job, const Error& error) {
  MemberEnded ended;
  ended.job = job;
  ended.state = JobState::Discarded;
  ended.error = {.code = std::string(wire_code(error.code)),
                 .type = std::string(wire_code(error.code)),
                 .message = error.message,
                 .details = {}};
  return ended;
}

void want_again(Frame& frame, const JobId& job) {
  if (frame.state().find_doc(DocKind::Unwanted, job.bytes()) != nullptr)
    frame.emit(DocDeleted{DocKind::Unwanted, job.bytes()});
}

void note_revived(Frame& frame, const Job& job) {
  auto event = event_of<JobRevived>(job);
  event.attempt = 0;
  frame.emit(event);
}

std::string step_job_key(const Uuid& id) { return at_partition(id, 0).bytes(); }

}  // namespace

// --- where

uint16_t home_of_job(const State& state, const NewJob& job) {
  const uint16_t partitions = state.partitions();
  if (partitions == 1) return state.partition();
  if (!job.limit.empty()) return home_of(NameKind::Limit, "", job.limit, partitions);
  const Queue* queue = state.find_queue(job.queue);
  QueueSettings settings = queue == nullptr ? QueueSettings{} : queue->settings;
  if (job.queue_rate != 0) settings.rate_per_second = job.queue_rate;
  return is_pinned(settings) ? home_of(NameKind::Queue, "", job.queue, partitions)
                             : state.partition();
}

uint16_t home_of_member(const State& state, const NewJob& job) {
  const uint16_t home = home_of_job(state, job);
  if (home != state.partition() || job.unique.key.empty() || !job.limit.empty()) return home;
  if (const Queue* queue = state.find_queue(job.queue);
      job.queue_rate != 0 || (queue != nullptr && is_pinned(queue->settings)))
    return home;
  return home_of(NameKind::UniqueKey, "", job.unique.key, state.partitions());
}

uint16_t partition_of_mark(uint32_t mark) { return static_cast<uint16_t>(mark - 1); }

Uuid at_partition(Uuid id, uint16_t partition) {
  id.lo = (id.lo & ~uint64_t{0xffff}) | partition;
  return id;
}

Uuid id_at_home(const State& state, const NewJob& job, const Uuid& id) {
  const uint16_t home = home_of_member(state, job);
  return home == state.partition() ? id : at_partition(id, home);
}

// --- the run's partition

Result<JobId> place_elsewhere(Frame& frame, NewJob job, uint16_t home) {
  const State& state = frame.state();
  if (job.id.is_nil()) job.id = JobId(at_partition(frame.fresh_id(), home));
  if (state.find_job(job.id) != nullptr)
    return Error{ErrorCode::Duplicate, "a job with the id " + job.id.text() + " exists already"};
  job.placed_by = uint32_t{state.partition()} + 1;
  JobSpec known;
  known.type = job.type;
  known.args = "[]";
  const bool is_shown = job.parent.run.is_nil();  // by its cron; a run does not show arguments
  note_elsewhere(frame, job, home, "", is_shown ? job.spec : codec::encoded(known));
  hold_id(frame, job.id, home);
  add_surroundings(state, job);
  send_message(frame, home, message_of(MessageKind::Place, job));
  return job.id;
}

void note_elsewhere(Frame& frame, const NewJob& job, uint16_t home, const std::string& unique_key,
                    const std::string& spec) {
  JobCreated event;
  event.job = job.id;
  event.elsewhere = true;
  event.home = uint32_t{home} + 1;
  event.queue = job.queue;
  event.type = job.type;
  event.limit = job.limit;
  event.state = birth_state(job, frame.now_ms());
  event.priority = job.priority;
  event.max_attempts = job.max_attempts;
  event.scheduled_ms = job.scheduled_ms;
  event.unique_key = unique_key;
  event.spec = spec;
  if (unique_key.empty()) event.parent = job.parent;
  frame.emit(event);
}

void forget_noted(Frame& frame, const JobId& id) {
  const Job* job = frame.state().partitions() == 1 ? nullptr : frame.state().find_job(id);
  if (job == nullptr || !job->is_elsewhere()) return;
  JobsForgotten event;
  event.jobs = {id};
  event.elsewhere = true;
  frame.emit(event);
}

void hand_over(Frame& frame, const NewJob& job, uint16_t home) {
  hold_id(frame, job.id, home);
  send_message(frame, home, message_of(MessageKind::Place, job));
}

void cancel_elsewhere(Frame& frame, const Job& job, std::string_view reason, bool only_waiting) {
  MemberCancelled cancelled{job.id, std::string(reason), only_waiting};
  send_message(frame, partition_of_mark(job.home), message_of(MessageKind::Cancel, cancelled));
}

void revive_elsewhere(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job(id);
  MemberRevived revived{id, uint32_t{frame.state().partition()} + 1};
  send_message(frame, partition_of_mark(job->home), message_of(MessageKind::Revive, revived));
}

// One that had ended was revived by hand where it is.
void take_began(Frame& frame, const MemberBegan& began) {
  const Job* job = frame.state().find_job(began.job);
  if (job == nullptr || !job->is_elsewhere()) return;
  if (is_terminal(job->state)) note_revived(frame, *job);
  if (began.waits || job->state == JobState::Active) return;
  auto event = event_of<JobLeased>(*job);
  event.attempt = began.attempt;
  event.worker = began.worker;
  frame.emit(event);
  if (!job->parent.run.is_nil()) job_began(frame, began.job);
}

// Likewise, and it has ended again.
void take_ended(Frame& frame, const MemberEnded& ended) {
  const Job* job = frame.state().find_job(ended.job);
  if (job == nullptr || !job->is_elsewhere()) return;
  if (is_terminal(job->state)) note_revived(frame, *job);
  if (ended.state == JobState::Completed) {
    auto event = event_of<JobCompleted>(*job);
    event.result = ended.result;
    event.started_ms = ended.started_ms;
    frame.emit(event);
  } else if (ended.state == JobState::Cancelled) {
    auto event = event_of<JobCancelled>(*job);
    event.reason = ended.reason;
    frame.emit(event);
  } else if (ended.expired) {
    frame.emit(event_of<JobExpired>(*job));
  } else {
    auto event = event_of<JobFailed>(*job);
    event.to = JobState::Discarded;
    event.error = ended.error;
    frame.emit(event);
  }
  job_ended(frame, ended.job);
}

// --- the home

// A claim of its unique key may have noted it here.
void take_placed(Frame& frame, const NewJob& job) {
  forget_noted(frame, job.id);
  drop_id(frame, job.id);
  auto placed = frame.attempt([&](Frame& in) { return place_job(in, job); });
  if (placed.ok() || job.placed_by == 0) return;
  send_message(frame, partition_of_mark(job.placed_by),
               message_of(MessageKind::Ended, refused_member(job.id, placed.error())));
}

void tell_began(Frame& frame, const Job& job) {
  if (job.attempt == 1) tell_how_it_is(frame, job, partition_of_mark(job.placed_by));
}

void tell_ended(Frame& frame, const Job& job) {
  want_again(frame, job.id);
  tell_how_it_is(frame, job, partition_of_mark(job.placed_by));
}

void tell_how_it_is(Frame& frame, const Job& job, uint16_t to) {
  if (is_terminal(job.state))
    return send_message(frame, to, message_of(MessageKind::Ended, end_of_member(job)));
  MemberBegan began{job.id, job.attempt, job.worker, job.state != JobState::Active};
  send_message(frame, to, message_of(MessageKind::Began, began));
}

bool is_wanted(const State& state, const Job& job) {
  return state.find_doc(DocKind::Unwanted, job.id.bytes()) == nullptr;
}

// Of a job that has ended meanwhile, or was refused, the run's partition is told already.
void take_cancelled(Frame& frame, const MemberCancelled& cancelled) {
  const Job* job = frame.state().find_job(cancelled.job);
  if (job == nullptr || is_terminal(job->state)) return;
  if (cancelled.only_waiting && job->state == JobState::Active) {
    put_doc(frame, DocKind::Unwanted, job->id.bytes(), "1");
  } else {
    cancel_job(frame, *job, cancelled.reason);
  }
}

// Revived by hand, it may be at work already, or have completed.
void take_revived(Frame& frame, const MemberRevived& revived) {
  const Job* job = frame.state().find_job(revived.job);
  if (job == nullptr) {
    const Error gone{ErrorCode::NotFound, "its job was deleted"};
    return send_message(frame, partition_of_mark(revived.placed_by),
                        message_of(MessageKind::Ended, refused_member(revived.job, gone)));
  }
  if (job->state == JobState::Completed) return tell_ended(frame, *job);
  want_again(frame, job->id);
  if (is_terminal(job->state)) revive(frame, *job);
}

// --- jobs of steps

void note_step_job(Frame& frame, const Uuid& id_here, const JobId& job) {
  if (id_here != job) put_doc(frame, DocKind::Elsewhere, step_job_key(id_here), job.bytes());
}

void forget_step_job(Frame& frame, const JobId& job) {
  const std::string key = step_job_key(job);
  if (frame.state().find_doc(DocKind::Elsewhere, key) != nullptr)
    frame.emit(DocDeleted{DocKind::Elsewhere, key});
}

Uuid step_child_id(const State& state, const Uuid& id_here) {
  if (state.partitions() == 1) return id_here;
  const Doc* doc = state.find_doc(DocKind::Elsewhere, step_job_key(id_here));
  return doc == nullptr ? id_here : *Uuid::from_bytes(doc->value);
}

}  // namespace pawl
