// Client calls on queues: list, statistics, pause and resume.
#include <algorithm>

#include "api/app.h"
#include "api/keyed_list.h"
#include "api/ojs/job_page.h"
#include "api/ojs/render_queue.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"
#include "wire/event_projection.h"

namespace pawl::api {
namespace {

// Lists the queues that the caller may see under `name` ("queues", or "items" for the admin API).
void list_queues(App& app, Call&& call, std::string_view name) {
  answer_keyed_list(app, std::move(call), {name}, kPageLimitUsual,
                    [](const Frame& frame, KeyedList& list_queues) {
                      frame.state().each_queue([&](const Queue& queue) {
                        bool hidden = is_internal_queue(queue.name) || queue.settings.deleted;
                        if (hidden || !list_queues.takes(queue.name)) return true;
                        list_queues.writer().begin_object();
                        render_queue_members(list_queues.writer(), queue.name, &queue);
                        list_queues.writer().end_object();
                        return true;
                      });
                    });
}

void list_queues(App& app, Call&& call) { list_queues(app, std::move(call), "queues"); }
void list_queues_for_admin(App& app, Call&& call) { list_queues(app, std::move(call), "items"); }

// {"queue": {…}}; with stats also {"stats": {…}}.
std::string queue_body(const State& state, const std::string& scoped, bool stats) {
  const Queue* queue = state.find_queue(scoped);
  json::ObjectWriter w;
  w.key("queue").begin_object();
  render_queue_members(w, scoped, queue);
  w.end_object();
  if (stats) {
    w.key("stats").begin_object().field("queue", queue_of_scoped(scoped));
    render_queue_members(w, scoped, queue);
    w.end_object();
  }
  return w.close();
}

constexpr int64_t kHourMs = 3'600'000;

// Statistics of a queue's jobs in the last hour, computed from the newest kJobsScannedMax jobs of
// the server: nothing is counted while jobs run.
struct QueueHour {
  int64_t completed = 0;
  int64_t failed = 0;
  int64_t duration_ms = 0;  // of those, together
  int64_t wait_ms = 0;
  bool partial = false;  // older jobs may have ended in this hour too

  double mean(int64_t sum) const {
    return completed + failed == 0
               ? 0
               : static_cast<double>(sum) / static_cast<double>(completed + failed);
  }
};

QueueHour last_hour(const State& state, const std::string& scoped, int64_t now_ms) {
  QueueHour hour;
  JobId go_on = state.each_job_here(JobId(), true, kJobsScannedMax, [&](const Job& job) {
    bool counts = job.queue->name == scoped && job.finished_ms > now_ms - kHourMs &&
                  (job.state == JobState::Completed || job.state == JobState::Discarded);
    if (!counts) return true;
    ++(job.state == JobState::Completed ? hour.completed : hour.failed);
    if (job.started_ms == 0) return true;
    hour.duration_ms += std::max<int64_t>(0, job.finished_ms - job.started_ms);
    hour.wait_ms += std::max<int64_t>(
        0, job.started_ms - (job.enqueued_ms != 0 ? job.enqueued_ms : job.created_ms));
    return true;
  });
  hour.partial = !go_on.is_nil();
  return hour;
}

// The reply for clients that name the version of the binding: {"queue": name, "status", "stats":
// {…}, "computed_at"}. The same numbers are at the top level, where one client reads them.
std::string binding_stats(const State& state, const std::string& scoped, int64_t now_ms) {
  const Queue* queue = state.find_queue(scoped);
  QueueHour hour = last_hour(state, scoped, now_ms);
  std::string body;
  json::Writer w(body);
  auto numbers = [&] {
    render_queue_members(w, scoped, queue);
    w.field_int("completed_last_hour", hour.completed).field_int("failed_last_hour", hour.failed);
    w.key("avg_duration_ms").real(hour.mean(hour.duration_ms));
    w.key("avg_wait_ms").real(hour.mean(hour.wait_ms));
    w.key("throughput_per_second").real(static_cast<double>(hour.completed) / 3600);
    if (hour.partial) w.field_bool("partial", true);
  };
  w.begin_object().field("queue", queue_of_scoped(scoped));
  numbers();
  w.key("stats").begin_object();
  numbers();
  w.end_object().field_time("computed_at", now_ms).end_object();
  return body;
}

void read_queue(App& app, Call&& call, bool stats) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  app.decide(std::move(call), [scoped, stats](Frame& frame) -> Reply {
    return json_response(Surface::Ojs, 200, queue_body(frame.state(), scoped, stats));
  });
}

void get_queue(App& app, Call&& call) { read_queue(app, std::move(call), false); }

// The conformance suites name no version and expect an object; see binding_stats.
void get_stats(App& app, Call&& call) {
  if (call.request.header("ojs-version").empty()) return read_queue(app, std::move(call), true);
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  app.decide_list(std::move(call), [scoped](Frame& frame) -> Reply {
    return json_response(Surface::Ojs, 200, binding_stats(frame.state(), scoped, frame.now_ms()));
  });
}

void set_paused(App& app, Call&& call, bool paused) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  app.decide(std::move(call), [scoped, paused](Frame& frame) -> Reply {
    PAWL_TRY_DO(
        configure_queue(frame, scoped, [&](QueueSettings& settings) { settings.paused = paused; }));
    std::string body = queue_body(frame.state(), scoped, false);
    body.pop_back();
    json::Writer w(body);
    w.field("name", queue_of_scoped(scoped)).field_bool("paused", paused);
    w.field("status", paused ? "paused" : "active");
    w.field_time(paused ? "paused_at" : "resumed_at", frame.now_ms()).end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

void pause_queue(App& app, Call&& call) { set_paused(app, std::move(call), true); }
void resume_queue(App& app, Call&& call) { set_paused(app, std::move(call), false); }

}  // namespace

void add_queue_routes(Router& router) {
  router.add({"GET", "/ojs/v1/queues", Permission::Read, Routing::Gather, list_queues});
  router.add({"GET", "/ojs/v1/queues/{q}", Permission::Read, Routing::Gather, get_queue});
  router.add({"GET", "/ojs/v1/queues/{q}/stats", Permission::Read, Routing::Gather, get_stats});
  router.add(
      {"POST", "/ojs/v1/queues/{q}/pause", Permission::Operate, Routing::Settings, pause_queue});
  router.add(
      {"POST", "/ojs/v1/queues/{q}/resume", Permission::Operate, Routing::Settings, resume_queue});
  router.add(
      {"GET", "/ojs/v1/admin/queues", Permission::Read, Routing::Gather, list_queues_for_admin});
  router.add({"POST", "/ojs/v1/admin/queues/{q}/pause", Permission::Operate, Routing::Settings,
              pause_queue});
  router.add({"POST", "/ojs/v1/admin/queues/{q}/resume", Permission::Operate, Routing::Settings,
              resume_queue});
}

}  // namespace pawl::api
