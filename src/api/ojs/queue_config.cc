#include "api/ojs/queue_config.h"

#include <span>

#include "api/app.h"
#include "api/body.h"
#include "api/ojs/render_queue.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"

namespace pawl::api {
namespace {

constexpr int64_t kDepthMost = 1'000'000'000;
constexpr int64_t kRateMost = 1'000'000;

// Unsupported settings are refused: an operator must not rely on them.
constexpr std::string_view kUnsupported[] = {
    "concurrency",     "retention",         "max_size_bytes",    "visibility_timeout",
    "default_timeout", "default_retry",     "dead_letter_queue", "dead_letter_max_size",
    "dead_letter_ttl", "allowed_job_types", "producers"};

Error unsupported(const Fields& fields, std::string_view name) {
  return Error{ErrorCode::Unsupported,
               "the queue setting '" + std::string(name) + "' is not supported",
               {{fields.path() + "." + std::string(name), "is not supported"}}};
}

Status refuse_unsupported(const Fields& fields, std::span<const std::string_view> names) {
  for (std::string_view name : names)
    if (fields.has(name)) return unsupported(fields, name);
  return ok_status();
}

Status read_backpressure(json::View value, const std::string& path, QueueWish& wish) {
  if (value.is_null()) {
    wish.depth_max = 0;
    wish.warn_permille = 0;
    return ok_status();
  }
  Fields fields(value, path);
  if (fields.has("max_size_bytes")) return unsupported(fields, "max_size_bytes");
  std::string strategy = fields.text("strategy", "reject");
  if (strategy != "reject")
    return Error{ErrorCode::Unsupported,
                 "backpressure.strategy must be reject",
                 {{path + ".strategy", "must be reject"}}};
  if (fields.has("max_depth"))
    wish.depth_max = static_cast<uint64_t>(fields.integer("max_depth", 0, 0, kDepthMost));
  if (auto threshold = fields.find("warning_threshold")) {
    auto share = threshold->as_double();
    if (share && *share >= 0 && *share <= 1) {
      wish.warn_permille = static_cast<uint32_t>(*share * 1000 + 0.5);
    } else {
      fields.complain("warning_threshold", "must be a number from 0 to 1");
    }
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  return ok_status();
}

Status read_rate_limit(json::View value, const std::string& path, QueueWish& wish) {
  if (value.is_null()) {
    wish.rate_per_second = 0;
    return ok_status();
  }
  Fields fields(value, path);
  constexpr std::string_view kOthers[] = {"concurrency", "throttle", "rate"};
  PAWL_TRY_DO(refuse_unsupported(fields, kOthers));
  int64_t rate = fields.integer("max_per_second", 0, 0, kRateMost);
  if (fields.has("limit")) {
    std::string period = fields.text("period", "PT1S");
    if (period != "PT1S") fields.complain("period", "must be PT1S");
    rate = fields.integer("limit", 0, 0, kRateMost);
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  wish.rate_per_second = static_cast<uint32_t>(rate);
  return ok_status();
}

}  // namespace

Status parse_queue_wish(json::View object, const std::string& path, QueueWish& wish) {
  Fields fields(object, path);
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  PAWL_TRY_DO(refuse_unsupported(fields, kUnsupported));
  if (fields.text("overflow_policy", "reject") != "reject")
    return Error{ErrorCode::Unsupported,
                 "overflow_policy must be reject",
                 {{path + ".overflow_policy", "must be reject"}}};
  for (std::string_view name : {"max_depth", "max_size"})
    if (fields.has(name))
      wish.depth_max = static_cast<uint64_t>(fields.integer(name, 0, 0, kDepthMost));
  if (auto value = object.find("backpressure"))
    PAWL_TRY_DO(read_backpressure(*value, path + ".backpressure", wish));
  if (auto value = object.find("rate_limit"))
    PAWL_TRY_DO(read_rate_limit(*value, path + ".rate_limit", wish));
  if (fields.has("paused")) wish.paused = fields.boolean("paused", false);
  if (fields.has("partition")) {
    const std::string place = fields.text("partition");
    wish.partition = parse_queue_place(place);
    if (!wish.partition) fields.complain("partition", "must be auto, pinned or spread");
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  if (auto nested = fields.find("config"); nested && path == "$")
    return parse_queue_wish(*nested, "$.config", wish);
  return ok_status();
}

namespace {

std::string config_body(const State& state, const std::string& scoped) {
  const Queue* queue = state.find_queue(scoped);
  QueueSettings settings = queue == nullptr ? QueueSettings{} : queue->settings;
  json::ObjectWriter w;
  w.field("queue", queue_of_scoped(scoped)).field("name", queue_of_scoped(scoped));
  for (std::string_view name : {"config", "configuration"}) {
    w.key(name).begin_object().field_bool("paused", settings.paused);
    render_queue_settings(w, settings);
    w.end_object();
  }
  w.field_bool("paused", settings.paused);
  render_queue_settings(w, settings);
  return w.close();
}

void put_config(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  QueueWish wish;
  if (Status read = parse_queue_wish(doc.root(), "$", wish); !read.ok())
    return call.fail(read.error());
  app.decide(std::move(call), [scoped, wish](Frame& frame) -> Reply {
    PAWL_TRY_DO(
        configure_queue(frame, scoped, [&](QueueSettings& settings) { wish.apply(settings); }));
    return json_response(Surface::Ojs, 200, config_body(frame.state(), scoped));
  });
}

void get_config(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  app.decide(std::move(call), [scoped](Frame& frame) -> Reply {
    return json_response(Surface::Ojs, 200, config_body(frame.state(), scoped));
  });
}

void get_detail(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto scoped, queue_of_path(call));
  app.decide(std::move(call), [&app, scoped](Frame& frame) -> Reply {
    const Queue* queue = frame.state().find_queue(scoped);
    json::ObjectWriter w;
    render_queue_members(w, scoped, queue);
    w.key("configuration").begin_object();
    render_queue_settings(w, queue == nullptr ? QueueSettings{} : queue->settings);
    w.end_object();
    const ReadyKey* first = queue == nullptr ? nullptr : frame.state().first_ready(*queue);
    const Job* next = first == nullptr ? nullptr : frame.state().find_job(first->job);
    if (next != nullptr) w.field_time("next_available_at", next->enqueued_ms);
    if (int64_t asked = app.workers().queue_last_asked_ms(scoped); asked != 0)
      w.field_time("last_fetch_at", asked);
    return json_response(Surface::Ojs, 200, w.close());
  });
}

}  // namespace

void add_queue_config_routes(Router& router) {
  router.add({"GET", "/ojs/v1/admin/queues/{q}", Permission::Read, Routing::Gather, get_detail});
  router.add(
      {"GET", "/ojs/v1/admin/queues/{q}/config", Permission::Read, Routing::Settings, get_config});
  router.add({"PUT", "/ojs/v1/admin/queues/{q}/config", Permission::Operate, Routing::Settings,
              put_config});
  router.add({"GET", "/ojs/v1/queues/{q}/config", Permission::Read, Routing::Settings, get_config});
  router.add(
      {"PUT", "/ojs/v1/queues/{q}/config", Permission::Operate, Routing::Settings, put_config});
}

}  // namespace pawl::api
