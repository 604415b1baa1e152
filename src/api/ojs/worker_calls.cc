// What workers call: fetch, ack, nack, heartbeat. An ack may carry "and fetch the next", and may be
// many acks at once.
#include "api/app.h"
#include "api/body.h"
#include "api/ojs/worker_self.h"
#include "api/routes.h"
#include "kernel/fetch_jobs.h"
#include "kernel/finish_job.h"
#include "kernel/run_values.h"
#include "wire/event_projection.h"
#include "wire/parse_job.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

constexpr size_t kQueuesPerFetchMax = 1000;
constexpr int64_t kMaintenanceLookMs = 1000;  // how often a waiting fetch looks whether it is over
constexpr int64_t kVisibilityMost = 7LL * 24 * 3600 * 1000;

struct FetchRequest {
  FetchJobs command;
  int64_t wait_ms = 0;
};

Result<FetchRequest> parse_fetch(App& app, Fields& fields, std::string_view tenant) {
  FetchRequest request;
  for (std::string& queue : fields.texts("queues")) {
    if (!is_queue_name(queue)) fields.complain("queues", "holds an invalid queue name");
    request.command.queues.push_back(scoped_queue(tenant, queue));
  }
  if (fields.ok() && request.command.queues.empty()) {
    std::string one = fields.text("queue");
    if (one.empty()) fields.complain("queues", "must name at least one queue");
    request.command.queues.push_back(scoped_queue(tenant, one));
  }
  for (const std::string& queue : request.command.queues)
    if (is_internal_queue(queue))
      fields.complain("queues",
                      "must not name a queue that begins with 'pawl.': those are the server's own");
  if (request.command.queues.size() > kQueuesPerFetchMax)
    fields.complain("queues", "names too many queues");
  int64_t most = static_cast<int64_t>(app.config().fetch_count_max);
  request.command.count =
      static_cast<uint32_t>(std::min<int64_t>(most, fields.integer("count", 1, 1, 1'000'000)));
  request.command.worker = fields.text("worker_id");
  if (request.command.worker.size() > kWorkerIdBytesMax)
    fields.complain("worker_id", "is longer than 255 bytes");
  request.command.visibility_ms = fields.integer("visibility_timeout_ms", 0, 0, kVisibilityMost);
  request.command.visibility_default_ms = app.config().visibility_default_ms;
  request.wait_ms =
      std::min(app.config().fetch_wait_ms_max, fields.integer("wait_ms", 0, 0, 3'600'000));
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  return request;
}

// A fetch, or the "and fetch the next" of an ack: it may wait for a job.
class FetchTask : public Task {
 public:
  FetchTask(App& app, Call&& call, FetchRequest request)
      : app_(app), call_(std::move(call)), request_(std::move(request)) {}

  std::optional<Parking> decide(Frame& frame, bool last_call) override {
    if (!first_done_) {
      first_done_ = true;
      deadline_ms_ = frame.now_ms() + request_.wait_ms;
      if (!before_fetch(frame)) return std::nullopt;
    }
    if (app_.in_maintenance() && !last_call && !app_.draining() && frame.now_ms() < deadline_ms_)
      return Parking{{}, deadline_ms_, frame.now_ms() + kMaintenanceLookMs};
    bool may = app_.workers().may_fetch(request_.command.worker) && !app_.draining() &&
               !app_.in_maintenance();
    Fetched fetched;
    if (may) fetched = fetch_jobs(frame, request_.command);
    if (may && fetched.jobs.empty() && !last_call && frame.now_ms() < deadline_ms_)
      return Parking{request_.command.queues, deadline_ms_, fetched.retry_at_ms};
    app_.workers().fetched(request_.command.worker, request_.command.queues, fetched.jobs.size(),
                           frame.now_ms());
    app_.metrics().jobs_fetched.fetch_add(fetched.jobs.size(), std::memory_order_relaxed);
    json::Writer w(body_);
    if (body_.empty()) w.begin_object();
    w.key("jobs").begin_array();
    for (const JobId& id : fetched.jobs)
      render_leased(w, frame.state(), *frame.state().find_job(id));
    w.end_array().end_object();
    response_ = json_response(Surface::Ojs, 200, std::move(body_));
    return std::nullopt;
  }
  void durable() override { call_.answer(std::move(response_)); }
  void refuse(const Error& error) override { call_.fail(error); }
  size_t weight() const override { return call_.request.body.size(); }

