// Events of one channel, as the clients of the Open Job Spec subscribe to them:
//   GET /events/stream?channel=job:ID | queue:NAME | workflow:ID | all    server-sent events
//   GET /jobs/{id}/events, /queues/{q}/events    the same, or a list if the client does not accept
// a stream
//   GET /jobs/{id}/progress/stream               progress until the job ends
//
// A job's stream ends with the job. For an ended job the end is sent at once; if Last-Event-ID
// shows that the client has seen it, the answer is 204, which tells clients not to reconnect.
#include <set>

#include "api/app.h"
#include "api/ojs/events_query.h"
#include "api/ojs/render_queue.h"
#include "api/routes.h"
#include "base/json.h"
#include "base/quote.h"
#include "engine/waiting_task.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

struct Lifecycle {
  std::string_view event;
  std::string_view from;  // "" = unknown, or part of the event
  std::string_view to;
};

// The state changes of a job by event type.
constexpr Lifecycle kLifecycle[] = {
    {"job.scheduled", "", "scheduled"},      {"job.enqueued", "", "available"},
    {"job.started", "available", "active"},  {"job.completed", "active", "completed"},
    {"job.retrying", "active", "retryable"}, {"job.discarded", "active", "discarded"},
    {"job.requeued", "active", "available"}, {"job.expired", "", "discarded"},
    {"job.cancelled", "", "cancelled"},
};

bool is_envelope_member(std::string_view name) {
  for (std::string_view own : {"specversion", "id", "type", "source", "time", "subject", "data"})
    if (name == own) return true;
  return false;
}

// The usual event, with the members of its data beside it, where some clients expect them.
void render_flat(std::string& out, const OjsEvent& event) {
  std::string text;
  json::Writer w(text);
  render_event(w, event);
  text.pop_back();
  w.field("event", event.type).field_time("timestamp", event.time_ms);
  auto data = json::parse(event.data);
  std::set<std::string> said;
  if (data.ok())
    data->root().each_member([&](json::View key, json::View value) {
      std::string name = key.string();
      if (is_envelope_member(name) || !said.insert(name).second) return;
      w.key(name).raw(value.raw());
    });
  for (const Lifecycle& step : kLifecycle) {
    if (step.event != event.type) continue;
    if (!step.from.empty() && said.count("from") == 0) w.field("from", step.from);
    if (said.count("to") == 0) w.field("to", step.to);
  }
  w.end_object();
  render_sse(out, event, event.type, text);
}

bool is_end_of_job(const OjsEvent& event) {
  for (std::string_view type : {"job.completed", "job.cancelled", "job.discarded", "job.expired"})
    if (event.type == type) return true;
  return false;
}

std::string_view end_event(const Job& job) {
  if (job.state == JobState::Completed) return "job.completed";
  if (job.state == JobState::Cancelled) return "job.cancelled";
  return job.expired ? "job.expired" : "job.discarded";
}

// A share from 0 to 1 with the worker's message and data; finally the end of the job.
void render_progress(std::string& out, const OjsEvent& event) {
  json::ObjectWriter w;
  w.field("job_id", event.subject);
  if (!is_end_of_job(event)) {
    auto data = json::parse(event.data);
    for (std::string_view name : {"progress", "message", "data"})
      if (auto value = data.ok() ? data->root().find(name) : std::nullopt)
        w.field_raw(name, value->raw());
    w.field("state", "active").field_time("updated_at", event.time_ms);
    return render_sse(out, event, "progress", w.close());
  }
  bool done = event.type == "job.completed";
  bool cancelled = event.type == "job.cancelled";
  if (done) w.field_raw("progress", "1.0");
  w.field("state", done ? "completed" : cancelled ? "cancelled" : "discarded");
  w.field_time("updated_at", event.time_ms);
  render_sse(out, event, done ? "completed" : cancelled ? "cancelled" : "failed", w.close());
}

// The job's state at the start of a stream, read once.
class FindJob : public WaitingTask {
 public:
  FindJob(std::string id, std::string tenant) : id_(std::move(id)), tenant_(std::move(tenant)) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    auto job = visible_job(frame.state(), id_, tenant_);
    if (!job.ok()) return failure = job.error(), std::nullopt;
    read(**job);
    return std::nullopt;
  }

  std::optional<Error> failure;
  int64_t created_ms = 0;
  bool finished = false;
  OjsEvent last;  // its end, or the progress it has reported

 private:
  void read(const Job& job) {
    created_ms = job.created_ms;
    finished = is_terminal(job.state);
    last.subject = job.id.text();
    json::Writer w(last.data);
    w.begin_object().key("job_id").uuid(job.id).field("job_type", type_of_spec(job.spec));
    w.field("queue", queue_of_scoped(job.queue->name)).field_int("attempt", job.attempt);
    if (finished) {
      last.type = end_event(job);
      last.time_ms = job.finished_ms;
    } else if (job.extras && !job.extras->progress.empty()) {
      last.type = "job.progress";
      last.time_ms = job.extras->progress_ms;
      w.field_raw("progress", job.extras->progress);
      if (!job.extras->progress_message.empty()) w.field("message", job.extras->progress_message);
      if (!job.extras->progress_data.empty()) w.field_raw("data", job.extras->progress_data);
    }
    w.end_object();
  }

  std::string id_;
  std::string tenant_;
};

