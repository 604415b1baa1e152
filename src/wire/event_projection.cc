#include "wire/event_projection.h"

#include <algorithm>

#include "base/read_number.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/run.h"
#include "kernel/settings/cron_jobs.h"
#include "wire/render_job.h"
#include "wire/script_projection.h"

namespace pawl {
namespace {

constexpr std::string_view kIdPrefix = "evt_";
constexpr std::string_view kWorkflowPrefix = "workflow.";
constexpr size_t kResultBytesMax = 16 * 1024;  // larger ones are read from the job
constexpr size_t kRestartedShownMax = 1000;

// Clients see a workflow under the id that they chose.
std::string shown_id(const Uuid& id, const std::string& client_id) {
  return client_id.empty() ? id.text() : client_id;
}

// Projects one journal event: gives each OJS event its position, and its data the common members.
class Told {
 public:
  Told(const journal::EventBytes& from, std::vector<OjsEvent>& out) : from_(from), out_(out) {}

  int64_t time_ms() const { return from_.time_ms; }

  OjsEvent& add(std::string_view type, std::string_view scoped, std::string subject) {
    OjsEvent& event = out_.emplace_back();
    event.position = {from_.sequence, parts_++};
    event.time_ms = from_.time_ms;
    event.type = type;
    event.queue = scoped;
    event.tenant = tenant_of_scoped(scoped);
    event.subject = std::move(subject);
    return event;
  }

  // Opens the data object of a job's event; the caller adds members and closes it.
  json::Writer job(std::string_view type, const JobEventHead& step, uint32_t attempt) {
    OjsEvent& event = add(type, step.queue, step.job.text());
    event.job_type = step.type;
    json::Writer w(event.data);
    w.begin_object().key("job_id").uuid(step.job).field("job_type", step.type);
    w.field("queue", queue_of_scoped(step.queue)).field_int("attempt", attempt);
    return w;
  }
  json::Writer job(std::string_view type, const JobEventHead& step) {
    return job(type, step, step.attempt);
  }

  // The same for a workflow's event.
  json::Writer run(std::string_view type, const RunEventHead& step) {
    OjsEvent& event = add(type, "", shown_id(step.run, step.client_id));
    event.run = step.run.text();
    event.tenant = step.tenant;
    json::Writer w(event.data);
    w.begin_object().field("workflow_id", event.subject);
    w.field("workflow_type", kind_name(step.kind));
    if (!step.name.empty()) w.field("workflow_name", step.name);
    if (!step.client_id.empty()) w.field("client_id", step.client_id);
    return w;
  }

