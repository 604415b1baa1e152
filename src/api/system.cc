// Health, readiness, the manifest.
#include "api/app.h"
#include "api/routes.h"
#include "base/json_writer.h"

namespace pawl::api {
namespace {

void health(App& app, Call&& call) {
  std::optional<Error> failure = app.engine().failed();
  std::string status = failure ? "unhealthy" : app.draining() ? "degraded" : "ok";
  std::string body;
  json::Writer w(body);
  w.begin_object().field("status", status).field("version", app.config().version);
  w.field_int("uptime_seconds", (app.clock().now_ms() - app.started_ms()) / 1000);
  w.key("backend").begin_object().field("type", app.config().store_name).field("status", failure ? "unhealthy" : "ok").end_object();
  if (failure) w.field("error", failure->message);
  w.end_object();
  call.answer(json_response(call.surface(), failure ? 503 : 200, std::move(body)));
}

void ready(App& app, Call&& call) {
  bool good = !app.engine().failed() && !app.draining();
  std::string body;
  json::Writer(body).begin_object().field("status", good ? "ready" : "not_ready").field_bool("ready", good).end_object();
  call.answer(json_response(call.surface(), good ? 200 : 503, std::move(body)));
}

void manifest(App& app, Call&& call) {
  std::string body;
  json::Writer w(body);
  w.begin_object().field("specversion", "1.0").field("ojs_version", "1.0");
  w.key("implementation").begin_object().field("name", "pawl").field("version", app.config().version).field("language", "c++").end_object();
  w.field_int("conformance_level", 4).key("protocols").begin_array().string("http").end_array();
  w.field("backend", app.config().store_name).key("capabilities").begin_object();
  for (std::string_view name : {"batch_enqueue", "cron_jobs", "dead_letter", "delayed_jobs", "job_ttl", "priority_queues", "rate_limiting", "schema_validation",
                                "unique_jobs", "workflows", "pause_resume", "events", "webhooks", "checkpoints", "progress", "multi_tenancy", "backpressure"})
    w.field_bool(name, true);
  w.end_object().key("extensions").begin_array();
  for (std::string_view name : {"admin-api", "backpressure", "dead-letter", "durable-execution", "graceful-shutdown", "job-versioning", "multi-tenancy",
                                "observability", "progress", "rate-limiting", "schema-registry", "webhooks"})
    w.string(name);
  w.end_array().end_object();
  call.answer(json_response(Surface::Ojs, 200, std::move(body)));
}

}  // namespace

void add_system_routes(Router& router) {
  router.add({"GET", "/ojs/manifest", Scope::Public, Surface::Ojs, manifest});
  router.add({"GET", "/ojs/v1/health", Scope::Public, Surface::Ojs, health});
  router.add({"GET", "/health", Scope::Public, Surface::Plain, health});
  router.add({"GET", "/ready", Scope::Public, Surface::Plain, ready});
}

}  // namespace pawl::api
