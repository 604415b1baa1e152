// Health, readiness, the manifest, and system information for operators.
#include <algorithm>

#include "api/app.h"
#include "api/cluster.h"
#include "api/node_pages.h"
#include "api/part_call.h"
#include "api/process_usage.h"
#include "api/routes.h"
#include "base/json_writer.h"
#include "engine/recovery.h"
#include "kernel/frame.h"
#include "kernel/jobs/queue.h"

namespace pawl::api {
namespace {

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

void render_server_counts(json::Writer& w, App& app, const State& state, bool part) {
  EngineStats stats = app.engine().stats();
  std::array<uint64_t, kJobStateCount> jobs{};
  int64_t queues = 0;
  uint64_t dead = 0;
  std::vector<std::string> names;  // for a part: other partitions may have the same queues
  state.each_queue([&](const Queue& queue) {
    if (part) names.push_back(queue.name);
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
  if (!part) return;
  w.key("part_queues").begin_array();
  for (const std::string& name : names) w.string(name);
  w.end_array();
}

void system(App& app, Call&& call) {
  const bool part = is_part(app, call);
  app.decide(std::move(call), [&app, part](Frame& frame) -> Reply {
    const Recovery& recovery = app.engine().recovery();
    json::ObjectWriter w;
    write_node_of_system(w, app.server(), app.draining());
    render_store(w, app);
    render_server_counts(w, app, frame.state(), part);
    w.key("recovery").begin_object().field_int("records", recovery.records);
    w.field_int("events", recovery.events).end_object();
    return json_response(Surface::V1, 200, w.close());
  });
}

const EngineLoop* failed_engine(const NodeParts& node) {
  for (App* app : node.apps)
    if (app->engine().failed()) return &app->engine();
  return nullptr;
}

// Without an owner, or with one that does not serve it yet, as /v1/cluster tells it.
std::vector<uint16_t> unserved_partitions(const NodeParts& node) {
  std::vector<uint16_t> unserved = node.without_owner;
  for (const cluster::PartitionView& one : shown_cluster(node).partitions)
    if (one.state == cluster::PartitionState::Free ||
        one.state == cluster::PartitionState::Recovering)
      unserved.push_back(one.id);
  std::sort(unserved.begin(), unserved.end());
  unserved.erase(std::unique(unserved.begin(), unserved.end()), unserved.end());
  return unserved;
}

}  // namespace

http::Response health_page(const NodeParts& node, Surface surface) {
  const AppConfig& config = node.server.config();
  const EngineLoop* engine = failed_engine(node);
  const std::optional<Error> failure = engine != nullptr ? engine->failed() : std::nullopt;
  json::ObjectWriter w;
  w.field("status", failure ? "unhealthy" : node.draining() ? "degraded" : "ok");
  w.field("version", config.version);
  w.field_int("uptime_seconds", (node.server.clock().now_ms() - node.server.started_ms()) / 1000);
  w.key("backend")
      .begin_object()
      .field("type", config.store_name)
      .field("status", failure ? "unhealthy" : "ok")
      .end_object();
  if (failure) w.field("error", failure->message);
  return json_response(surface, failure ? 503 : 200, w.close());
}

http::Response ready_page(const NodeParts& node, Surface surface) {
  const std::vector<uint16_t> unserved = unserved_partitions(node);
  EnginePulse oldest;
  for (App* app : node.apps) {
    const EnginePulse pulse = app->engine().pulse();
    oldest.turn_age_ms = std::max(oldest.turn_age_ms, pulse.turn_age_ms);
    oldest.commit_age_ms = std::max(oldest.commit_age_ms, pulse.commit_age_ms);
  }
  const bool stuck =
      std::max(oldest.turn_age_ms, oldest.commit_age_ms) > node.server.config().stuck_after_ms;
  const bool good =
      !stuck && failed_engine(node) == nullptr && !node.draining() && unserved.empty();
  json::ObjectWriter w;
  w.field("status", stuck ? "stuck" : good ? "ready" : "not_ready");
  w.field_bool("ready", good).field_int("engine_turn_age_ms", oldest.turn_age_ms);
  w.field_int("commit_age_ms", oldest.commit_age_ms);
  if (!unserved.empty()) {
    w.key("partitions_unserved").begin_array();
    for (uint16_t partition : unserved) w.integer(partition);
    w.end_array();
  }
  return json_response(surface, good ? 200 : 503, w.close());
}

http::Response manifest_page(const NodeParts& node, Surface) {
  const AppConfig& config = node.server.config();
  json::ObjectWriter w;
  w.field("specversion", "1.0").field("ojs_version", "1.0");
  w.key("implementation")
      .begin_object()
      .field("name", "pawl")
      .field("version", config.version)
      .field("language", "c++")
      .end_object();
  w.field_int("conformance_level", 4).key("protocols").begin_array().string("http").end_array();
  w.field("backend", config.store_name).key("capabilities").begin_object();
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
  return json_response(Surface::Ojs, 200, w.close());
}

void write_node_of_system(json::Writer& w, ServerParts& server, bool draining) {
  const AppConfig& config = server.config();
  const ProcessUsage usage = process_usage();
  const int64_t now_ms = server.clock().now_ms();
  w.field("name", "pawl").field("version", config.version).field("data", config.data_dir);
  w.field_time("started_at", server.started_ms())
      .field_time("time", now_ms)
      .field_int("uptime_ms", now_ms - server.started_ms());
  w.field_bool("draining", draining);
  w.key("process").begin_object().field_int("resident_bytes", usage.resident_bytes);
  w.key("cpu_seconds").real(usage.cpu_seconds).end_object();
  w.key("limits").begin_object().field_int("batch_jobs_max", config.batch_jobs_max);
  w.field_int("fetch_count_max", config.fetch_count_max)
      .field_int("fetch_wait_ms_max", config.fetch_wait_ms_max);
  w.field_int("result_bytes_max", config.result_bytes_max)
      .field_int("idempotency_ms", config.idempotency_ms)
      .end_object();
}

void add_system_routes(Router& router) {
  router.add({"GET", "/ojs/manifest", Permission::Public, Routing::Here, answer_node_page});
  router.add({"GET", "/ojs/v1/health", Permission::Public, Routing::Here, answer_node_page});
  router.add(
      {"GET", "/ojs/v1/admin/system/health", Permission::Read, Routing::Here, answer_node_page});
  router.add({"GET", "/health", Permission::Public, Routing::Here, answer_node_page});
  router.add({"GET", "/v1/system", Permission::Read, Routing::Gather, system});
  router.add({"GET", "/ready", Permission::Public, Routing::Here, answer_node_page});
}

}  // namespace pawl::api
