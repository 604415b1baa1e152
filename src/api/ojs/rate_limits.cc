// Concurrency keys: the limits of jobs that share a key, and their current use.
#include "api/app.h"
#include "api/body.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "base/time.h"
#include "kernel/frame.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"
#include "plan/ojs/parse_job.h"
#include "plan/ojs/queue_name.h"

namespace pawl::api {
namespace {

constexpr int64_t kLimitMost = 1'000'000;

void render_limit(json::Writer& w, const Limit& limit, int64_t now_ms) {
  const LimitSettings& settings = limit.settings;
  w.begin_object().field("key", queue_of_scoped(limit.key));
  if (auto tenant = tenant_of_scoped(limit.key); !tenant.empty()) w.field("tenant_id", tenant);
  w.field_int("active", limit.active);
  w.key("concurrency").begin_object().field_int("active", limit.active);
  if (settings.concurrency != 0) {
    uint64_t taken = std::min<uint64_t>(limit.active, settings.concurrency);
    w.field_int("limit", settings.concurrency);
    w.field_int("available", settings.concurrency - taken);
  }
  w.end_object();
  if (settings.rate != 0) {
    bool running = now_ms - limit.window_ms < settings.period_ms;
    w.key("rate").begin_object().field_int("limit", settings.rate);
    w.field("period", format_iso_duration_ms(settings.period_ms));
    w.field_int("current_count", running ? limit.used : 0);
    if (running) w.field_time("window_resets_at", limit.window_ms + settings.period_ms);
    w.end_object();
  }
  w.end_object();
}

void list_rate_limits(App& app, Call&& call) {
  answer_keyed_list(app, std::move(call), {"items", "rate_limits"}, kPageLimitUsual,
                    [](const Frame& frame, KeyedList& list_rate_limits) {
                      frame.state().each_limit([&](const Limit& limit) {
                        if (list_rate_limits.takes(limit.key))
                          render_limit(list_rate_limits.writer(), limit, frame.now_ms());
                        return true;
                      });
                    });
}

Reply limit_response(const Frame& frame, const std::string& key) {
  const Limit* limit = frame.state().find_limit(key);
  if (limit == nullptr) return Error{ErrorCode::NotFound, "no job has named this rate limit key"};
  std::string body;
  json::Writer w(body);
  render_limit(w, *limit, frame.now_ms());
  return json_response(Surface::Ojs, 200, std::move(body));
}

void get_rate_limit(App& app, Call&& call) {
  std::string key = scoped_queue(call.tenant, call.params[0]);
  app.decide(std::move(call), [key](Frame& frame) { return limit_response(frame, key); });
}

Result<LimitSettings> parse_settings(const json::Doc& doc) {
  Fields fields(doc.root());
  LimitSettings settings;
  if (fields.has("throttle") || fields.has("expires_at"))
    return Error{ErrorCode::Unsupported, "throttle and expires_at are not supported"};
  settings.concurrency = static_cast<uint32_t>(fields.integer("concurrency", 0, 1, kLimitMost));
  if (auto rate = fields.find("rate")) {
    Fields inner(*rate, "$.rate");
    settings.rate = static_cast<uint32_t>(inner.integer("limit", 0, 1, kLimitMost));
    if (!inner.has("limit")) inner.complain("limit", "is required");
    auto period = parse_iso_duration_ms(inner.text("period", "PT1S"));
    if (!period.ok() || *period < 1) inner.complain("period", "must be an ISO 8601 duration");
    if (!inner.ok()) return inner.error(ErrorCode::InvalidContent);
    settings.period_ms = *period;
  }
  if (fields.ok() && settings.concurrency == 0 && settings.rate == 0)
    fields.complain("concurrency", "or rate is required");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  return settings;
}

// Valid until a push of a job with this key sets other limits.
void put_rate_limit(App& app, Call&& call) {
  if (call.params[0].empty() || call.params[0].size() > kQueueBytesMax)
    return call.fail({ErrorCode::InvalidRequest, "a rate limit key has 1 to 255 bytes"});
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  PAWL_TRY_CALL(call, auto settings, parse_settings(doc));
  std::string key = scoped_queue(call.tenant, call.params[0]);
  app.decide(std::move(call), [key, settings](Frame& frame) -> Reply {
    const Limit* limit = frame.state().find_limit(key);
    if (limit == nullptr && !frame.state().has_room_for_limit())
      return Error{ErrorCode::Overloaded, "the server has as many rate limit keys as it may hold"};
    // A push at the key's home may have replaced what this partition knows.
    const bool is_news = limit == nullptr || !(limit->settings == settings);
    if (is_news || frame.state().partitions() > 1)
      frame.emit(LimitConfigured{key, settings});
    return limit_response(frame, key);
  });
}

}  // namespace

void add_rate_limit_routes(Router& router) {
  router.add({"GET", "/ojs/v1/rate-limits", Permission::Read, Routing::Gather, list_rate_limits});
  router.add(
      {"GET", "/ojs/v1/rate-limits/{key}", Permission::Read, Routing::ByName, get_rate_limit});
  router.add(
      {"PUT", "/ojs/v1/rate-limits/{key}", Permission::Operate, Routing::Settings, put_rate_limit});
}

}  // namespace pawl::api
