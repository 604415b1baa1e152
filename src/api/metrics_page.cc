// GET /metrics: Prometheus text, version 0.0.4.
#include "api/app.h"
#include "api/cluster.h"
#include "api/node_pages.h"
#include "api/part_call.h"
#include "api/process_usage.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"
#include "worldhost/world_host.h"

namespace pawl::api {
namespace {

constexpr size_t kQueuesShownMax = 1'000;

class MetricsText {
 public:
  void describe(std::string_view name, std::string_view type, std::string_view help) {
    out_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    out_.append(name).append(" ").append(type).append("\n");
  }
  void sample(std::string_view name, std::string_view labels, double value) {
    out_.append(name);
    if (!labels.empty()) out_.append("{").append(labels).append("}");
    char text[40];
    int size = std::snprintf(text, sizeof text, " %.15g\n", value);
    out_.append(text, static_cast<size_t>(size));
  }
  // How many, and how long they took together.
  void durations(std::string_view name, std::string_view help, uint64_t count, uint64_t micros) {
    describe(name, "summary", help);
    sample(std::string(name) + "_sum", "", static_cast<double>(micros) / 1e6);
    sample(std::string(name) + "_count", "", static_cast<double>(count));
  }
  // `counts`: up to each bound, and beyond the last.
  void histogram(std::string_view name, std::string_view help, const auto& bounds_us,
                 const auto& counts, uint64_t micros) {
    describe(name, "histogram", help);
    uint64_t below = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      below += counts[i];
      char bound[32] = "+Inf";
      if (i < bounds_us.size())
        std::snprintf(bound, sizeof bound, "%g", static_cast<double>(bounds_us[i]) / 1e6);
      sample(std::string(name) + "_bucket", "le=\"" + std::string(bound) + "\"",
             static_cast<double>(below));
    }
    sample(std::string(name) + "_sum", "", static_cast<double>(micros) / 1e6);
    sample(std::string(name) + "_count", "", static_cast<double>(below));
  }
  void one(std::string_view name, std::string_view type, std::string_view help, auto value) {
    describe(name, type, help);
    sample(name, "", static_cast<double>(value));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string label(std::string_view name, std::string_view value) {
  std::string text = std::string(name) + "=\"";
  for (char c : value) {
    if (c == '"' || c == '\\') text.push_back('\\');
    text.push_back(c == '\n' ? ' ' : c);
  }
  return text + "\"";
}

void add_store(MetricsText& page, const Store& store) {
  StoreStats stats = store.stats();
  auto seconds = [](uint64_t ns) { return static_cast<double>(ns) / 1e9; };
  page.one("pawl_store_commits_total", "counter", "Batches made durable.", stats.commits);
  page.one("pawl_store_fsyncs_total", "counter", "Calls of fsync.", stats.fsyncs);
  page.one("pawl_store_fsync_seconds_total", "counter", "Time spent in fsync.",
           seconds(stats.sync_ns_total));
  page.describe("pawl_store_fsync_seconds", "gauge", "Latency of the last 1024 fsyncs.");
  page.sample("pawl_store_fsync_seconds", label("quantile", "0.5"), seconds(stats.sync_ns_p50));
  page.sample("pawl_store_fsync_seconds", label("quantile", "0.99"), seconds(stats.sync_ns_p99));
  page.one("pawl_store_journal_bytes_total", "counter", "Journal bytes written.",
           stats.journal_bytes);
  page.one("pawl_store_retries_total", "counter",
           "Commits tried again, since the database chose another transaction.", stats.retries);
  page.one("pawl_store_file_bytes", "gauge", "Size of the data file.", stats.file_bytes);
  page.one("pawl_store_wal_bytes", "gauge", "Log in use.", stats.wal_bytes);
  page.one("pawl_journal_first", "gauge", "Number of the oldest record kept.",
           store.journal_first());
  page.one("pawl_journal_head", "gauge", "Number of the newest record.", store.journal_last());
}

// Of the partitions that this node serves.
void add_partitions(MetricsText& page, const NodeParts& node) {
  const cluster::ClusterView view = shown_cluster(node);
  const std::string own = node.server.config().node_name;
  auto each = [&](std::string_view metric, auto&& value) {
    for (const cluster::PartitionView& one : view.partitions)
      if (one.node == own)
        page.sample(metric, label("partition", std::to_string(one.id)),
                    static_cast<double>(value(one)));
  };
  page.describe("pawl_partition_owned", "gauge", "1 for each partition that this node serves.");
  each("pawl_partition_owned", [](const auto&) { return 1; });
  page.describe("pawl_partition_epoch", "gauge", "How often its owner has changed, or settled.");
  each("pawl_partition_epoch", [](const auto& partition) { return partition.epoch; });
  const NodeFigures figures = node.server.node_figures();
  page.describe("pawl_messages_unsettled", "gauge",
                "Messages of a partition that their receivers have not taken yet.");
  for (const auto& [partition, messages] : figures.messages_unsettled)
    page.sample("pawl_messages_unsettled", label("partition", std::to_string(partition)),
                static_cast<double>(messages));
  page.one("pawl_takeovers_total", "counter", "Partitions taken from a dead node.",
           figures.takeovers);
  page.one("pawl_fenced_total", "counter", "Partitions lost to another node.", figures.fenced);
  page.durations("pawl_recovery_seconds", "How long partitions took from taken to served.",
                 figures.recoveries, figures.recovery_us);
  page.one("pawl_forwarded_total", "counter", "Requests passed on to other nodes.",
           figures.links.passed_on);
  page.histogram("pawl_forward_seconds",
                 "From passing a request on to its answer; without those that wait.",
                 link::LinkStats::kBoundsUs, figures.links.forwards, figures.links.forward_us);
}

void add_engine(MetricsText& page, const EngineStats& stats) {
  page.one("pawl_engine_batches_total", "counter", "Batches committed by the engine.",
           stats.batches);
  page.durations("pawl_store_commit_seconds", "How long batches took to become durable.",
                 stats.batches, stats.commit_us);
  page.one("pawl_runs_quarantined_total", "counter",
           "Runs and jobs that were ended since the server kept dying of them.", stats.quarantined);
  page.one("pawl_engine_tasks_total", "counter", "Requests decided and durable.", stats.tasks);
  page.one("pawl_engine_inputs_waiting", "gauge", "Requests waiting for the engine.",
           stats.inputs_waiting);
  page.one("pawl_fetches_parked", "gauge", "Fetches waiting for a job.", stats.parked);
  page.one("pawl_jobs_resident", "gauge", "Jobs in memory.", stats.jobs_resident);
  page.one("pawl_entities_dirty", "gauge", "Entities whose row is not written yet.", stats.dirty);
}

void add_pulse(MetricsText& page, const EnginePulse& pulse) {
  page.one("pawl_engine_turn_age_seconds", "gauge", "Since the engine's last turn began.",
           static_cast<double>(pulse.turn_age_ms) / 1000);
  page.one("pawl_engine_commit_age_seconds", "gauge", "Since the commit under way began; 0: none.",
           static_cast<double>(pulse.commit_age_ms) / 1000);
}

void add_jobs(MetricsText& page, const Metrics& metrics) {
  page.one("pawl_jobs_pushed_total", "counter", "Jobs accepted.", metrics.jobs_pushed.load());
  page.one("pawl_jobs_fetched_total", "counter", "Jobs leased.", metrics.jobs_fetched.load());
  page.one("pawl_jobs_acked_total", "counter", "Jobs acknowledged.", metrics.jobs_acked.load());
  page.one("pawl_jobs_nacked_total", "counter", "Jobs failed or returned by a worker.",
           metrics.jobs_nacked.load());
  page.one("pawl_webhooks_delivered_total", "counter", "Webhook deliveries answered with 2xx.",
           metrics.webhooks.delivered.load());
  page.one("pawl_webhooks_failed_total", "counter", "Tries of webhook deliveries that failed.",
           metrics.webhooks.failed.load());
}

void add_http(MetricsText& page, const Metrics& metrics, const http::ServerStats& stats) {
  page.describe("pawl_http_requests_total", "counter", "Requests answered, by class of status.");
  for (size_t i = 1; i < metrics.responses.size(); ++i)
    page.sample("pawl_http_requests_total", label("class", std::to_string(i) + "xx"),
                static_cast<double>(metrics.responses[i].load()));
  page.histogram("pawl_http_request_seconds", "From the whole request read to its answer queued.",
                 Metrics::kLatencyMicros, metrics.latency, metrics.latency_micros_total.load());
  page.one("pawl_http_requests_refused_total", "counter", "Refused by key, scope or origin.",
           metrics.requests_refused.load());
  page.one("pawl_http_connections", "gauge", "Connections open.", stats.connections_open);
  page.one("pawl_http_connections_total", "counter", "Connections accepted.",
           stats.connections_accepted);
  page.one("pawl_http_connections_max", "gauge", "Connections that may be open.",
           stats.connections_max);
  page.one("pawl_http_request_bytes", "gauge", "Bytes of requests that arrive or are in work.",
           stats.request_bytes);
  page.one("pawl_http_requests_no_room_total", "counter",
           "Requests refused, since as many bytes are held as may be.", stats.requests_no_room);
  page.one("pawl_http_requests_judged_out_total", "counter",
           "Requests answered before their body was read: key, scope, origin, no such path.",
           stats.judged_out);
  page.one("pawl_http_connections_refused_total", "counter", "Connections refused.",
           stats.connections_refused);
  constexpr std::string_view kCut = "pawl_http_connections_cut_total";
  page.describe(kCut, "counter", "Connections cut by a limit, by the limit.");
  page.sample(kCut, label("reason", "request_timeout"), static_cast<double>(stats.timeouts));
  page.sample(kCut, label("reason", "slow_reader"), static_cast<double>(stats.slow_readers_cut));
  page.sample(kCut, label("reason", "hoarder"), static_cast<double>(stats.hoarders_cut));
  page.sample(kCut, label("reason", "stream_overrun"), static_cast<double>(stats.streams_overrun));
  page.one("pawl_http_unsent_bytes", "gauge", "Answer bytes that wait for clients to take them.",
           stats.unsent_bytes);
  page.one("pawl_http_received_bytes_total", "counter", "Bytes received.", stats.bytes_in);
  page.one("pawl_http_sent_bytes_total", "counter", "Bytes sent.", stats.bytes_out);
}

void add_worlds(MetricsText& page, const WorldHostStats& stats) {
  const WorldCounts& counts = stats.counts;
  page.one("pawl_worlds", "gauge", "Module worlds, quarantined ones too.", stats.worlds);
  page.one("pawl_worlds_quarantined", "gauge", "Worlds that take no writes, as a replay differed.",
           stats.quarantined);
  page.one("pawl_world_calls_waiting", "gauge", "Calls that wait for the worker of their world.",
           stats.orders_waiting);
  page.one("pawl_world_batches_total", "counter", "Batches of calls decided and durable.",
           stats.batches);
  page.one("pawl_world_frames_total", "counter", "Frames written to journals of worlds.",
           counts.frames);
  page.one("pawl_world_steps_total", "counter", "Steps of modules that were kept.", counts.steps);
  page.one("pawl_world_step_failures_total", "counter", "Steps that failed their instance.",
           counts.step_failures);
  page.one("pawl_world_fuel_total", "counter", "Fuel that calls of modules used.", counts.fuel);
  page.one("pawl_world_effects_total", "counter", "Effects that passed the gate.", counts.intents);
  constexpr std::string_view kDenied = "pawl_world_effects_denied_total";
  page.describe(kDenied, "counter", "Effects that were refused, by what refused them.");
  page.sample(kDenied, label("by", "cap"), static_cast<double>(counts.cap_denials));
  page.sample(kDenied, label("by", "policy"), static_cast<double>(counts.policy_denials));
  constexpr std::string_view kOpen = "pawl_world_effects_open";
  page.describe(kOpen, "gauge", "Effects without a receipt; inflight: leased or at work.");
  page.sample(kOpen, label("state", "queued"), static_cast<double>(stats.effects_queued));
  page.sample(kOpen, label("state", "inflight"), static_cast<double>(stats.effects_at_work));
  constexpr std::string_view kReceipts = "pawl_world_receipts_total";
  page.describe(kReceipts, "counter", "Receipts that settled an effect, by status.");
  page.sample(kReceipts, label("status", "ok"), static_cast<double>(counts.receipts_ok));
  page.sample(kReceipts, label("status", "error"), static_cast<double>(counts.receipts_error));
  page.sample(kReceipts, label("status", "timeout"), static_cast<double>(counts.receipts_timeout));
  page.one("pawl_world_receipt_faults_total", "counter",
           "Receipts whose payload could not be delivered as sent.", counts.faults);
}

void add_process(MetricsText& page, ServerParts& server) {
  ProcessUsage usage = process_usage();
  page.one("process_resident_memory_bytes", "gauge", "Memory in use.", usage.resident_bytes);
  page.one("process_max_fds", "gauge", "Files that may be open.", usage.open_files_max);
  page.one("process_cpu_seconds_total", "counter", "CPU time used.", usage.cpu_seconds);
  page.one("pawl_uptime_seconds", "gauge", "Since the start.",
           static_cast<double>(server.clock().now_ms() - server.started_ms()) / 1000);
  page.describe("pawl_build_info", "gauge", "Always 1.");
  page.sample(
      "pawl_build_info",
      label("version", server.config().version) + "," + label("store", server.config().store_name),
      1);
}

// The samples of a family must be adjacent, hence one pass for each.
size_t each_shown_queue(const State& state, auto&& visit) {
  size_t queues = 0;
  state.each_queue([&](const Queue& queue) {
    if (queues++ >= kQueuesShownMax) return true;
    std::string labels = label("queue", queue_of_scoped(queue.name));
    std::string_view tenant = tenant_of_scoped(queue.name);
    if (!tenant.empty()) labels += "," + label("tenant", tenant);
    visit(queue, labels);
    return true;
  });
  return queues;
}

void add_queues(MetricsText& page, const State& state) {
  auto states = [&](std::string_view name, std::initializer_list<JobState> shown) {
    each_shown_queue(state, [&](const Queue& queue, const std::string& labels) {
      for (JobState one : shown)
        page.sample(name, labels + "," + label("state", state_name(one)),
                    static_cast<double>(queue.count(one)));
    });
  };
  page.describe("pawl_queue_jobs", "gauge", "Jobs that are not finished, by state.");
  states("pawl_queue_jobs", {JobState::Available, JobState::Scheduled, JobState::Pending,
                             JobState::Active, JobState::Retryable});
  page.describe("pawl_queue_jobs_finished_total", "counter", "Jobs that are finished, by state.");
  states("pawl_queue_jobs_finished_total",
         {JobState::Completed, JobState::Cancelled, JobState::Discarded});
  page.describe("pawl_queue_dead_letter_jobs", "gauge", "Jobs in the dead letter list.");
  each_shown_queue(state, [&](const Queue& queue, const std::string& labels) {
    page.sample("pawl_queue_dead_letter_jobs", labels, static_cast<double>(queue.dead));
  });
  page.describe("pawl_queue_paused", "gauge", "1 if nothing is fetched from it.");
  size_t queues = each_shown_queue(state, [&](const Queue& queue, const std::string& labels) {
    page.sample("pawl_queue_paused", labels, queue.settings.paused ? 1 : 0);
  });
  page.one("pawl_queues", "gauge", "Queues, also those past the 1000 shown above.", queues);
}

// What follows is the node's; a part is without it, since the front adds it once.
void metrics(App& app, Call&& call) {
  const bool part = is_part(app, call);
  app.decide(std::move(call), [&app, part](Frame& frame) -> Reply {
    MetricsText page;
    add_store(page, app.store());
    add_engine(page, app.engine().stats());
    add_pulse(page, app.engine().pulse());
    page.one("pawl_event_streams", "gauge", "Event streams open.", app.events().streams());
    add_queues(page, frame.state());
    if (app.worlds() != nullptr) add_worlds(page, app.worlds()->stats());
    return metrics_response(page.take() + (part ? "" : node_metrics({app.server(), {&app}})));
  });
}

}  // namespace

std::string node_metrics(const NodeParts& node) {
  MetricsText page;
  add_partitions(page, node);
  add_jobs(page, node.server.metrics());
  add_http(page, node.server.metrics(), node.server.http_stats());
  add_process(page, node.server);
  return page.take();
}

http::Response metrics_response(std::string text) {
  http::Response response;
  response.content_type = "text/plain";
  response.body = std::move(text);
  return response;
}

void add_metrics_routes(Router& router) {
  router.add({"GET", "/metrics", Permission::Read, Routing::Here, metrics});
}

}  // namespace pawl::api