  Call& call() { return call_; }

 protected:
  // What the request does besides; false if it ended there (response_ is set).
  virtual bool before_fetch(Frame&) { return true; }

  static void render_leased(json::Writer& w, const State& state, const Job& job) {
    w.begin_object();
    render_job_members(w, job);
    if (!job.parent.run.is_nil()) render_parent_results(w, state, job);
    w.end_object();
  }

  App& app_;
  Call call_;
  FetchRequest request_;
  std::string body_;  // what stands before "jobs", an open object
  http::Response response_;

 private:
  bool first_done_ = false;
  int64_t deadline_ms_ = 0;
};

void park_aware_submit(App& app, std::shared_ptr<FetchTask> task, bool may_wait) {
  if (may_wait)
    task->call().responder.on_disconnect([weak = std::weak_ptr<FetchTask>(task)] {
      if (auto alive = weak.lock()) alive->abandon();
    });
  app.submit(std::move(task));
}

void fetch(App& app, Call&& call) {
  auto doc = parse_body(call);
  if (!doc.ok()) return call.fail(doc.error());
  Fields fields(doc->root());
  auto request = parse_fetch(app, fields, call.tenant);
  if (!request.ok()) return call.fail(request.error());
  bool may_wait = request->wait_ms > 0;
  park_aware_submit(
      app, std::make_shared<FetchTask>(app, std::move(call), std::move(request).value()), may_wait);
}

// --- ack

struct Ack {
  LeaseClaim claim;
  std::string result;
};

