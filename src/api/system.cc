// Health, readiness, the manifest, and system information for operators.
#include <algorithm>

#include "api/app.h"
#include "api/process_usage.h"
#include "api/routes.h"
#include "base/json_writer.h"
#include "engine/recovery.h"
#include "kernel/frame.h"
#include "kernel/jobs/queue.h"

namespace pawl::api {
namespace {

void server_health(App& app, Call&& call) {
  std::optional<Error> failure = app.engine().failed();
  std::string status = failure ? "unhealthy" : app.draining() ? "degraded" : "ok";
  json::ObjectWriter w;
  w.field("status", status).field("version", app.config().version);
  w.field_int("uptime_seconds", (app.clock().now_ms() - app.started_ms()) / 1000);
  w.key("backend")
      .begin_object()
      .field("type", app.config().store_name)
      .field("status", failure ? "unhealthy" : "ok")
      .end_object();
  if (failure) w.field("error", failure->message);
  call.answer(json_response(call.surface(), failure ? 503 : 200, w.close()));
}

// Answered on the I/O thread: it must report a stuck engine.
void ready(App& app, Call&& call) {
  const EnginePulse pulse = app.engine().pulse();
  const bool stuck = std::max(pulse.turn_age_ms, pulse.commit_age_ms) > app.config().stuck_after_ms;
  const bool good = !stuck && !app.engine().failed() && !app.draining();
  json::ObjectWriter w;
  w.field("status", stuck ? "stuck" : good ? "ready" : "not_ready");
  w.field_bool("ready", good).field_int("engine_turn_age_ms", pulse.turn_age_ms);
  w.field_int("commit_age_ms", pulse.commit_age_ms);
  call.answer(json_response(call.surface(), good ? 200 : 503, w.close()));
}

void manifest(App& app, Call&& call) {
  json::ObjectWriter w;
  w.field("specversion", "1.0").field("ojs_version", "1.0");
  w.key("implementation")
      .begin_object()
      .field("name", "pawl")
      .field("version", app.config().version)
      .field("language", "c++")
      .end_object();
  w.field_int("conformance_level", 4).key("protocols").begin_array().string("http").end_array();
  w.field("backend", app.config().store_name).key("capabilities").begin_object();
  for (std::string_view name :
       {"batch_enqueue", "cron_jobs", "dead_letter", "delayed_jobs", "job_ttl", "priority_queues",
        "rate_limiting", "schema_validation", "unique_jobs", "workflows", "pause_resume", "events",
        "webhooks", "checkpoints", "progress", "multi_tenancy", "backpressure"})
    w.field_bool(name, true);
  w.end_object().key("extensions").begin_array();
  for (std::string_view name :
       {"admin-api", "backpressure", "dead-letter", "durable-execution", "graceful-shutdown",
        "job-versioning", "multi-tenancy", "observability", "progress", "rate-limiting",
        "schema-registry", "webhooks"})
    w.string(name);
  w.end_array();
  call.answer(json_response(Surface::Ojs, 200, w.close()));
}

void render_store(json::Writer& w, App& app) {
  StoreStats stats = app.store().stats();
  w.key("store")
      .begin_object()
      .field("type", app.config().store_name)
      .field_int("commits", stats.commits);
  w.field_int("outages", app.engine().stats().outages);
  w.field_int("fsyncs", stats.fsyncs)
      .field_int("file_bytes", stats.file_bytes)
      .field_int("wal_bytes", stats.wal_bytes);
  w.key("fsync")
      .begin_object()
      .field_int("p50_us", stats.sync_ns_p50 / 1000)
      .field_int("p99_us", stats.sync_ns_p99 / 1000);
  w.field_int("mean_us", stats.fsyncs == 0 ? 0 : stats.sync_ns_total / stats.fsyncs / 1000)
      .end_object()
      .end_object();
  w.key("journal").begin_object().field_int("first", app.store().journal_first());
  w.field_int("head", app.store().journal_last())
      .field_int("bytes_written", stats.journal_bytes)
      .end_object();
}

void render_server_counts(json::Writer& w, App& app, const State& state) {
  EngineStats stats = app.engine().stats();
  std::array<uint64_t, kJobStateCount> jobs{};
  int64_t queues = 0;
  uint64_t dead = 0;
  state.each_queue([&](const Queue& queue) {
    for (size_t i = 0; i < kJobStateCount; ++i) jobs[i] += queue.counts[i];
    dead += queue.dead;
    return ++queues, true;
  });
  w.key("jobs").begin_object();
  for (size_t i = 1; i < kJobStateCount; ++i)
    w.field_int(state_name(static_cast<JobState>(i)), static_cast<int64_t>(jobs[i]));
  w.field_int("dead_letter", dead).end_object();
  w.key("counts")
      .begin_object()
      .field_int("queues", queues)
      .field_int("jobs_resident", stats.jobs_resident);
  w.field_int("dirty", stats.dirty).field_int("fetches_parked", stats.parked);
  w.field_int("inputs_waiting", stats.inputs_waiting)
      .field_int("event_streams", app.events().streams());
  w.field_int("connections", app.http_stats().connections_open).end_object();
}

void system(App& app, Call&& call) {
  app.decide(std::move(call), [&app](Frame& frame) -> Reply {
    const AppConfig& config = app.config();
    ProcessUsage usage = process_usage();
    const Recovery& recovery = app.engine().recovery();
    int64_t now_ms = app.clock().now_ms();
    json::ObjectWriter w;
    w.field("name", "pawl").field("version", config.version).field("data", config.data_dir);
    w.field_time("started_at", app.started_ms())
        .field_time("time", now_ms)
        .field_int("uptime_ms", now_ms - app.started_ms());
    w.field_bool("draining", app.draining());
    render_store(w, app);
    render_server_counts(w, app, frame.state());
    w.key("recovery").begin_object().field_int("records", recovery.records);
    w.field_int("events", recovery.events).end_object();
    w.key("process").begin_object().field_int("resident_bytes", usage.resident_bytes);
    w.key("cpu_seconds").real(usage.cpu_seconds).end_object();
    w.key("limits").begin_object().field_int("batch_jobs_max", config.batch_jobs_max);
    w.field_int("fetch_count_max", config.fetch_count_max)
        .field_int("fetch_wait_ms_max", config.fetch_wait_ms_max);
    w.field_int("result_bytes_max", config.result_bytes_max)
        .field_int("idempotency_ms", config.idempotency_ms)
        .end_object();
    return json_response(Surface::V1, 200, w.close());
  });
}

}  // namespace

void add_system_routes(Router& router) {
  router.add({"GET", "/ojs/manifest", Permission::Public, Routing::Here, manifest});
  router.add({"GET", "/ojs/v1/health", Permission::Public, Routing::Here, server_health});
  router.add(
      {"GET", "/ojs/v1/admin/system/health", Permission::Read, Routing::Here, server_health});
  router.add({"GET", "/health", Permission::Public, Routing::Here, server_health});
  router.add({"GET", "/v1/system", Permission::Read, Routing::Here, system});
  router.add({"GET", "/ready", Permission::Public, Routing::Here, ready});
}

}  // namespace pawl::api
