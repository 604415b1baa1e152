// Workers as operators see and control them, and reports of workers about themselves.
//
// The registry is in memory and needs no decision, so these calls are answered at once; a heartbeat
// that names jobs renews their leases, and is answered when that is durable.
#include "api/ojs/worker_states.h"

#include "api/app.h"
#include "api/body.h"
#include "api/ojs/worker_self.h"
#include "api/part_call.h"
#include "api/routes.h"
#include "api/sweep.h"
#include "base/read_number.h"
#include "kernel/frame.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"

namespace pawl::api {
namespace {

constexpr size_t kJobsScannedPerSlice = 2'000;

void render_worker(json::Writer& w, const WorkerInfo& worker, int64_t now_ms) {
  w.begin_object().field("id", worker.id).field("worker_id", worker.id);
  w.field("state", worker.state).field_bool("stale", is_stale(worker, now_ms));
  if (!worker.told.empty()) w.field("directive", worker.told);
  w.key("queues").begin_array();
  for (const std::string& queue : worker.queues) w.string(queue_of_scoped(queue));
  w.end_array();
  if (!worker.hostname.empty()) w.field("hostname", worker.hostname);
  if (worker.pid != 0) w.field_int("pid", worker.pid);
  w.field_int("active_jobs", worker.active);
  w.field_int("jobs_fetched", worker.fetched);
  w.field_int("jobs_finished", worker.finished);
  w.field_time("started_at", worker.first_seen_ms);
  w.field_time("last_heartbeat_at", worker.last_seen_ms);
  w.field_time("last_heartbeat", worker.last_seen_ms).end_object();
}

void list_workers(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto page, parse_page(call));
  const int64_t now_ms = app.clock().now_ms();
  PAWL_TRY_CALL(call, auto answer, workers_page(page, app.workers().list(now_ms), now_ms));
  call.answer(std::move(answer));
}

void answer_worker(App& app, Call&& call) {
  WorkerInfo worker;
  if (!app.workers().find(call.params[0], worker)) return call.fail(no_such_worker());
  call.answer(worker_response(worker, app.clock().now_ms()));
}

// The worker gets the directive in the answer to its next heartbeat, and no jobs meanwhile.
void tell_worker(App& app, Call&& call) {
  const std::string_view directive = directive_of_path(call.route->pattern).value_or("");
  if (!app.workers().tell(call.params[0], directive)) return call.fail(no_such_worker());
  answer_worker(app, std::move(call));
}

void tell_all_workers(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto asked, read_directive(call));
  call.answer(directive_response(asked, app.workers().tell_all(told_by(asked))));
}

// Deregisters a worker that has gone: its jobs become available at once. A live worker keeps its
// jobs, since otherwise two workers would do them.
struct Deregistration {
  std::string worker;
  bool gone = false;
  bool part = false;  // other partitions may still refuse
  JobId from;
  int64_t started_ms = 0;
  uint64_t requeued = 0;

  Result<bool> slice(Frame& frame) {
    std::vector<JobId> held;
    from = frame.state().each_job_here(from, false, kJobsScannedPerSlice, [&](const Job& job) {
      if (job.state == JobState::Active && job.worker == worker) held.push_back(job.id);
      return true;
    });
    if (!held.empty() && !gone)
      return Error{ErrorCode::Conflict,
                   "worker " + worker + " lives and holds jobs; quiet or terminate it"};
    for (const JobId& id : held) expire_lease(frame, *frame.state().find_job(id));
    requeued += held.size();
    return !from.is_nil() && from.unix_ms() <= started_ms;
  }
};

// The front knows what all nodes have seen of the worker, and forgets it there.
void deregister(App& app, Call&& call) {
  auto work = std::make_shared<Deregistration>();
  work->worker = call.params[0];
  work->started_ms = app.clock().now_ms();
  WorkerInfo worker;
  work->part = is_part(app, call);
  if (work->part) {
    work->gone = call.request.header(kPartHeader) == kPartActAll;
  } else if (app.workers().find(call.params[0], worker)) {
    work->gone = is_stale(worker, work->started_ms);
  } else {
    return call.fail(no_such_worker());
  }
  sweep(
      app, std::move(call), [work](Frame& frame) { return work->slice(frame); },
      [&app, work] {
        if (!work->part) app.workers().forget(work->worker);
        return deregistered_response(work->worker, work->requeued);
      });
}

void worker_health(App& app, Call&& call) {
  WorkerInfo worker;
  if (!app.workers().find(call.params[0], worker)) return call.fail(no_such_worker());
  call.answer(worker_health_response(worker, app.clock().now_ms()));
}

// The states that a worker may report. All words for "working" mean running.
Result<std::string> parse_state(const std::string& said) {
  for (std::string_view word : {"running", "active", "idle", "starting"})
    if (said == word) return std::string("running");
  for (std::string_view word : {"quiet", "drain", "draining", "shutting_down", "terminate",
                                "terminating", "terminated", "stopped"})
    if (said == word) return said;
  return Error{ErrorCode::InvalidRequest,
               "state must be running, quiet, drain, shutting_down, terminate or stopped",
               {{"$.state", "is unknown"}}};
}

struct Beat {
  std::string worker;
  std::string state;  // "" = not said
  size_t active = 0;
  std::vector<JobId> jobs;
};

