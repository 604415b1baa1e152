#include "wire/render_job.h"

#include "kernel/compositions/run_values.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "plan/ojs/job_spec.h"

namespace pawl {
namespace {

// A time given by the client is echoed unchanged; a computed time has the server's format.
void given_time(json::Writer& w, std::string_view name, std::string_view text, int64_t at_ms) {
  if (!text.empty()) {
    w.field(name, text);
  } else {
    w.field_time_if_set(name, at_ms);
  }
}

void render_end(json::Writer& w, const Job& job) {
  if (job.finished_ms == 0) return;
  if (job.state == JobState::Completed || (job.state == JobState::Discarded && !job.expired))
    w.field_time("completed_at", job.finished_ms);
  if (job.state == JobState::Cancelled) w.field_time("cancelled_at", job.finished_ms);
  if (job.state == JobState::Discarded) w.field_time("discarded_at", job.finished_ms);
}

void render_extras(json::Writer& w, const Job& job) {
  const JobExtras& extras = *job.extras;
  if (!extras.errors.empty()) {
    if (job.state != JobState::Completed) {
      w.key("error");
      render_error(w, extras.errors.back());
    }
    w.key("errors").begin_array();
    for (const JobError& error : extras.errors) render_error(w, error);
    w.end_array();
    w.field_int("retry_delay_ms", extras.retry_delay_ms);
  }
  if (!extras.progress.empty()) {
    w.field_raw("progress", extras.progress);
    if (!extras.progress_message.empty()) w.field("progress_message", extras.progress_message);
  }
  if (extras.checkpoint_sequence != 0) {
    w.key("checkpoint").begin_object().field_raw("state", extras.checkpoint);
    w.field_int("sequence", extras.checkpoint_sequence)
        .field_time("created_at", extras.checkpoint_ms)
        .end_object();
  }
  if (job.state == JobState::Cancelled && !extras.cancel_reason.empty())
    w.field("cancel_reason", extras.cancel_reason);
}

}  // namespace

void render_error(json::Writer& w, const JobError& error) {
  w.begin_object()
      .field("code", error.code)
      .field("type", error.type)
      .field("message", error.message);
  w.field_int("attempt", error.attempt).field_time("occurred_at", error.at_ms);
  if (!error.details.empty()) w.field_raw("details", error.details);
  if (error.final) w.field_bool("retryable", false);
  w.end_object();
}

void render_job_members(json::Writer& w, const Job& job) {
  JobSpecView spec = job.spec_view();
  w.field("specversion", "1.0").key("id").uuid(job.id).field("type", spec.type);
  w.field("state", state_name(job.state));
  w.field("queue", queue_of_scoped(job.queue->name))
      .field_raw("args", spec.args)
      .field_raw("meta", spec.meta);
  w.field_int("priority", job.priority)
      .field_int("attempt", job.attempt)
      .field_int("max_attempts", job.max_attempts);
  w.field_time("created_at", job.created_ms)
      .field_time("enqueued_at", job.enqueued_ms != 0 ? job.enqueued_ms : job.created_ms);
  if (!spec.options.empty()) w.field_raw("options", spec.options);
  if (!spec.retry_text.empty()) w.field_raw("retry", spec.retry_text);
  if (!spec.unique_text.empty()) w.field_raw("unique", spec.unique_text);
  if (!spec.tags.empty()) w.field_raw("tags", spec.tags);
  if (spec.timeout_ms != 0) w.field_int("timeout_ms", spec.timeout_ms);
  if (job.state == JobState::Retryable) {
    w.field_time("next_attempt_at", job.scheduled_ms).field_time("scheduled_at", job.scheduled_ms);
  } else {
    given_time(w, "scheduled_at", spec.scheduled_text, job.attempt == 0 ? job.scheduled_ms : 0);
  }
  given_time(w, "expires_at", spec.expires_text, job.expires_ms);
  w.field_time_if_set("started_at", job.started_ms);
  if (job.state == JobState::Active) {
    w.field("worker_id", job.worker).field_time("lease_expires_at", job.lease_until_ms);
  }
  render_end(w, job);
  if (!job.result.empty()) w.field_raw("result", job.result);
  if (job.extras) render_extras(w, job);
  if (!spec.extra.empty()) w.raw(spec.extra);
}

namespace {

std::string shown_run_of(const State& state, const Job& job) {
  if (job.placed_by != 0)
    if (std::string_view id = job.spec_view().around_id; !id.empty()) return std::string(id);
  return shown_run_id(state, job.parent.run);
}

}  // namespace

void render_job(json::Writer& w, const State& state, const Job& job) {
  w.begin_object();
  if (!job.parent.run.is_nil()) w.field("workflow_id", shown_run_of(state, job));
  render_job_members(w, job);
  w.end_object();
}

std::string job_body(const State& state, const Job& job, JobState previous, bool always_errors) {
  std::string body;
  body.reserve(2 * size_t{job.weight_bytes()} + 1024);
  json::Writer w(body);
  w.begin_object();
  if (!job.parent.run.is_nil()) w.field("workflow_id", shown_run_of(state, job));
  if (previous != JobState::None) w.field("previous_state", state_name(previous));
  render_job_members(w, job);
  bool has_errors = job.extras && !job.extras->errors.empty();
  if (always_errors && !has_errors) w.field_raw("errors", "[]");
  // Last, so that it wins over a member of that name in the envelope.
  size_t size = body.size();
  body.append(",\"job\":").append(body, 0, size).append("}}");
  return body;
}

Result<const Job*> visible_job(const State& state, const JobId& id, std::string_view tenant) {
  const Job* job = state.find_job_here(id);
  if (job == nullptr || (!tenant.empty() && tenant_of_scoped(job->queue->name) != tenant))
    return no_such_job(id.text());
  return job;
}

Result<const Job*> visible_job(const State& state, std::string_view id_text,
                               std::string_view tenant) {
  if (auto id = JobId::parse(id_text)) return visible_job(state, *id, tenant);
  return no_such_job(id_text);
}

Error no_such_job(std::string_view id_text) {
  std::string id(id_text.substr(0, 64));
  return Error{ErrorCode::NotFound, "job " + id + " not found"}
      .with("resource_type", "job")
      .with("resource_id", id);
}

}  // namespace pawl
