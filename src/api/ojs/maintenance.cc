// Maintenance mode: workers get no jobs from any queue; jobs are still accepted, and running ones
// may finish. It is stored, so it survives a restart. Also the rest of /admin/system: health and
// the public configuration.
#include "api/maintenance.h"

#include "api/app.h"
#include "api/body.h"
#include "api/routes.h"
#include "base/time.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl::api {
namespace {

constexpr size_t kMaintenanceReasonBytesMax = 1024;
constexpr int64_t kDurationMost = 366LL * 24 * 3600 * 1000;
const std::string kKey = "maintenance";

// The stored document.
struct Maintenance {
  std::string reason;
  int64_t since_ms = 0;
  int64_t until_ms = 0;  // the operator's estimate; nothing happens at that time

  static void fields(auto& self, auto&& visit) {
    visit(1, "reason", self.reason);
    visit(2, "since_ms", self.since_ms);
    visit(3, "until_ms", self.until_ms);
  }
};

std::optional<Maintenance> stored(const State& state) {
  const Doc* doc = state.find_doc(DocKind::Maintenance, kKey);
  Maintenance maintenance;
  if (doc == nullptr || !codec::decode(doc->value, maintenance)) return std::nullopt;
  return maintenance;
}

http::Response status(const State& state) {
  std::optional<Maintenance> on = stored(state);
  json::ObjectWriter w;
  w.field_bool("enabled", on.has_value()).field_bool("maintenance", on.has_value());
  if (on) {
    if (!on->reason.empty()) w.field("reason", on->reason);
    w.field_time("started_at", on->since_ms).field_time("enabled_at", on->since_ms);
    w.field_time_if_set("ends_at", on->until_ms).field_time_if_set("estimated_end", on->until_ms);
  }
  w.key("pauses").begin_array().string("fetch").end_array();
  return json_response(Surface::Ojs, 200, w.close());
}

void get_maintenance(App& app, Call&& call) {
  app.decide(std::move(call), [](Frame& frame) -> Reply { return status(frame.state()); });
}

int64_t duration_of(Fields& fields) {
  for (std::string_view name : {"estimated_duration", "duration"}) {
    std::string text = fields.text(name);
    if (text.empty()) continue;
    auto ms = text[0] == 'P' ? parse_iso_duration_ms(text) : parse_duration_ms(text);
    if (ms.ok() && *ms > 0 && *ms <= kDurationMost) return *ms;
    fields.complain(name, "must be a duration of at most a year, such as PT30M or 30m");
  }
  return 0;
}

void set(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  if (!fields.has("enabled")) fields.complain("enabled", "is required");
  bool enabled = fields.boolean("enabled", false);
  Maintenance wish{fields.text("reason"), 0, 0};
  if (wish.reason.size() > kMaintenanceReasonBytesMax)
    fields.complain("reason", "must be at most 1024 bytes");
  int64_t duration_ms = duration_of(fields);
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidRequest));
  app.decide(std::move(call), [&app, enabled, wish, duration_ms](Frame& frame) mutable -> Reply {
    std::optional<Maintenance> on = stored(frame.state());
    if (enabled) {
      wish.since_ms = on ? on->since_ms : frame.now_ms();
      wish.until_ms = duration_ms == 0 ? 0 : frame.now_ms() + duration_ms;
      put_doc(frame, DocKind::Maintenance, kKey, codec::encoded(wish));
    } else if (on) {
      PAWL_TRY_DO(delete_doc(frame, DocKind::Maintenance, kKey));
    }
    app.set_maintenance(enabled);
    return status(frame.state());
  });
}

void config(App& app, Call&& call) {
  const AppConfig& config = app.config();
  json::ObjectWriter w;
  w.field("version", config.version).field("backend", config.store_name);
  w.field_bool("auth_required", app.keys().needed());
  w.key("limits").begin_object();
  w.field_int("batch_jobs_max", config.batch_jobs_max);
  w.field_int("fetch_count_max", config.fetch_count_max);
  w.field_int("fetch_wait_ms_max", config.fetch_wait_ms_max);
  w.field_int("result_bytes_max", config.result_bytes_max).end_object();
  w.key("defaults").begin_object();
  w.field_int("visibility_timeout_ms", config.visibility_default_ms);
  w.field_int("idempotency_ms", config.idempotency_ms).end_object();
  w.field_bool("webhooks_allow_private", config.webhooks_allow_private);
  call.answer(json_response(Surface::Ojs, 200, w.close()));
}

}  // namespace

bool is_in_maintenance(const State& state) { return stored(state).has_value(); }

void add_maintenance_routes(Router& router) {
  router.add({"GET", "/ojs/v1/admin/system/maintenance", Permission::Read, Routing::Settings,
              get_maintenance});
  router.add(
      {"POST", "/ojs/v1/admin/system/maintenance", Permission::Operate, Routing::Settings, set});
  router.add(
      {"GET", "/ojs/v1/admin/maintenance", Permission::Read, Routing::Settings, get_maintenance});
  router.add({"POST", "/ojs/v1/admin/maintenance", Permission::Operate, Routing::Settings, set});
  router.add({"GET", "/ojs/v1/admin/system/config", Permission::Read, Routing::Here, config});
  router.add({"GET", "/ojs/v1/admin/config", Permission::Read, Routing::Here, config});
}

}  // namespace pawl::api
