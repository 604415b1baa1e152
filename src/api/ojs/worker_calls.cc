// The calls of workers: fetch, ack, nack, heartbeat. An ack may also fetch the next jobs, and one
// call may carry many acks.
#include "api/app.h"
#include "api/body.h"
#include "api/ojs/worker_self.h"
#include "api/part_call.h"
#include "api/routes.h"
#include "base/read_number.h"
#include "kernel/compositions/run_values.h"
#include "kernel/frame.h"
#include "kernel/jobs/fetch_jobs.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/state.h"
#include "plan/ojs/parse_job.h"
#include "plan/ojs/queue_name.h"
#include "wire/event_projection.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

constexpr size_t kQueuesPerFetchMax = 1000;
constexpr int64_t kMaintenanceLookMs = 1000;  // how often a waiting fetch checks whether
                                              // maintenance has ended
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

void render_leased(json::Writer& w, const State& state, const Job& job) {
  w.begin_object();
  render_job_members(w, job);
  if (job.placed_by != 0) {
    if (std::string_view around = job.spec_view().around; !around.empty()) w.raw(around);
  } else if (!job.parent.run.is_nil()) {
    render_parent_results(w, state, job.parent);
  }
  w.end_object();
}

// A fetch, alone or with an ack: it may wait for a job.
class Fetching {
 public:
  Fetching(App& app, FetchRequest request) : app_(app), request_(std::move(request)) {}

  bool may_wait() const { return request_.wait_ms > 0; }

  // `body`: an open object, to which the jobs are added.
  http::Response answer(Frame& frame, Waiting& waiting, std::string body) {
    if (!until_ms_) until_ms_ = frame.now_ms() + request_.wait_ms;
    Fetched fetched = fetch_or_wait(frame, waiting);
    if (!waiting.parking) {
      app_.workers().fetched(request_.command.worker, request_.command.queues, fetched.jobs.size(),
                             frame.now_ms());
      app_.metrics().jobs_fetched.fetch_add(fetched.jobs.size(), std::memory_order_relaxed);
    }
    json::Writer w(body);
    w.key("jobs").begin_array();
    for (const JobId& id : fetched.jobs)
      render_leased(w, frame.state(), *frame.state().find_job(id));
    w.end_array().end_object();
    http::Response response = json_response(Surface::Ojs, 200, std::move(body));
    if (app_.config().partitions > 1) tell_front(response, fetched);
    return response;
  }

 private:
  // Whoever asks several partitions wants to know whether it is worth asking this one again.
  void tell_front(http::Response& response, const Fetched& fetched) const {
    if (looked_ && fetched.jobs.empty() && fetched.retry_at_ms == 0)
      response.headers.emplace_back("Pawl-Queue-Empty", "true");
    if (fetched.retry_at_ms != 0)
      response.headers.emplace_back("Pawl-Retry-At", std::to_string(fetched.retry_at_ms));
  }

  Fetched fetch_or_wait(Frame& frame, Waiting& waiting) {
    const FetchJobs& command = request_.command;
    bool has_time = !waiting.forbidden && frame.now_ms() < *until_ms_;
    if (app_.draining()) return {};
    if (app_.in_maintenance()) {
      if (has_time) waiting.parking = Parking{{}, *until_ms_, frame.now_ms() + kMaintenanceLookMs};
      return {};
    }
    if (!app_.workers().may_fetch(command.worker)) return {};
    Fetched fetched = fetch_jobs(frame, command);
    looked_ = true;
    if (fetched.jobs.empty() && has_time)
      waiting.parking = Parking{command.queues, *until_ms_, fetched.retry_at_ms};
    return fetched;
  }

  App& app_;
  FetchRequest request_;
  std::optional<int64_t> until_ms_;
  bool looked_ = false;  // nothing but the queues decided the answer
};

void decide_fetching(App& app, Call&& call, bool may_wait, App::DecideAndWait decide) {
  may_wait ? app.decide_while_connected(std::move(call), std::move(decide))
           : app.decide_and_wait(std::move(call), std::move(decide));
}