 private:
  const journal::EventBytes& from_;
  std::vector<OjsEvent>& out_;
  uint32_t parts_ = 0;
};

// --- one function for each kind of journal event that users see

void tell(const JobCreated& event, Told& told) {
  if (event.state == JobState::Scheduled) {
    told.job("job.scheduled", event).field_time("scheduled_at", event.scheduled_ms).end_object();
  } else if (event.state == JobState::Available) {
    told.job("job.enqueued", event).field_int("priority", event.priority).end_object();
  }
}

// A retry was reported when the job failed; only a first activation is reported here.
void tell(const JobPromoted& event, Told& told) {
  if (event.from == JobState::Retryable) return;
  told.job("job.enqueued", event).field("from", state_name(event.from)).end_object();
}

void tell(const JobLeased& event, Told& told) {
  json::Writer w = told.job("job.started", event);
  if (!event.worker.empty()) w.field("worker_id", event.worker);
  w.field_time("started_at", told.time_ms()).field_time("lease_expires_at", event.lease_until_ms);
  w.end_object();
}

void tell(const LeaseExtended& event, Told& told) {
  told.job("job.heartbeat", event)
      .field_time("lease_expires_at", event.lease_until_ms)
      .end_object();
}

void tell(const JobCompleted& event, Told& told) {
  json::Writer w = told.job("job.completed", event);
  w.field_int("duration_ms", std::max<int64_t>(0, told.time_ms() - event.started_ms));
  if (event.result.size() > kResultBytesMax) {
    w.field_bool("result_omitted", true);
  } else if (!event.result.empty()) {
    w.field_raw("result", event.result);
  }
  w.end_object();
}

void tell(const JobFailed& event, Told& told) {
  json::Writer failed = told.job("job.failed", event);
  failed.key("error");
  render_error(failed, event.error);
  failed.field_bool("will_retry", event.to == JobState::Retryable).end_object();
  if (event.to == JobState::Retryable) {
    json::Writer w = told.job("job.retrying", event);
    w.field_time("next_attempt_at", event.retry_at_ms);
    w.field_int("retry_delay_ms", event.retry_delay_ms).end_object();
  } else {
    json::Writer w = told.job("job.discarded", event);
    w.key("error");
    render_error(w, event.error);
    w.field_bool("dead_letter", event.dead_letter).end_object();
  }
}

void tell(const JobRequeued& event, Told& told) {
  if (event.reason == RequeueReason::Changed) {
    json::Writer w = told.job("job.changed", event);
    w.field("from", state_name(event.from)).field("to", state_name(event.to));
    w.field_int("priority", event.priority);
    if (event.to == JobState::Scheduled) w.field_time("scheduled_at", event.scheduled_ms);
    w.end_object();
    return;
  }
  bool expired = event.reason == RequeueReason::LeaseExpired;
  told.job("job.requeued", event)
      .field("reason", expired ? "lease_expired" : "returned")
      .end_object();
}

void tell(const JobCancelled& event, Told& told) {
  json::Writer w = told.job("job.cancelled", event);
  w.field("from", state_name(event.from));
  if (!event.reason.empty()) w.field("reason", event.reason);
  w.end_object();
}

void tell(const JobExpired& event, Told& told) { told.job("job.expired", event).end_object(); }

void tell(const JobRevived& event, Told& told) {
  told.job("job.enqueued", event, 0).field("from", state_name(event.from)).end_object();
}

void tell(const ProgressReported& event, Told& told) {
  json::Writer w = told.job("job.progress", event);
  w.field_raw("progress", event.progress);
  if (!event.message.empty()) w.field("message", event.message);
  if (!event.data.empty() && event.data.size() <= kResultBytesMax) w.field_raw("data", event.data);
  w.end_object();
}

void tell(const QueueConfigured& event, Told& told) {
  if (event.copied || event.settings.paused == event.paused_before) return;
  std::string_view name = queue_of_scoped(event.queue);
  OjsEvent& made = told.add(event.settings.paused ? "queue.paused" : "queue.resumed", event.queue,
                            std::string(name));
  json::Writer(made.data).begin_object().field("queue", name).end_object();
}

OjsEvent& cron_event(std::string_view type, const std::string& scoped, Told& told) {
  OjsEvent& made = told.add(type, scoped, std::string(queue_of_scoped(scoped)));
  made.queue.clear();
  return made;
}

// Schedules of /v1 have no cron events: the runs and jobs they start have their own.
bool is_schedule(const std::string& scoped) {
  return queue_of_scoped(scoped).substr(0, 1) == std::string_view(&kScheduleMark, 1);
}

void tell(const CronFired& event, Told& told) {
  if (is_schedule(event.name)) return;
  OjsEvent& made = cron_event("cron.triggered", event.name, told);
  json::Writer w(made.data);
  w.begin_object().field("cron_name", made.subject).key("job_id").uuid(event.job);
  w.field_time("scheduled_for", event.due_ms);
  w.field_time_if_set("next_run_at", event.next_ms);
  w.end_object();
}

void tell(const CronSkipped& event, Told& told) {
  if (is_schedule(event.name)) return;
  OjsEvent& made = cron_event("cron.skipped", event.name, told);
  json::Writer w(made.data);
  w.begin_object().field("cron_name", made.subject).field("reason", event.reason);
  w.field_time("scheduled_for", event.due_ms);
  w.field_time_if_set("next_run_at", event.next_ms);
  w.end_object();
}

bool has_steps(RunKind kind) { return kind == RunKind::Chain || kind == RunKind::Dag; }

// Adds the progress of the workflow and ends the data. Older journals have no total.
void end_with_counts(json::Writer& w, const RunEventHead& step) {
  if (step.total != 0) {
    w.field_int("total", step.total).field_int("completed", step.completed);
    w.field_int("failed", step.failed);
    w.field_int(has_steps(step.kind) ? "remaining_steps" : "remaining_jobs",
                step.total - step.completed - step.failed - step.cancelled);
  }
  w.end_object();
}

void tell(const RunCreated& event, Told& told) {
  json::Writer w = told.run("workflow.created", RunEventHead{event.run, event.kind, event.name,
                                                             event.tenant, event.client_id});
  if (!event.parent.run.is_nil())
    w.field("parent_workflow_id", shown_id(event.parent.run, event.parent_client_id))
        .field_int("step_index", index_of(event.parent.place));
  w.field_int("total", event.total).field_int("job_count", event.job_count);
  w.field_int(has_steps(event.kind) ? "remaining_steps" : "remaining_jobs", event.total);
  if (event.timeout_ms != 0) w.field_time("times_out_at", told.time_ms() + event.timeout_ms);
  w.end_object();
}

void tell(const RunStarted& event, Told& told) {
  json::Writer w = told.run("workflow.started", event);
  end_with_counts(w, event);
}

// Empty if another event reports it: a cancelled job, or the end of the whole workflow.
std::string_view child_event_type(const RunChildDone& event) {
  switch (event.outcome) {
    case ChildState::Completed:
      return has_steps(event.kind) ? "workflow.step_completed" : "workflow.job_completed";
    case ChildState::Failed:
      return has_steps(event.kind) ? "workflow.step_failed" : "workflow.job_failed";
    case ChildState::Skipped:
      return "workflow.step_skipped";
    case ChildState::Cancelled:
      return event.child.is_nil() ? "workflow.step_skipped" : "";
    case ChildState::Waiting:
    case ChildState::Started:
      return "";
  }
  return "";
}

bool is_kind_name(std::string_view type) {
  for (RunKind kind : {RunKind::Chain, RunKind::Group, RunKind::Batch, RunKind::Dag, RunKind::Map})
    if (type == kind_name(kind)) return true;
  return false;
}

// The end of a callback is reported by its job; its start was reported before.
void tell(const RunChildDone& event, Told& told) {
  std::string_view type = is_callback(event.index) ? "" : child_event_type(event);
  if (type.empty()) return;
  json::Writer w = told.run(type, event);
  w.field_int("step_index", event.index).field("step_type", event.type);
  if (!event.child.is_nil())
    w.field(is_kind_name(event.type) ? "child_workflow_id" : "job_id",
            shown_id(event.child, event.child_client_id));
  if (type != "workflow.step_skipped")
    w.field_int("duration_ms", std::max<int64_t>(0, event.duration_ms));
  if (!event.reason.empty()) w.field("reason", event.reason);
  end_with_counts(w, event);
}

void tell(const RunCallbackFired& event, Told& told) {
  json::Writer w = told.run("workflow.callback_fired", event);
  w.field("callback", role_name(event.role)).key("job_id").uuid(event.job);
  end_with_counts(w, event);
}

void tell(const RunFinished& event, Told& told) {
  json::Writer w = told.run(event.state == RunState::Completed   ? "workflow.completed"
                            : event.state == RunState::Cancelled ? "workflow.cancelled"
                                                                 : "workflow.failed",
                            event);
  if (!event.reason.empty()) w.field("reason", event.reason);
  if (event.failed_callbacks != 0) {
    w.key("failed_callbacks").begin_array();
    for (size_t role = 0; role < kCallbackRoles; ++role)
      if ((event.failed_callbacks >> role & 1) != 0)
        w.string(role_name(static_cast<CallbackRole>(role)));
    w.end_array();
  }
  end_with_counts(w, event);
}

void tell(const RunRetried& event, Told& told) {
  json::Writer w = told.run("workflow.retried", event);
  w.field_int("restarted", event.restart.size());
  w.key("restarted_steps").begin_array();
  for (size_t i = 0; i < std::min(event.restart.size(), kRestartedShownMax); ++i)
    w.integer(event.restart[i]);
  w.end_array();
  end_with_counts(w, event);
}

template <class Event>
void tell_job_event(const journal::EventBytes& from, std::vector<OjsEvent>& out) {
  if constexpr (requires(const Event& event, Told& told) { tell(event, told); }) {
    Event event;
    if (!codec::decode(from.bytes, event)) return;  // skipped; recovery refuses such a record
    if constexpr (requires { event.elsewhere; })
      if (event.elsewhere) return;  // told from the journal of the partition where the job is
    Told told(from, out);
    tell(event, told);
  }
}

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return list.empty() || std::find(list.begin(), list.end(), wanted) != list.end();
}

// Version 7 leaves 74 bits: the sequence and two bits for the part fit.
Uuid event_uuid(const OjsEvent& event) {
  uint64_t sequence = event.position.sequence;
  Uuid id;
  id.hi = static_cast<uint64_t>(event.time_ms) << 16 | 0x7000 | sequence >> 60;
  id.lo = uint64_t{2} << 62 | ((sequence << 2 | event.position.part) & (~uint64_t{0} >> 2));
  return id;
}

}  // namespace