// id_of_path: the job, where the path names it.
Result<Ack> parse_ack(json::View object, const std::string& worker, size_t result_bytes_max,
                      const std::string& id_of_path = "") {
  Fields fields(object);
  Ack ack;
  std::string id = id_of_path.empty() ? fields.text("job_id", fields.text("id")) : id_of_path;
  auto parsed = JobId::parse(id);
  if (id.empty()) fields.complain("job_id", "is required");
  ack.claim.worker = fields.text("worker_id", worker);
  ack.claim.attempt = static_cast<uint32_t>(fields.integer("attempt", 0, 0, UINT32_MAX));
  if (auto result = fields.find("result")) {
    ack.result = result->raw();
    if (ack.result.size() > result_bytes_max)
      return Error{ErrorCode::TooLarge, "result is larger than " +
                                            std::to_string(result_bytes_max) +
                                            " bytes; store it and pass a result_ref"};
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  if (!parsed) return no_such_job(id);
  ack.claim.job = *parsed;
  return ack;
}

Result<const Job*> acknowledge(App& app, Frame& frame, const Ack& ack, std::string_view tenant) {
  PAWL_TRY_DO(visible_job(frame.state(), ack.claim.job, tenant));
  PAWL_TRY_DO(ack_job(frame, ack.claim, ack.result));
  app.workers().finished(ack.claim.worker, 1, frame.now_ms());
  const Job* job = frame.state().find_job(ack.claim.job);
  if (job->state == JobState::Completed)
    app.metrics().jobs_acked.fetch_add(1, std::memory_order_relaxed);
  return job;
}

// A job that was cancelled under the worker's hands is no failure of the worker: it is told.
void render_acked(json::Writer& w, const Job& job) {
  w.field_bool("acknowledged", true).key("id").uuid(job.id).key("job_id").uuid(job.id);
  w.field("state", state_name(job.state));
  w.field_time(job.state == JobState::Cancelled ? "cancelled_at" : "completed_at", job.finished_ms);
}

Result<http::Response> ack_one(App& app, Frame& frame, const Ack& ack, std::string_view tenant) {
  PAWL_TRY(const Job* job, acknowledge(app, frame, ack, tenant));
  std::string body;
  json::Writer w(body);
  w.begin_object();
  render_acked(w, *job);
  w.key("job");
  render_job(w, frame.state(), *job);
  w.end_object();
  return json_response(Surface::Ojs, 200, std::move(body));
}

// Acks one or many, each for itself, and then fetches if asked to.
class AckTask : public FetchTask {
 public:
  AckTask(App& app, Call&& call, FetchRequest request, std::vector<Ack> acks, bool many,
          bool fetch_next)
      : FetchTask(app, std::move(call), std::move(request)),
        acks_(std::move(acks)),
        many_(many),
        fetch_next_(fetch_next) {}

 private:
  bool before_fetch(Frame& frame) override {
    json::Writer w(body_);
    w.begin_object();
    if (many_) {
      ack_many(frame, w);
    } else {
      auto acked = acknowledge(app_, frame, acks_[0], call_.tenant);
      if (!acked.ok()) {
        response_ = call_.failure(acked.error());
        return false;
      }
      render_acked(w, **acked);  // the worker has the job: only its outcome is news
    }
    acks_.clear();
    if (fetch_next_) return true;
    w.end_object();
    response_ = json_response(Surface::Ojs, 200, std::move(body_));
    return false;
  }

  void ack_many(Frame& frame, json::Writer& w) {
    uint64_t done = 0;  // told: completed, or cancelled under the worker's hands
    uint64_t completed = 0;
    w.key("results").begin_array();
    for (const Ack& ack : acks_) {
      w.begin_object().key("job_id").uuid(ack.claim.job);
      auto visible = visible_job(frame.state(), ack.claim.job, call_.tenant);
      Status status = visible.ok() ? ack_job(frame, ack.claim, ack.result)
                                   : Status(Error{ErrorCode::NotFound, "job not found"});
      const Job* job = visible.ok() ? frame.state().find_job(ack.claim.job) : nullptr;
      if (job != nullptr) w.field("state", state_name(job->state));
      completed += status.ok() && job->state == JobState::Completed ? 1 : 0;
      if (!status.ok())
        w.key("error")
            .begin_object()
            .field("code", wire_code(status.error().code))
            .field("message", status.error().message)
            .end_object();
      w.end_object();
      done += status.ok() ? 1 : 0;
    }
    w.end_array().field_bool("acknowledged", done == acks_.size());
    app_.metrics().jobs_acked.fetch_add(completed, std::memory_order_relaxed);
    app_.workers().finished(acks_.empty() ? "" : acks_[0].claim.worker, done, frame.now_ms());
  }

  std::vector<Ack> acks_;
  bool many_;
  bool fetch_next_;
};

Result<std::vector<Ack>> parse_acks(App& app, Fields& fields, const std::string& id_of_path,
                                    bool& many) {
  std::vector<Ack> acks;
  std::string worker = fields.text("worker_id");
  auto list = id_of_path.empty() ? fields.find("acks") : std::nullopt;
  many = list.has_value();
  size_t result_max = app.config().result_bytes_max;
  if (!list) {
    PAWL_TRY(Ack ack, parse_ack(fields.object(), worker, result_max, id_of_path));
    acks.push_back(std::move(ack));
    return acks;
  }
  if (!list->is_array())
    return Error{ErrorCode::InvalidRequest, "acks must be an array of {job_id, result?}"};
  std::optional<Error> refusal;
  list->each_element([&](json::View element) {
    if (refusal) return;
    auto ack = parse_ack(element, worker, result_max);
    if (ack.ok()) {
      acks.push_back(std::move(ack).value());
    } else {
      refusal = Error{ErrorCode::InvalidRequest,
                      "acks[" + std::to_string(acks.size()) + "]: " + ack.error().message};
    }
  });
  if (refusal) return *refusal;
  return acks;
}

// POST /workers/ack names the job in the body, POST /jobs/{id}/ack in the path.
std::string path_id(const Call& call) { return call.params.empty() ? "" : call.params[0]; }

void ack_parsed(App& app, Call&& call, const json::Doc& doc) {
  Fields fields(doc.root());
  bool many = false;
  std::string id_of_path = path_id(call);
  auto acks = parse_acks(app, fields, id_of_path, many);
  if (!acks.ok()) return call.fail(acks.error());
  auto next = fields.find("fetch");
  if (!next && !many) {
    std::string tenant = call.tenant;
    return app.decide(std::move(call),
                      [&app, tenant, ack = std::move(acks.value()[0])](Frame& frame) {
                        return ack_one(app, frame, ack, tenant);
                      });
  }
  FetchRequest request;
  if (next) {
    Fields fetch_fields(*next, "$.fetch");
    auto parsed = parse_fetch(app, fetch_fields, call.tenant);
    if (!parsed.ok()) return call.fail(parsed.error());
    request = std::move(parsed).value();
    if (request.command.worker.empty()) request.command.worker = fields.text("worker_id");
  }
  bool may_wait = request.wait_ms > 0;
  park_aware_submit(app,
                    std::make_shared<AckTask>(app, std::move(call), std::move(request),
                                              std::move(acks).value(), many, next.has_value()),
                    may_wait);
}

void ack(App& app, Call&& call) {
  auto doc = parse_body(call, !call.params.empty());
  if (!doc.ok()) return call.fail(doc.error());
  ack_parsed(app, std::move(call), *doc);
}

// --- nack

JobError parse_error(Fields& fields) {
  JobError error;
  auto value = fields.find("error");
  if (value && value->is_string()) {
    error.code = "handler_error";
    error.message = value->string();
  } else if (value && value->is_object()) {
    Fields inner(*value, "$.error");
    error.code = inner.text("code", "handler_error");
    error.message = inner.text("message");
    error.type = inner.text("type");
    error.details = inner.raw("details");
    auto retryable = inner.find("retryable");
    error.final = retryable && retryable->is_bool() && !retryable->is_true();
    auto details = inner.find("details");
    auto of_details = details && details->is_object() ? details->find("error_class") : std::nullopt;
    if (error.type.empty() && of_details && of_details->is_string())
      error.type = of_details->string();
    if (!inner.ok()) fields.complain("error", "has members of the wrong kind");
  } else if (value) {
    fields.complain("error", "must be an object");
  } else {
    error.code = "handler_error";
  }
  if (error.type.empty()) error.type = error.code;
  return error;
}

void render_nacked(json::Writer& w, const State& state, const Job& job) {
  w.begin_object().key("id").uuid(job.id).key("job_id").uuid(job.id).field("state",
                                                                           state_name(job.state));
  w.field_int("attempt", job.attempt).field_int("max_attempts", job.max_attempts);
  if (job.state == JobState::Retryable) {
    w.field_time("next_attempt_at", job.scheduled_ms)
        .field_int("retry_delay_ms", job.extras->retry_delay_ms);
  } else if (job.state == JobState::Discarded) {
    w.field_time("discarded_at", job.finished_ms).field_time("completed_at", job.finished_ms);
  } else if (job.state == JobState::Cancelled) {
    w.field_time("cancelled_at", job.finished_ms);
  }
  w.key("job");
  render_job(w, state, job);
  w.end_object();
}

void nack(App& app, Call&& call) {
  auto doc = parse_body(call, !call.params.empty());
  if (!doc.ok()) return call.fail(doc.error());
  Fields fields(doc->root());
  auto claim = parse_ack(doc->root(), "", app.config().result_bytes_max, path_id(call));
  if (!claim.ok()) return call.fail(claim.error());
  NackJob command{.claim = std::move(claim->claim),
                  .error = parse_error(fields),
                  .requeue = fields.boolean("requeue", false)};
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  std::string tenant = call.tenant;
  app.decide(std::move(call),
             [&app, tenant, command = std::move(command)](Frame& frame) -> Result<http::Response> {
               PAWL_TRY_DO(visible_job(frame.state(), command.claim.job, tenant));
               PAWL_TRY_DO(nack_job(frame, command));
               std::string body;
               json::Writer w(body);
               const Job& job = *frame.state().find_job(command.claim.job);
               render_nacked(w, frame.state(), job);
               if (job.state != JobState::Cancelled)
                 app.metrics().jobs_nacked.fetch_add(1, std::memory_order_relaxed);
               app.workers().finished(command.claim.worker, 1, frame.now_ms());
               return json_response(Surface::Ojs, 200, std::move(body));
             });
}

// --- heartbeat

std::vector<std::string> active_jobs(Fields& fields) {
  auto value = fields.find("active_jobs");
  // Some clients send a number here and the ids beside it.
  return value && value->is_array() ? fields.texts("active_jobs") : fields.texts("active_job_ids");
}

// What the worker should do next. A job may carry a directive for the worker that runs it: used to
// rehearse shutdowns.
std::string directive(const App&, const State& state, const std::vector<JobId>& jobs,
                      std::string own) {
  for (const JobId& id : jobs) {
    const Job* job = state.find_job(id);
    if (job == nullptr) continue;
    JobSpecView spec = job->spec_view();
    if (spec.meta.find("test_directive") == std::string_view::npos) continue;
    auto meta = json::parse(spec.meta);
    auto wish = meta.ok() ? meta->root().find("test_directive") : std::nullopt;
    if (wish && wish->is_string()) return wish->string();
  }
  return own;
}

void heartbeat(App& app, Call&& call) {
  auto doc = parse_body(call);
  if (!doc.ok()) return call.fail(doc.error());
  Fields fields(doc->root());
  std::string worker = fields.text("worker_id");
  if (worker.empty() || worker.size() > kWorkerIdBytesMax)
    fields.complain("worker_id", "is required and must be at most 255 bytes");
  std::vector<JobId> jobs;
  for (const std::string& text : active_jobs(fields))
    if (auto id = JobId::parse(text)) jobs.push_back(*id);
  int64_t visibility_ms = fields.integer("visibility_timeout_ms", 0, 0, kVisibilityMost);
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  app.workers().beat(worker, jobs.size(), app.clock().now_ms());
  app.workers().introduces(worker, worker_self(doc->root(), call.tenant), app.clock().now_ms());
  app.decide(std::move(call),
             [&app, worker, jobs, visibility_ms](Frame& frame) -> Result<http::Response> {
               std::string body;
               json::Writer w(body);
               w.begin_object().field(
                   "state", directive(app, frame.state(), jobs, app.workers().state(worker)));
               w.key("jobs_extended").begin_array();
               std::vector<JobId> lost;
               for (const JobId& id : jobs) {
                 if (extend_lease(frame, {id, worker, 0}, visibility_ms,
                                  app.config().visibility_default_ms)) {
                   w.uuid(id);
                 } else {
                   lost.push_back(id);
                 }
               }
               w.end_array().key("jobs_lost").begin_array();
               for (const JobId& id : lost) w.uuid(id);
               w.end_array().field_time("server_time", frame.now_ms()).end_object();
               return json_response(Surface::Ojs, 200, std::move(body));
             });
}

}  // namespace

void add_worker_routes(Router& router) {
  router.add({"POST", "/ojs/v1/workers/fetch", Scope::Worker, Surface::Ojs, fetch});
  router.add({"POST", "/ojs/v1/workers/ack", Scope::Worker, Surface::Ojs, ack});
  router.add({"POST", "/ojs/v1/workers/nack", Scope::Worker, Surface::Ojs, nack});
  router.add({"POST", "/ojs/v1/jobs/{id}/ack", Scope::Worker, Surface::Ojs, ack});
  router.add({"POST", "/ojs/v1/jobs/{id}/nack", Scope::Worker, Surface::Ojs, nack});
  router.add({"POST", "/ojs/v1/jobs/{id}/fail", Scope::Worker, Surface::Ojs, nack});
  router.add({"POST", "/ojs/v1/workers/heartbeat", Scope::Worker, Surface::Ojs, heartbeat});
}

}  // namespace pawl::api
