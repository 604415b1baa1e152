// What an operator sets on a queue, and the detail view that shows it.
#include "api/app.h"
#include "api/body.h"
#include "api/ojs/render_queue.h"
#include "api/routes.h"
#include "kernel/settings.h"

namespace pawl::api {
namespace {

constexpr int64_t kDepthMost = 1'000'000'000;
constexpr int64_t kRateMost = 1'000'000;

// What a request wants changed; what it does not name stays.
struct Wish {
  std::optional<uint64_t> depth_max;
  std::optional<uint32_t> warn_permille;
  std::optional<uint32_t> rate_per_second;
  std::optional<bool> paused;

  void apply(QueueSettings& settings) const {
    settings.depth_max = depth_max.value_or(settings.depth_max);
    settings.warn_permille = warn_permille.value_or(settings.warn_permille);
    settings.rate_per_second = rate_per_second.value_or(settings.rate_per_second);
    settings.paused = paused.value_or(settings.paused);
  }
};

// A setting that this server would not honour is refused: an operator must not rely on it.
Status refuse_unsupported(Fields& fields, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (fields.has(name))
      return Error{ErrorCode::Unsupported,
                   "the queue setting '" + std::string(name) + "' is not supported",
                   {{fields.path() + "." + std::string(name), "is not supported"}}};
  return ok_status();
}

Status read_backpressure(json::View value, Wish& wish) {
  if (value.is_null()) {
    wish.depth_max = 0;
    wish.warn_permille = 0;
    return ok_status();
  }
  Fields fields(value, "$.backpressure");
  PAWL_TRY_DO(refuse_unsupported(fields, {"max_size_bytes"}));
  std::string strategy = fields.text("strategy", "reject");
  if (strategy != "reject")
    return Error{ErrorCode::Unsupported,
                 "backpressure.strategy must be reject",
                 {{"$.backpressure.strategy", "must be reject"}}};
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

Status read_rate_limit(json::View value, Wish& wish) {
  if (value.is_null()) {
    wish.rate_per_second = 0;
    return ok_status();
  }
  Fields fields(value, "$.rate_limit");
  PAWL_TRY_DO(refuse_unsupported(fields, {"concurrency", "throttle", "rate"}));
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

Result<Wish> parse_wish(const json::Doc& doc) {
  Fields fields(doc.root());
  PAWL_TRY_DO(refuse_unsupported(fields, {"concurrency", "retention"}));
  Wish wish;
  if (auto value = doc.root().find("backpressure")) PAWL_TRY_DO(read_backpressure(*value, wish));
  if (auto value = doc.root().find("rate_limit")) PAWL_TRY_DO(read_rate_limit(*value, wish));
  if (fields.has("paused")) wish.paused = fields.boolean("paused", false);
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  return wish;
}

std::string config_body(const State& state, const std::string& scoped) {
  const Queue* queue = state.find_queue(scoped);
  QueueSettings settings = queue == nullptr ? QueueSettings{} : queue->settings;
  std::string body;
  json::Writer w(body);
  w.begin_object().field("queue", queue_of_scoped(scoped)).field("name", queue_of_scoped(scoped));
  for (std::string_view name : {"config", "configuration"}) {
    w.key(name).begin_object().field_bool("paused", settings.paused);
    render_queue_settings(w, settings);
    w.end_object();
  }
  w.field_bool("paused", settings.paused);
  render_queue_settings(w, settings);
  w.end_object();
  return body;
}

void put_config(App& app, Call&& call) {
  auto scoped = queue_of_path(call);
  if (!scoped.ok()) return call.fail(scoped.error());
  auto doc = parse_body(call);
  if (!doc.ok()) return call.fail(doc.error());
  auto wish = parse_wish(*doc);
  if (!wish.ok()) return call.fail(wish.error());
  app.decide(
      std::move(call), [scoped = *scoped, wish = *wish](Frame& frame) -> Result<http::Response> {
        PAWL_TRY_DO(
            configure_queue(frame, scoped, [&](QueueSettings& settings) { wish.apply(settings); }));
        return json_response(Surface::Ojs, 200, config_body(frame.state(), scoped));
      });
}

void get_config(App& app, Call&& call) {
  auto scoped = queue_of_path(call);
  if (!scoped.ok()) return call.fail(scoped.error());
  app.decide(std::move(call), [scoped = *scoped](Frame& frame) -> Result<http::Response> {
    return json_response(Surface::Ojs, 200, config_body(frame.state(), scoped));
  });
}

void get_detail(App& app, Call&& call) {
  auto scoped = queue_of_path(call);
  if (!scoped.ok()) return call.fail(scoped.error());
  app.decide(std::move(call), [&app, scoped = *scoped](Frame& frame) -> Result<http::Response> {
    const Queue* queue = frame.state().find_queue(scoped);
    std::string body;
    json::Writer w(body);
    w.begin_object();
    render_queue_members(w, scoped, queue);
    w.key("configuration").begin_object();
    render_queue_settings(w, queue == nullptr ? QueueSettings{} : queue->settings);
    w.end_object();
    const ReadyKey* first = queue == nullptr ? nullptr : frame.state().first_ready(*queue);
    const Job* next = first == nullptr ? nullptr : frame.state().find_job(first->job);
    if (next != nullptr) w.field_time("next_available_at", next->enqueued_ms);
    if (int64_t asked = app.workers().queue_last_asked_ms(scoped); asked != 0)
      w.field_time("last_fetch_at", asked);
    w.end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

}  // namespace

void add_queue_config_routes(Router& router) {
  router.add({"GET", "/ojs/v1/admin/queues/{q}", Scope::Read, Surface::Ojs, get_detail});
  router.add({"GET", "/ojs/v1/admin/queues/{q}/config", Scope::Read, Surface::Ojs, get_config});
  router.add({"PUT", "/ojs/v1/admin/queues/{q}/config", Scope::Operate, Surface::Ojs, put_config});
}

}  // namespace pawl::api