std::string EventPosition::text() const {
  std::string text = std::to_string(sequence);
  return part == kAllParts ? text : text + "." + std::to_string(part);
}

std::optional<EventPosition> EventPosition::parse(std::string_view text) {
  EventPosition position;
  if (text.substr(0, kIdPrefix.size()) == kIdPrefix) {
    auto id = Uuid::parse(text.substr(kIdPrefix.size()));
    if (!id || !id->is_v7()) return std::nullopt;
    position.sequence = (id->hi & 0xf) << 60 | (id->lo << 2 >> 4);
    position.part = static_cast<uint32_t>(id->lo & 3);
    return position;
  }
  size_t dot = text.find('.');
  if (!read_number(text.substr(0, dot), position.sequence)) return std::nullopt;
  if (dot != std::string_view::npos &&
      (!read_number(text.substr(dot + 1), position.part) || position.part > kAllParts))
    return std::nullopt;
  return position;
}

std::string OjsEvent::id() const { return std::string(kIdPrefix) + event_uuid(*this).text(); }

void project(const journal::EventBytes& event, std::vector<OjsEvent>& out) {
  project_script(event, out);
  switch (event.type) {
#define PAWL_EVENT(number, name) \
  case EventType::name:          \
    return tell_job_event<name>(event, out);
#include "journal/event_types.def"
#undef PAWL_EVENT
  }
}

