// Creating and removing queues by hand, and counts of their waiting jobs by priority.
//
// A queue is created by its first job, so creating one only sets its settings before that. Removing
// one hides it from lists and drops its settings; its finished jobs are kept as usual, and the next
// push restores it.
#include "api/app.h"
#include "api/body.h"
#include "api/ojs/queue_config.h"
#include "api/ojs/render_queue.h"
#include "api/part_call.h"
#include "api/routes.h"
#include "api/sweep.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "plan/ojs/parse_job.h"
#include "plan/ojs/queue_name.h"
#include "wire/event_projection.h"

namespace pawl::api {
namespace {

constexpr size_t kScanPerSlice = 2'000;

Error no_such_queue(std::string_view scoped) {
  return Error{ErrorCode::NotFound, "queue " + std::string(queue_of_scoped(scoped)) + " not found"};
}

const Queue* find_shown(const State& state, const std::string& scoped) {
  const Queue* queue = state.find_queue(scoped);
  return queue != nullptr && !queue->settings.deleted ? queue : nullptr;
}

std::string queue_body(const State& state, const std::string& scoped) {
  json::ObjectWriter w;
  w.key("queue").begin_object();
  render_queue_members(w, scoped, state.find_queue(scoped));
  w.end_object();
  render_queue_members(w, scoped, state.find_queue(scoped));
  return w.close();
}

// The calls of this file answer 400 to an invalid value.
Error as_bad_request(Error error) {
  if (error.code == ErrorCode::InvalidContent) error.code = ErrorCode::InvalidRequest;
  return error;
}

void create_queue(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  std::string name = fields.required_text("name");
  if (fields.ok() && !is_queue_name(name))
    fields.complain("name",
                    "must be lower-case letters, digits, '.', '-' or '_', starting with a letter "
                    "or digit");
  if (fields.ok() && is_internal_queue(name))
    fields.complain("name", "must not begin with 'pawl.': those queues are the server's own");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  QueueWish wish;
  if (Status read = parse_queue_wish(doc.root(), "$", wish); !read.ok())
    return call.fail(as_bad_request(read.error()));
  QueueSettings settings;
  wish.apply(settings);
  std::string scoped = scoped_queue(call.tenant, name);
  app.decide(std::move(call), [scoped, settings](Frame& frame) -> Reply {
    if (find_shown(frame.state(), scoped) != nullptr)
      return Error{ErrorCode::Conflict,
                   "queue " + std::string(queue_of_scoped(scoped)) + " is there already"};
    PAWL_TRY_DO(configure_queue(frame, scoped, [&](QueueSettings& now) { now = settings; }));
    http::Response response = json_response(Surface::Ojs, 201, queue_body(frame.state(), scoped));
    response.headers.emplace_back("Location",
                                  "/ojs/v1/queues/" + std::string(queue_of_scoped(scoped)));
    return response;
  });
}

// Changes the settings that the body names; the others stay.
void change_queue(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  QueueWish wish;
  if (Status read = parse_queue_wish(doc.root(), "$", wish); !read.ok())
    return call.fail(as_bad_request(read.error()));
  if (wish.is_empty())
    return call.fail({ErrorCode::InvalidRequest,
                      "there is nothing to change: name paused, max_size, backpressure or "
                      "rate_limit"});
  app.decide(std::move(call), [scoped, wish](Frame& frame) -> Reply {
    if (find_shown(frame.state(), scoped) == nullptr) return no_such_queue(scoped);
    PAWL_TRY_DO(
        configure_queue(frame, scoped, [&](QueueSettings& settings) { wish.apply(settings); }));
    return json_response(Surface::Ojs, 200, queue_body(frame.state(), scoped));
  });
}

// The strategy for unfinished jobs: only `reject` is known, so the queue is not removed while it
// has any.
Status check_strategy(const Call& call) {
  PAWL_TRY(json::Doc doc, parse_body(call, true));
  Fields fields(doc.root());
  std::string strategy = fields.text("strategy", "reject");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  if (strategy == "reject") return ok_status();
  return Error{ErrorCode::Unsupported,
               "strategy must be reject: cancel or purge the queue's jobs first",
               {{"$.strategy", "must be reject"}}};
}

// What stands against removing the queue: a partition that only looks tells it, so that the front
// can add up.
Reply unfinished_response(const Queue& queue) {
  json::ObjectWriter w;
  w.field_int("unfinished", queue.depth() + queue.count(JobState::Active));
  return json_response(Surface::Ojs, 200, w.close());
}

void remove_queue(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  if (Status good = check_strategy(call); !good.ok()) return call.fail(good.error());
  const bool part = is_part(app, call);
  const bool looks = part && call.request.header(kPartHeader) == kPartLook;
  app.decide(std::move(call), [scoped, part, looks](Frame& frame) -> Reply {
    const Queue* queue = find_shown(frame.state(), scoped);
    if (queue == nullptr && (!part || looks)) return no_such_queue(scoped);
    if (looks) return unfinished_response(*queue);
    uint64_t unfinished = part ? 0 : queue->depth() + queue->count(JobState::Active);
    if (unfinished != 0) return queue_in_use(scoped, unfinished);
    PAWL_TRY_DO(configure_queue(frame, scoped,
                                [](QueueSettings& settings) { settings = {.deleted = true}; }));
    json::ObjectWriter w;
    w.field_bool("deleted", true)
        .field("name", queue_of_scoped(scoped))
        .field("queue", queue_of_scoped(scoped));
    return json_response(Surface::Ojs, 200, w.close());
  });
}

// Counts in slices: a queue may hold very many jobs, and other requests need the engine too.
struct PriorityCount {
  std::string scoped;
  JobId from;
  int64_t started_ms = 0;
  bool found = false;
  std::map<int32_t, uint64_t> counts;  // of jobs that wait, now or later

