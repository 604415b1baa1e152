// GET /jobs/{id}/result: the outcome of a job, at once or when it has ended; POST /jobs/results:
// the same for many. GET /jobs/{id}/retries: the failed attempts, and the time of the next one.

#include "api/app.h"
#include "api/body.h"
#include "api/decide_on.h"
#include "api/routes.h"
#include "base/read_number.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "plan/ojs/parse_job.h"
#include "wire/render_job.h"
#include "wire/reply_room.h"

namespace pawl::api {
namespace {

constexpr int64_t kWaitUsualMs = 30'000;
constexpr int64_t kLookFirstMs = 10;
constexpr int64_t kLookMostMs = 250;
constexpr size_t kIdsMax = 1'000;

// Members: job_id, state, and result or error once there is one.
void write_outcome(json::Writer& w, const Job& job, ReplyRoom& room) {
  w.key("job_id").uuid(job.id).field("state", state_name(job.state));
  if (job.state == JobState::Completed && !room.takes(job.result.size())) {
    w.key("result").null().field_bool("result_omitted", true);
  } else if (job.state == JobState::Completed) {
    w.field_raw("result", job.result.empty() ? "null" : job.result);
  }
  if (job.state == JobState::Discarded && job.extras && !job.extras->errors.empty()) {
    w.key("error");
    render_error(w, job.extras->errors.back());
  }
  if (!is_terminal(job.state)) return;
  w.field_time("completed_at", job.finished_ms).field_time("result_stored_at", job.finished_ms);
  if (job.state == JobState::Completed) w.field_int("result_size_bytes", job.result.size());
}

std::string outcome(const Job& job) {
  json::ObjectWriter w;
  ReplyRoom room(SIZE_MAX);
  write_outcome(w, job, room);
  return w.close();
}

// The job has not ended: the client may call again.
http::Response still_at_work(const Job& job, const std::string& request_id) {
  json::ObjectWriter w;
  ReplyRoom room(SIZE_MAX);
  write_outcome(w, job, room);
  w.key("error").begin_object().field("code", "timeout").field("type", "timeout");
  w.field("message", "job " + job.id.text() + " is " + std::string(state_name(job.state)) +
                         "; the time to wait for its end is up");
  w.field_bool("retryable", true).field("hint", "Ask again; the job goes on.");
  w.field("request_id", request_id).end_object();
  return json_response(Surface::Ojs, 408, w.close());
}

// How long the caller wants to wait; nothing if it does not.
Result<std::optional<int64_t>> wait_of(const Call& call, int64_t most_ms) {
  std::string wait = call.query("wait");
  if (wait.empty() || wait == "false" || wait == "0") return std::optional<int64_t>();
  if (wait != "true" && wait != "1")
    return Error{ErrorCode::InvalidRequest, "wait must be true or false"};
  std::string text = call.query("timeout");
  int64_t seconds = kWaitUsualMs / 1000;
  if (!text.empty()) {
    if (!read_number(text, seconds) || seconds < 0 || seconds > 86'400)
      return Error{ErrorCode::InvalidRequest,
                   "timeout must be a whole number of seconds from 0 to 86400"};
  }
  return std::optional<int64_t>(std::min(most_ms, seconds * 1000));
}

void get_result(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto wait_ms, wait_of(call, app.config().fetch_wait_ms_max));
  std::string id = call.params[0];
  std::string tenant = call.tenant;
  std::string request_id(call.request.id);
  int64_t until_ms = 0;
  int64_t look_ms = kLookFirstMs;
  app.decide_and_wait(std::move(call), [=](Frame& frame, Waiting& waiting) mutable -> Reply {
    PAWL_TRY(const Job* job, visible_job(frame.state(), id, tenant));
    if (until_ms == 0) until_ms = frame.now_ms() + wait_ms.value_or(0);
    if (is_terminal(job->state) || !wait_ms) return json_response(Surface::Ojs, 200, outcome(*job));
    if (frame.now_ms() < until_ms) {
      waiting.parking = Parking{{}, until_ms, std::min(until_ms, frame.now_ms() + look_ms)};
      look_ms = std::min(kLookMostMs, look_ms * 2);
    }
    return still_at_work(*job, request_id);
  });
}

// A failed attempt: the last one led to the job's current state, earlier ones were retried.
void write_attempt(json::Writer& w, const Job& job, const JobError& error, bool is_last) {
  bool over = is_last && job.state == JobState::Discarded;
  w.begin_object().field_int("attempt", error.attempt);
  w.field("state", state_name(over ? JobState::Discarded : JobState::Retryable));
  w.field("error", error.message).field("code", error.code).field("type", error.type);
  w.field_time("failed_at", error.at_ms);
  if (is_last && job.state == JobState::Retryable) w.field_time("next_retry_at", job.scheduled_ms);
  w.end_object();
}

void retries(App& app, Call&& call) {
  decide_on(app, std::move(call), visible_job, [](Frame&, const Job* job) -> Reply {
    json::ObjectWriter w;
    w.key("job_id").uuid(job->id).field("state", state_name(job->state));
    w.field_int("attempt", job->attempt).field_int("max_attempts", job->max_attempts);
    w.key("retries").begin_array();
    if (job->extras)
      for (const JobError& error : job->extras->errors)
        write_attempt(w, *job, error, &error == &job->extras->errors.back());
    w.end_array().field_raw("policy", policy_text(job->retry_policy(), true));
    return json_response(Surface::Ojs, 200, w.close());
  });
}

// Past the room the jobs are not even read: arguments and result are in one row.
void write_outcomes(json::Writer& w, const State& state, const std::vector<std::string>& ids,
                    std::string_view tenant) {
  ReplyRoom room;
  for (const std::string& id : ids) {
    w.key(id);
    if (room.read_enough()) {
      w.begin_object().field("job_id", id).field_bool("result_omitted", true).end_object();
      continue;
    }
    auto job = visible_job(state, id, tenant);
    if (!job.ok()) {
      w.null();
      continue;
    }
    room.read((*job)->weight_bytes());
    w.begin_object();
    write_outcome(w, **job, room);
    w.end_object();
  }
}

void many(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  std::vector<std::string> ids = fields.texts(fields.has("ids") ? "ids" : "job_ids");
  if (fields.ok() && ids.empty()) fields.complain("ids", "must name at least one job");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  if (ids.size() > kIdsMax)
    return call.fail(
        {ErrorCode::TooLarge, "ids holds more than " + std::to_string(kIdsMax) + " ids"});
  std::string tenant = call.tenant;
  app.decide_list(std::move(call), [ids = std::move(ids), tenant](Frame& frame) -> Reply {
    json::ObjectWriter w;
    w.key("results").begin_object();
    write_outcomes(w, frame.state(), ids, tenant);
    w.end_object();
    return json_response(Surface::Ojs, 200, w.close());
  });
}

}  // namespace

void add_job_result_routes(Router& router) {
  router.add({"GET", "/ojs/v1/jobs/{id}/result", Permission::Read, Routing::ById, get_result});
  router.add({"GET", "/ojs/v1/jobs/{id}/retries", Permission::Read, Routing::ById, retries});
  router.add({"POST", "/ojs/v1/jobs/results", Permission::Read, Routing::Split, many});
}

}  // namespace pawl::api