void render_event(json::Writer& w, const OjsEvent& event) {
  w.begin_object().field("specversion", "1.0").field("id", event.id()).field("type", event.type);
  w.field("source", "/ojs/v1").field_time("time", event.time_ms).field("subject", event.subject);
  w.field_raw("data", event.data).end_object();
}

const std::vector<std::string_view>& event_type_names() {
  static const std::vector<std::string_view> kNames = {
      "cron.skipped",
      "cron.triggered",
      "job.cancelled",
      "job.changed",
      "job.completed",
      "job.discarded",
      "job.enqueued",
      "job.expired",
      "job.failed",
      "job.heartbeat",
      "job.progress",
      "job.requeued",
      "job.retrying",
      "job.scheduled",
      "job.started",
      "queue.paused",
      "queue.resumed",
      "workflow.callback_fired",
      "workflow.cancelled",
      "workflow.completed",
      "workflow.created",
      "workflow.failed",
      "workflow.job_completed",
      "workflow.job_failed",
      "workflow.retried",
      "workflow.started",
      "workflow.step_completed",
      "workflow.step_failed",
      "workflow.step_skipped",
  };
  return kNames;
}

bool matches_event_type(std::string_view pattern, std::string_view type) {
  if (pattern == "*") return true;
  if (pattern.size() > 1 && pattern.substr(pattern.size() - 2) == ".*")
    return type.substr(0, pattern.size() - 1) == pattern.substr(0, pattern.size() - 1);
  return pattern == type;
}

bool EventFilter::wants(const OjsEvent& event) const {
  if (!run.empty() && event.run != run) return false;
  if (!job.empty() && event.subject != job) return false;
  if (event.of_definition && !definitions) return false;
  if (!tenant.empty() && event.tenant != tenant) return false;
  if (queues.empty() ? is_internal_queue(event.queue)
                     : event.queue.empty() || !contains(queues, queue_of_scoped(event.queue)))
    return false;
  if (!contains(job_types, event.job_type)) return false;
  if (!workflow.empty() &&
      (event.run != workflow || event.type.substr(0, kWorkflowPrefix.size()) != kWorkflowPrefix))
    return false;
  return types.empty() || std::any_of(types.begin(), types.end(), [&](const std::string& pattern) {
           return matches_event_type(pattern, event.type);
         });
}

}  // namespace pawl