  Result<bool> slice(const Frame& frame) {
    if (from.is_nil() && find_shown(frame.state(), scoped) == nullptr) return no_such_queue(scoped);
    from = frame.state().each_job_here(from, false, kScanPerSlice, [&](const Job& job) {
      bool waits = job.state == JobState::Available || job.state == JobState::Scheduled ||
                   job.state == JobState::Retryable || job.state == JobState::Pending;
      if (waits && job.queue->name == scoped) ++counts[job.priority];
      return true;
    });
    return !from.is_nil() && from.unix_ms() <= started_ms;
  }

  std::string report() const {
    uint64_t total = 0;
    for (const auto& [priority, count] : counts) total += count;
    json::ObjectWriter w;
    w.field("queue", queue_of_scoped(scoped)).key("distribution").begin_array();
    for (auto at = counts.rbegin(); at != counts.rend(); ++at)
      w.begin_object().field_int("priority", at->first).field_int("count", at->second).end_object();
    w.end_array().key("counts_by_priority").begin_object();
    for (const auto& [priority, count] : counts) w.field_int(std::to_string(priority), count);
    w.end_object().field_int("total", total);
    return w.close();
  }
};

void priority_stats(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  auto count = std::make_shared<PriorityCount>();
  count->scoped = scoped;
  count->started_ms = app.clock().now_ms();
  sweep(
      app, std::move(call), [count](Frame& frame) { return count->slice(frame); },
      [count] { return json_response(Surface::Ojs, 200, count->report()); });
}

}  // namespace

Error queue_in_use(std::string_view scoped, uint64_t unfinished) {
  return Error{ErrorCode::Conflict, "queue " + std::string(queue_of_scoped(scoped)) + " holds " +
                                        std::to_string(unfinished) +
                                        " unfinished jobs; purge it or let them finish"};
}

void add_queue_call_routes(Router& router) {
  router.add({"POST", "/ojs/v1/queues", Permission::Operate, Routing::Settings, create_queue});
  router.add({"PATCH", "/ojs/v1/queues/{q}", Permission::Operate, Routing::Settings, change_queue});
  router.add(
      {"PATCH", "/ojs/v1/admin/queues/{q}", Permission::Operate, Routing::Settings, change_queue});
  router.add(
      {"DELETE", "/ojs/v1/queues/{q}", Permission::Operate, Routing::Settings, remove_queue});
  router.add({"GET", "/ojs/v1/queues/{q}/priority-stats", Permission::Read, Routing::Gather,
              priority_stats});
}

}  // namespace pawl::api