// Whether there is an event of the finished job that the client has not seen.
bool has_news(App& app, const FindJob& job, const EventsQuery& query) {
  EventPosition from = std::max(*query.after, position_before(app.store(), job.last.time_ms));
  auto page = read_events(app.store(), from, query.filter, {.events_max = 1});
  return page.ok() && !page->events.empty();
}

// Reader thread. `before` was read before the job was, so nothing lies between.
void stream_job(App& app, Call& call, FindJob& job, EventsQuery query, StreamStyle style,
                EventPosition before) {
  style.ends_with = is_end_of_job;
  job.last.position = before;
  bool resumes = query.after.has_value();
  if (job.finished && !(resumes && has_news(app, job, query))) {
    http::Response response = stream_head();
    if (resumes) response = http::Response{.status = 204};
    if (!resumes) style.render(response.body, job.last);
    return call.answer(std::move(response));
  }
  if (!resumes && !job.last.type.empty() && style.render == render_progress)
    style.render(style.first, job.last);
  if (!resumes) query.after = before;
  stream_events(app, std::move(call), std::move(query), std::move(style));
}

void job_events(App& app, Call&& call, const std::string& id, bool streams, StreamStyle style) {
  PAWL_TRY_CALL(call, auto parsed, parse_events_query(app, call));
  auto shared = std::make_shared<Call>(std::move(call));
  std::function<void()> work = [&app, shared, id, streams, style,
                                query = std::move(parsed)]() mutable {
    EventPosition before = journal_end(app.store());
    auto job = std::make_shared<FindJob>(id, shared->tenant);
    if (Status ran = WaitingTask::run(app.engine(), job); !ran.ok())
      return shared->fail(ran.error());
    if (job->failure) return shared->fail(*job->failure);
    query.filter.job = job->last.subject;
    if (style.render == render_progress)
      query.filter.types = {"job.progress", "job.completed", "job.cancelled", "job.discarded",
                            "job.expired"};
    if (streams) return stream_job(app, *shared, *job, std::move(query), std::move(style), before);
    if (!query.after) query.after = position_before(app.store(), job->created_ms);
    answer_events_page(app, *shared, query);
  };
  if (Status taken = app.readers().run(work); !taken.ok()) shared->fail(taken.error());
}

void job_events_by_path(App& app, Call&& call) {
  std::string id = call.params[0];
  bool streams = wants_stream(call);
  job_events(app, std::move(call), id, streams, {render_flat});
}

void progress_stream(App& app, Call&& call) {
  std::string id = call.params[0];
  job_events(app, std::move(call), id, true, {render_progress});
}

// A queue is created by its first job, and a client may subscribe before; but a list of events of a
// queue that never existed is an error.
void queue_events(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  PAWL_TRY_CALL(call, auto parsed, parse_events_query(app, call));
  parsed.filter.queues = {call.params[0]};
  if (wants_stream(call))
    return stream_events(app, std::move(call), std::move(parsed), {render_flat});
  auto shared = std::make_shared<Call>(std::move(call));
  std::function<void()> work = [&app, shared, scoped, query = std::move(parsed)]() mutable {
    std::optional<int64_t> created_ms;
    auto look = [&](const Frame& frame) {
      const Queue* queue = frame.state().find_queue(scoped);
      if (queue != nullptr && !queue->settings.deleted) created_ms = queue->created_ms;
    };
    if (Status ran = run_on_engine(app.engine(), look, false); !ran.ok())
      return shared->fail(ran.error());
    if (!created_ms)
      return shared->fail({ErrorCode::NotFound, "queue " + shared->params[0] + " not found"});
    if (!query.after) query.after = position_before(app.store(), *created_ms);
    answer_events_page(app, *shared, query);
  };
  if (Status taken = app.readers().run(work); !taken.ok()) shared->fail(taken.error());
}

void channel(App& app, Call&& call) {
  std::string channel = call.query("channel");
  std::string kind = channel.substr(0, channel.find(':'));
  std::string name = kind.size() < channel.size() ? channel.substr(kind.size() + 1) : "";
  bool named = !name.empty();
  if (kind == "job" && named) return job_events(app, std::move(call), name, true, {render_flat});
  if (kind == "workflow" && named) return answer_workflow_events(app, std::move(call), name, true);
  PAWL_TRY_CALL(call, auto query, parse_events_query(app, call));
  if (kind == "queue" && named) {
    query.filter.queues = {name};
  } else if (!channel.empty() && channel != "all") {
    return call.fail({ErrorCode::InvalidRequest,
                      "channel must be job:ID, queue:NAME, workflow:ID or all, not " +
                          in_quotes(channel.substr(0, 128)),
                      {{"$.channel", "is unknown"}}});
  }
  stream_events(app, std::move(call), std::move(query), {render_flat});
}

}  // namespace

void add_event_channel_routes(Router& router) {
  router.add({"GET", "/ojs/v1/events/stream", Permission::Read, Routing::Stream, channel});
  router.add(
      {"GET", "/ojs/v1/jobs/{id}/events", Permission::Read, Routing::ById, job_events_by_path});
  router.add({"GET", "/ojs/v1/queues/{q}/events", Permission::Read, Routing::Stream, queue_events});
  router.add({"GET", "/ojs/v1/jobs/{id}/progress/stream", Permission::Read, Routing::ById,
              progress_stream});
}

}  // namespace pawl::api