void fetch(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  PAWL_TRY_CALL(call, auto request, parse_fetch(app, fields, call.tenant));
  Fetching fetching(app, std::move(request));
  bool may_wait = fetching.may_wait();
  decide_fetching(app, std::move(call), may_wait,
                  [fetching = std::move(fetching)](Frame& frame, Waiting& waiting) mutable {
                    return Reply(fetching.answer(frame, waiting, "{"));
                  });
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

// A job that was cancelled during its lease is not an error of the worker: the reply says so.
void render_acked(json::Writer& w, const Job& job) {
  w.field_bool("acknowledged", true).key("id").uuid(job.id).key("job_id").uuid(job.id);
  w.field("state", state_name(job.state));
  w.field_time(job.state == JobState::Cancelled ? "cancelled_at" : "completed_at", job.finished_ms);
}

Reply ack_one(App& app, Frame& frame, const Ack& ack, std::string_view tenant) {
  PAWL_TRY(const Job* job, acknowledge(app, frame, ack, tenant));
  json::ObjectWriter w;
  render_acked(w, *job);
  w.key("job");
  render_job(w, frame.state(), *job);
  return json_response(Surface::Ojs, 200, w.close());
}

// Acks many jobs, each separately.
void ack_many(App& app, Frame& frame, const std::vector<Ack>& acks, std::string_view tenant,
              json::Writer& w) {
  uint64_t done = 0;  // completed, or cancelled during the lease
  uint64_t completed = 0;
  w.key("results").begin_array();
  for (const Ack& ack : acks) {
    w.begin_object().key("job_id").uuid(ack.claim.job);
    auto visible = visible_job(frame.state(), ack.claim.job, tenant);
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
  w.end_array().field_bool("acknowledged", done == acks.size());
  app.metrics().jobs_acked.fetch_add(completed, std::memory_order_relaxed);
  app.workers().finished(acks.empty() ? "" : acks[0].claim.worker, done, frame.now_ms());
}

// Acks one or many jobs, and then fetches if requested. The acks happen once, however long the
// fetch waits.
struct AckAndFetch {
  App& app;
  std::string tenant;
  std::vector<Ack> acks;
  bool many;
  std::optional<Fetching> next;
  std::string acked = {};  // the object of the answer, open; "" before the acks

  Reply operator()(Frame& frame, Waiting& waiting) {
    if (acked.empty()) {
      std::string body;
      json::Writer w(body);
      w.begin_object();
      if (many) {
        ack_many(app, frame, acks, tenant, w);
      } else {
        PAWL_TRY(const Job* job, acknowledge(app, frame, acks[0], tenant));
        render_acked(w, *job);  // the worker has the job: only its outcome is returned
      }
      acked = std::move(body);
      acks.clear();
    }
    if (next) return next->answer(frame, waiting, acked);
    return json_response(Surface::Ojs, 200, acked + "}");
  }
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
  PAWL_TRY_CALL(call, auto acks, parse_acks(app, fields, id_of_path, many));
  auto next = fields.find("fetch");
  if (!next && !many) {
    std::string tenant = call.tenant;
    return app.decide(std::move(call), [&app, tenant, ack = std::move(acks[0])](Frame& frame) {
      return ack_one(app, frame, ack, tenant);
    });
  }
  AckAndFetch acking{app, call.tenant, std::move(acks), many, std::nullopt};
  if (next) {
    Fields fetch_fields(*next, "$.fetch");
    PAWL_TRY_CALL(call, auto request, parse_fetch(app, fetch_fields, call.tenant));
    if (request.command.worker.empty()) request.command.worker = fields.text("worker_id");
    acking.next.emplace(app, std::move(request));
  }
  bool may_wait = acking.next && acking.next->may_wait();
  decide_fetching(app, std::move(call), may_wait, std::move(acking));
}

void ack(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call, !call.params.empty()));
  ack_parsed(app, std::move(call), doc);
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
  PAWL_TRY_CALL(call, auto doc, parse_body(call, !call.params.empty()));
  Fields fields(doc.root());
  PAWL_TRY_CALL(call, auto claim,
                parse_ack(doc.root(), "", app.config().result_bytes_max, path_id(call)));
  NackJob command{.claim = std::move(claim.claim),
                  .error = parse_error(fields),
                  .requeue = fields.boolean("requeue", false)};
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  std::string tenant = call.tenant;
  app.decide(std::move(call), [&app, tenant, command = std::move(command)](Frame& frame) -> Reply {
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

// What the job asks of the worker that holds it (docs/guide/jobs.md): the first member of its meta
// whose name ends with "_directive". "" = nothing.
std::string directive_of(const Job& job) {
  constexpr std::string_view kSuffix = "_directive";
  const JobSpecView spec = job.spec_view();
  if (spec.meta.find(kSuffix) == std::string_view::npos) return "";
  auto meta = json::parse(spec.meta);
  if (!meta.ok()) return "";
  std::string found;
  meta->root().each_member([&](json::View name, json::View value) {
    if (!found.empty() || !value.is_string() || !name.string().ends_with(kSuffix)) return;
    const std::string asked = value.string();
    if (asked == "quiet" || asked == "terminate") found = asked;
  });
  return found;
}

// What the worker should do next: a job that it holds may ask it to stop, as an operator may.
std::string directive_for(const State& state, const std::vector<JobId>& jobs, std::string told) {
  for (const JobId& id : jobs) {
    const Job* job = state.find_job(id);
    if (job == nullptr) continue;
    if (std::string asked = directive_of(*job); !asked.empty()) return asked;
  }
  return told;
}

void heartbeat(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  std::string worker = fields.text("worker_id");
  if (worker.empty() || worker.size() > kWorkerIdBytesMax)
    fields.complain("worker_id", "is required and must be at most 255 bytes");
  std::vector<JobId> jobs;
  for (const std::string& text : active_jobs(fields))
    if (auto id = JobId::parse(text)) jobs.push_back(*id);
  int64_t visibility_ms = fields.integer("visibility_timeout_ms", 0, 0, kVisibilityMost);
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  size_t held = jobs.size();
  (void)read_number(call.request.header(kActiveJobsHeader), held);  // sent with a part of them
  app.workers().beat(worker, held, app.clock().now_ms());
  app.workers().introduces(worker, worker_self(doc.root(), call.tenant), app.clock().now_ms());
  app.decide(std::move(call), [&app, worker, jobs, visibility_ms](Frame& frame) -> Reply {
    json::ObjectWriter w;
    w.field("state", directive_for(frame.state(), jobs, app.workers().state(worker)));
    w.key("jobs_extended").begin_array();
    std::vector<JobId> lost;
    for (const JobId& id : jobs) {
      if (extend_lease(frame, {id, worker, 0}, visibility_ms, app.config().visibility_default_ms)) {
        w.uuid(id);
      } else {
        lost.push_back(id);
      }
    }
    w.end_array().key("jobs_lost").begin_array();
    for (const JobId& id : lost) w.uuid(id);
    w.end_array().field_time("server_time", frame.now_ms());
    return json_response(Surface::Ojs, 200, w.close());
  });
}

}  // namespace

void add_worker_routes(Router& router) {
  router.add({"POST", "/ojs/v1/workers/fetch", Permission::Worker, Routing::Fetch, fetch});
  router.add({"POST", "/ojs/v1/workers/ack", Permission::Worker, Routing::Split, ack});
  router.add({"POST", "/ojs/v1/workers/nack", Permission::Worker, Routing::Split, nack});
  router.add({"POST", "/ojs/v1/jobs/{id}/ack", Permission::Worker, Routing::ById, ack});
  router.add({"POST", "/ojs/v1/jobs/{id}/nack", Permission::Worker, Routing::ById, nack});
  router.add({"POST", "/ojs/v1/jobs/{id}/fail", Permission::Worker, Routing::ById, nack});
  router.add({"POST", "/ojs/v1/workers/heartbeat", Permission::Worker, Routing::Split, heartbeat});
}

}  // namespace pawl::api