Result<Beat> parse_beat(const json::Doc& doc) {
  Fields fields(doc.root());
  Beat beat;
  beat.worker = fields.required_text("worker_id");
  if (beat.worker.size() > kWorkerIdBytesMax)
    fields.complain("worker_id", "must be at most 255 bytes");
  auto active = fields.find("active_jobs");
  bool listed = active && active->is_array();
  for (const std::string& text : fields.texts(listed ? "active_jobs" : "active_job_ids"))
    if (auto id = JobId::parse(text)) beat.jobs.push_back(*id);
  beat.active = beat.jobs.size();
  if (active && !listed)
    beat.active = static_cast<size_t>(fields.integer("active_jobs", 0, 0, 1'000'000));
  std::string said = fields.text("state", fields.boolean("shutdown", false) ? "shutting_down" : "");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  if (!said.empty()) {
    PAWL_TRY(beat.state, parse_state(said));
  }
  return beat;
}

void beat(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  PAWL_TRY_CALL(call, auto parsed, parse_beat(doc));
  int64_t now_ms = app.clock().now_ms();
  (void)read_number(call.request.header(kActiveJobsHeader), parsed.active);
  app.workers().beat(parsed.worker, parsed.active, now_ms);
  app.workers().introduces(parsed.worker, worker_self(doc.root(), call.tenant), now_ms);
  if (!parsed.state.empty()) app.workers().says(parsed.worker, parsed.state, now_ms);
  app.decide(std::move(call), [&app, beat = parsed](Frame& frame) -> Reply {
    json::ObjectWriter w;
    w.field_bool("acknowledged", true);
    w.field("state", app.workers().state(beat.worker)).key("jobs_extended").begin_array();
    for (const JobId& id : beat.jobs)
      if (extend_lease(frame, {id, beat.worker, 0}, 0, app.config().visibility_default_ms))
        w.uuid(id);
    w.end_array().field_time("server_time", frame.now_ms());
    return json_response(Surface::Ojs, 200, w.close());
  });
}

constexpr std::pair<std::string_view, std::string_view> kDirectivePaths[] = {
    {"/ojs/v1/admin/workers/{id}/quiet", "quiet"},
    {"/ojs/v1/admin/workers/{id}/terminate", "terminate"},
    {"/ojs/v1/admin/workers/{id}/resume", ""}};

}  // namespace

Reply workers_page(const Page& page, const std::vector<WorkerInfo>& workers, int64_t now_ms) {
  std::string body;
  PAWL_TRY(PageWindow window, PageWindow::open(page, body));
  json::Writer w(body);
  w.begin_object().key("items").begin_array();
  for (const WorkerInfo& worker : workers)
    if (window.takes(worker.id)) render_worker(w, worker, now_ms);
  const WorkerCounts counts = count_workers(workers, now_ms);
  w.end_array().key("summary").begin_object().field_int("total", counts.total);
  w.field_int("running", counts.running).field_int("quiet", counts.quiet);
  w.field_int("stale", counts.stale).end_object();
  write_pagination(w, page, window.end());
  w.end_object();
  return json_response(Surface::Ojs, 200, std::move(body));
}

http::Response worker_response(const WorkerInfo& worker, int64_t now_ms) {
  std::string body;
  json::Writer w(body);
  render_worker(w, worker, now_ms);
  return json_response(Surface::Ojs, 200, std::move(body));
}

http::Response worker_health_response(const WorkerInfo& worker, int64_t now_ms) {
  bool good = worker.effective() == "running" && !is_stale(worker, now_ms);
  json::ObjectWriter w;
  w.field("status", good ? "healthy" : "degraded");
  w.field("worker_id", worker.id).field("state", worker.state);
  w.field_int("active_jobs", worker.active);
  w.field_bool("stale", is_stale(worker, now_ms));
  w.field_time("last_heartbeat_at", worker.last_seen_ms);
  return json_response(Surface::Ojs, 200, w.close());
}

Error no_such_worker() { return {ErrorCode::NotFound, "no such worker has been seen"}; }

Result<std::string> read_directive(const Call& call) {
  PAWL_TRY(json::Doc doc, parse_body(call));
  Fields fields(doc.root());
  std::string asked = fields.required_text("directive");
  if (fields.ok() && asked != "quiet" && asked != "resume" && asked != "terminate")
    fields.complain("directive", "must be quiet, resume or terminate");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  return asked;
}

std::string_view told_by(std::string_view directive) {
  return directive == "resume" ? std::string_view() : directive;
}

std::optional<std::string_view> directive_of_path(std::string_view pattern) {
  for (const auto& [path, directive] : kDirectivePaths)
    if (path == pattern) return directive;
  return std::nullopt;
}

http::Response directive_response(std::string_view directive, size_t workers) {
  json::ObjectWriter w;
  w.field("directive", directive).field_int("workers", workers);
  return json_response(Surface::Ojs, 200, w.close());
}

http::Response deregistered_response(const std::string& worker, uint64_t jobs_requeued) {
  json::ObjectWriter w;
  w.field_bool("deregistered", true).field("id", worker).field("worker_id", worker);
  w.field_int("jobs_requeued", jobs_requeued);
  return json_response(Surface::Ojs, 200, w.close());
}

void add_worker_state_routes(Router& router) {
  router.add({"POST", "/ojs/v1/workers/beat", Permission::Worker, Routing::Split, beat});
  router.add(
      {"GET", "/ojs/v1/workers/{id}/health", Permission::Read, Routing::Gather, worker_health});
  router.add({"GET", "/ojs/v1/admin/workers", Permission::Read, Routing::Gather, list_workers});
  router.add(
      {"GET", "/ojs/v1/admin/workers/{id}", Permission::Read, Routing::Gather, answer_worker});
  router.add({"DELETE", "/ojs/v1/admin/workers/{id}", Permission::Operate, Routing::Broadcast,
              deregister});
  router.add({"POST", "/ojs/v1/admin/workers/directive", Permission::Operate, Routing::Broadcast,
              tell_all_workers});
  for (const auto& [path, directive] : kDirectivePaths)
    router.add({"POST", path, Permission::Operate, Routing::Broadcast, tell_worker});
}

}  // namespace pawl::api
