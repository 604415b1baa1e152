// POST /ojs/v1/jobs and calls on one job.
#include "api/app.h"
#include "api/body.h"
#include "api/decide_on.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/claims.h"
#include "kernel/state.h"
#include "plan/ojs/parse_job.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

// How full the queue is, for producers that want to slow down before they are refused.
void add_depth_headers(http::Response& response, const Queue& queue) {
  response.headers.emplace_back("X-OJS-Queue-Depth", std::to_string(queue.depth()));
  response.headers.emplace_back("X-OJS-Queue-Bound", std::to_string(queue.settings.depth_max));
}

// A refusal by a full queue includes its depth. The queue is the first bounded one in the request
// without room.
Reply refused(const Frame& frame, const std::vector<NewJob>& jobs, const Error& error,
              const std::string& request_id) {
  if (error.code != ErrorCode::QueueFull) return error;
  http::Response response = error_response(Surface::Ojs, error, request_id);
  std::map<std::string_view, uint64_t> added;
  for (const NewJob& job : jobs) {
    const Queue* queue = frame.state().find_queue(job.queue);
    if (queue == nullptr || queue->settings.depth_max == 0 ||
        queue->depth() + ++added[job.queue] <= queue->settings.depth_max)
      continue;
    add_depth_headers(response, *queue);
    break;
  }
  return response;
}

void add_pressure_headers(http::Response& response, const Queue& queue) {
  if (queue.settings.depth_max == 0) return;
  add_depth_headers(response, queue);
  uint64_t permille = queue.depth() * 1000 / queue.settings.depth_max;
  if (queue.settings.warn_permille == 0 || permille < queue.settings.warn_permille) return;
  std::string hundredths = std::to_string(std::min<uint64_t>(permille, 1000) / 10);
  response.headers.emplace_back(
      "X-OJS-Queue-Pressure",
      permille >= 1000 ? "1.00" : "0." + std::string(hundredths.size() < 2, '0') + hundredths);
}

void push_one(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  EnvelopeRules rules{
      .now_ms = app.clock().now_ms(), .tenant = call.tenant, .partitions = app.config().partitions};
  PAWL_TRY_CALL(call, auto job, parse_job(doc.root(), rules));
  std::string request_id(call.request.id);
  auto jobs = std::make_shared<std::vector<NewJob>>(1, std::move(job));
  app.decide_claiming(
      std::move(call), [jobs](Frame& frame) { return claims_of_jobs(frame, *jobs); },
      [&app, request_id, jobs](Frame& frame, Waiting&, const NameAnswers* answers) -> Reply {
        auto pushed = push_jobs(frame, *jobs, answers);
        if (!pushed.ok()) return refused(frame, *jobs, pushed.error(), request_id);
        const Job& made = pushed_job(frame.state(), (*pushed)[0]);
        http::Response response = json_response(Surface::Ojs, (*pushed)[0].created ? 201 : 200,
                                                job_body(frame.state(), made));
        response.headers.emplace_back("Location", "/ojs/v1/jobs/" + made.id.text());
        add_pressure_headers(response, *made.queue);
        app.metrics().jobs_pushed.fetch_add(1, std::memory_order_relaxed);
        return response;
      });
}

Result<std::vector<NewJob>> parse_batch(const json::Doc& doc, const EnvelopeRules& rules,
                                        size_t jobs_max) {
  auto list_jobs = doc.root().find("jobs");
  if (!list_jobs || !list_jobs->is_array() || list_jobs->size() == 0)
    return Error{ErrorCode::InvalidRequest,
                 "jobs must be an array with at least one job",
                 {{"$.jobs", "must be a non-empty array"}}};
  if (list_jobs->size() > jobs_max)
    return Error{ErrorCode::TooLarge, "jobs holds more than " + std::to_string(jobs_max) + " jobs"};
  std::vector<NewJob> jobs;
  jobs.reserve(list_jobs->size());
  std::optional<Error> refusal;
  list_jobs->each_element([&](json::View envelope) {
    if (refusal) return;
    auto job = parse_job(envelope, rules, "$.jobs[" + std::to_string(jobs.size()) + "]");
    if (job.ok()) {
      jobs.push_back(std::move(job).value());
    } else {
      refusal = job.error();
    }
  });
  if (refusal) return *refusal;
  return jobs;
}

void push_batch(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  EnvelopeRules rules{
      .now_ms = app.clock().now_ms(), .tenant = call.tenant, .partitions = app.config().partitions};
  PAWL_TRY_CALL(call, auto jobs, parse_batch(doc, rules, app.config().batch_jobs_max));
  std::string request_id(call.request.id);
  auto shared = std::make_shared<std::vector<NewJob>>(std::move(jobs));
  app.decide_claiming(
      std::move(call), [shared](Frame& frame) { return claims_of_jobs(frame, *shared); },
      [&app, request_id, shared](Frame& frame, Waiting&, const NameAnswers* answers) -> Reply {
        auto result = push_jobs(frame, *shared, answers);
        if (!result.ok()) return refused(frame, *shared, result.error(), request_id);
        const std::vector<Pushed>& pushed = *result;
        std::string body;
        body.reserve(pushed.size() * 512);
        json::Writer w(body);
        w.begin_object().key("jobs").begin_array();
        for (const Pushed& one : pushed)
          render_job(w, frame.state(), pushed_job(frame.state(), one));
        w.end_array().field_int("count", pushed.size()).end_object();
        app.metrics().jobs_pushed.fetch_add(pushed.size(), std::memory_order_relaxed);
        return json_response(Surface::Ojs, 201, std::move(body));
      });
}

void get_job(App& app, Call&& call) {
  decide_on(app, std::move(call), visible_job, [](Frame& frame, const Job* job) -> Reply {
    return json_response(Surface::Ojs, 200, job_body(frame.state(), *job));
  });
}

// Calls that change one job and answer with it.
void change_job(App& app, Call&& call, Status (*change)(Frame&, const JobId&)) {
  decide_on(app, std::move(call), visible_job, [change](Frame& frame, const Job* job) -> Reply {
    JobId id = job->id;
    JobState previous = job->state;
    PAWL_TRY_DO(change(frame, id));
    return json_response(Surface::Ojs, 200,
                         job_body(frame.state(), *frame.state().find_job(id), previous));
  });
}

void cancel_job(App& app, Call&& call) {
  change_job(app, std::move(call),
             [](Frame& frame, const JobId& id) { return cancel_job(frame, id, ""); });
}
void activate(App& app, Call&& call) { change_job(app, std::move(call), activate_job); }
void retry_job(App& app, Call&& call) { change_job(app, std::move(call), revive_job); }

}  // namespace

void add_job_routes(Router& router) {
  router.add({"POST", "/ojs/v1/jobs", Permission::Write, Routing::Create, push_one});
  router.add({"POST", "/ojs/v1/jobs/batch", Permission::Write, Routing::Create, push_batch});
  router.add({"GET", "/ojs/v1/jobs/{id}", Permission::Read, Routing::ById, get_job});
  router.add({"DELETE", "/ojs/v1/jobs/{id}", Permission::Write, Routing::ById, cancel_job});
  router.add({"POST", "/ojs/v1/jobs/{id}/cancel", Permission::Write, Routing::ById, cancel_job});
  router.add({"POST", "/ojs/v1/jobs/{id}/activate", Permission::Write, Routing::ById, activate});
  router.add({"POST", "/ojs/v1/jobs/{id}/retry", Permission::Operate, Routing::ById, retry_job});
}

}  // namespace pawl::api
