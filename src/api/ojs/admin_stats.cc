// Figures for operators: the whole server, one tenant, scheduling.
#include "api/app.h"
#include "api/keyed_list.h"
#include "api/ojs/render_queue.h"
#include "api/part_call.h"
#include "api/routes.h"
#include "base/time.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"
#include "wire/event_projection.h"

namespace pawl::api {
namespace {

struct AdminTotals {
  std::array<uint64_t, kJobStateCount> counts{};
  uint64_t queues = 0;
  uint64_t paused = 0;
  uint64_t dead = 0;
  uint64_t depth = 0;

  int64_t created_ms = 0;  // of the first queue
  // For a part: other partitions may have the same queues.
  std::vector<std::string> names;
  std::vector<std::string> paused_names;

  void add(const Queue& queue) {
    if (queue.settings.deleted) return;
    names.push_back(queue.name);
    if (queue.settings.paused) paused_names.push_back(queue.name);
    if (created_ms == 0 || queue.created_ms < created_ms) created_ms = queue.created_ms;
    for (size_t at = 0; at < kJobStateCount; ++at) counts[at] += queue.counts[at];
    ++queues;
    paused += queue.settings.paused ? 1 : 0;
    dead += queue.dead;
    depth += queue.depth();
  }
  uint64_t jobs() const {
    uint64_t sum = 0;
    for (uint64_t count : counts) sum += count;
    return sum;
  }
};

// Tenants by name, including "" if a queue has no tenant.
std::map<std::string, AdminTotals> by_tenant(const State& state) {
  std::map<std::string, AdminTotals> tenants;
  state.each_queue([&](const Queue& queue) {
    if (is_internal_queue(queue.name)) return true;
    tenants[std::string(tenant_of_scoped(queue.name))].add(queue);
    return true;
  });
  return tenants;
}

AdminTotals all_queues(const State& state, std::string_view tenant) {
  AdminTotals totals;
  state.each_queue([&](const Queue& queue) {
    if (is_internal_queue(queue.name)) return true;
    if (tenant.empty() || tenant_of_scoped(queue.name) == tenant) totals.add(queue);
    return true;
  });
  return totals;
}

void write_jobs(json::Writer& w, const AdminTotals& totals) {
  w.key("jobs").begin_object();
  write_state_counts(w, totals.counts);
  w.field_int("total", totals.jobs()).end_object();
}

AdminTotals one_queue(const State& state, const std::string& scoped) {
  AdminTotals totals;
  const Queue* queue = state.find_queue(scoped);
  if (queue != nullptr && !is_internal_queue(scoped)) totals.add(*queue);
  return totals;
}

void write_names(json::Writer& w, std::string_view member, const std::vector<std::string>& names) {
  w.key(member).begin_array();
  for (const std::string& name : names) w.string(name);
  w.end_array();
}

// Of the last minute, in both spellings that clients read.
void write_throughput(json::Writer& w, const Tally& minute) {
  w.key("throughput").begin_object();
  w.field_int("processed_per_minute", minute.completed);
  w.field_int("failed_per_minute", minute.failed);
  w.field_int("enqueued_per_minute", minute.enqueued);
  w.field_int("enqueued_per_min", minute.enqueued);
  w.field_int("completed_per_min", minute.completed);
  w.field_int("failed_per_min", minute.failed).end_object();
}

void write_worker_counts(json::Writer& w, const std::vector<WorkerInfo>& workers, int64_t now_ms) {
  const WorkerCounts counts = count_workers(workers, now_ms);
  w.key("workers").begin_object().field_int("total", counts.total);
  w.field_int("running", counts.running).field_int("quiet", counts.quiet);
  w.field_int("stale", counts.stale).end_object();
}

// The command line client reads how many queues and workers there are as objects, the specification
// and the admin UI as numbers; only the command line client asks for the media type by name.
void write_counts(json::Writer& w, App& app, const AdminTotals& totals, bool as_objects,
                  int64_t now_ms) {
  std::vector<WorkerInfo> workers = app.workers().list(now_ms);
  auto queues = static_cast<int64_t>(totals.queues);
  auto paused = static_cast<int64_t>(totals.paused);
  if (!as_objects) {
    w.field_int("queues", queues).field_int("workers", workers.size());
    return;
  }
  w.key("queues").begin_object().field_int("total", queues).field_int("active", queues - paused);
  w.field_int("paused", paused).end_object();
  write_worker_counts(w, workers, now_ms);
}

void admin_stats(App& app, Call&& call) {
  StatsScope scope{call.tenant, call.query("queue")};
  bool as_objects = call.request.header("accept") == "application/openjobspec+json";
  bool part = is_part(app, call);
  app.decide(std::move(call), [&app, scope, as_objects, part](Frame& frame) -> Reply {
    AdminTotals totals = scope.queue.empty()
                             ? all_queues(frame.state(), scope.tenant)
                             : one_queue(frame.state(), scoped_queue(scope.tenant, scope.queue));
    app.stats_history().sample(frame.state(), frame.now_ms());
    size_t crons = 0;
    frame.state().each_cron([&](const Cron&) { return ++crons, true; });
    json::ObjectWriter w;
    write_counts(w, app, totals, as_objects, frame.now_ms());
    write_jobs(w, totals);
    write_throughput(w, app.stats_history().last_minute(scope, frame.now_ms()));
    w.field_int("depth", totals.depth);
    w.field_int("paused_queues", totals.paused);
    w.field_int("dead_letter", totals.dead);
    w.field_int("crons", crons);
    w.field_int("uptime_seconds", (frame.now_ms() - app.started_ms()) / 1000);
    if (part) write_names(w, "part_queues", totals.names);
    if (part) write_names(w, "part_paused", totals.paused_names);
    return json_response(Surface::Ojs, 200, w.close());
  });
}

constexpr std::pair<std::string_view, int64_t> kPeriods[] = {{"1m", StatsHistory::kMinuteMs},
                                                             {"5m", 5 * StatsHistory::kMinuteMs},
                                                             {"15m", 15 * StatsHistory::kMinuteMs},
                                                             {"1h", StatsHistory::kHourMs},
                                                             {"1d", 24 * StatsHistory::kHourMs}};

struct HistoryQuery {
  StatsScope scope;
  std::string period = "5m";
  int64_t period_ms = 0;
  int64_t since_ms = 0;
  int64_t until_ms = 0;
};

// A time, or an age.
Result<int64_t> parse_point(const Call& call, std::string_view name, int64_t now_ms,
                            int64_t fallback_ms) {
  std::string text = call.query(name);
  if (text.empty()) return fallback_ms;
  auto ago = text[0] == 'P' ? parse_iso_duration_ms(text) : parse_duration_ms(text);
  if (ago.ok()) return now_ms - *ago;
  auto at = parse_rfc3339(text);
  if (at.ok()) return *at;
  return Error{ErrorCode::InvalidRequest,
               std::string(name) + " must be an RFC 3339 time or a duration such as 24h"};
}

Result<HistoryQuery> parse_history(const Call& call, int64_t now_ms) {
  HistoryQuery query;
  query.scope = {call.tenant, call.query("queue")};
  if (std::string period = call.query("period"); !period.empty()) query.period = period;
  for (const auto& [name, ms] : kPeriods)
    if (name == query.period) query.period_ms = ms;
  if (query.period_ms == 0)
    return Error{ErrorCode::InvalidRequest, "period must be 1m, 5m, 15m, 1h or 1d"};
  int64_t usual_ms = now_ms - std::max(StatsHistory::kHourMs, 24 * query.period_ms);
  PAWL_TRY(query.since_ms, parse_point(call, "since", now_ms, usual_ms));
  PAWL_TRY(query.until_ms, parse_point(call, "until", now_ms, now_ms + 1));
  if (query.until_ms <= query.since_ms)
    return Error{ErrorCode::InvalidRequest, "until must be later than since"};
  query.until_ms = std::min(query.until_ms, now_ms + 1);
  return query;
}

void history(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto query, parse_history(call, app.clock().now_ms()));
  app.decide(std::move(call), [&app, query](Frame& frame) -> Reply {
    StatsHistory& history = app.stats_history();
    history.sample(frame.state(), frame.now_ms());
    std::string points;
    json::Writer p(points);
    p.begin_array();
    for (const auto& [at_ms, tally] :
         history.periods(query.scope, query.period_ms, query.since_ms, query.until_ms)) {
      p.begin_object().field_time("timestamp", at_ms);
      p.field_int("processed", tally.completed);
      p.field_int("completed", tally.completed);
      p.field_int("failed", tally.failed);
      p.field_int("enqueued", tally.enqueued).end_object();
    }
    p.end_array();
    json::ObjectWriter w;
    w.field("period", query.period).field_raw("data", points);
    w.field_raw("data_points", points).field_time("recorded_since", history.since_ms());
    return json_response(Surface::Ojs, 200, w.close());
  });
}

void write_tenant(json::Writer& w, App& app, const std::string& tenant, const AdminTotals& totals,
                  int64_t now_ms, bool part) {
  w.field("tenant_id", tenant).field("id", tenant).field("name", tenant);
  w.field_int("total_jobs", totals.jobs());
  w.field_int("queues", totals.queues);
  w.field_int("active_jobs", totals.counts[static_cast<size_t>(JobState::Active)]);
  w.field_int("depth", totals.depth);
  write_jobs(w, totals);
  w.key("stats").begin_object().field_int("queues", totals.queues);
  write_jobs(w, totals);
  w.field_int("workers", count_workers_of(app.workers().list(now_ms), tenant)).end_object();
  w.field_time_if_set("created_at", totals.created_ms);
  if (part) write_names(w, "part_queues", totals.names);
}

void list_tenants(App& app, Call&& call) {
  bool part = is_part(app, call);
  answer_keyed_list(app, std::move(call), {"items", "tenants"}, kPageLimitUsual,
                    [&app, part](const Frame& frame, KeyedList& list) {
                      for (const auto& [tenant, totals] : by_tenant(frame.state())) {
                        bool seen = list.tenant().empty() || tenant == list.tenant();
                        if (tenant.empty() || !seen || !list.takes_unscoped(tenant)) continue;
                        list.writer().begin_object();
                        write_tenant(list.writer(), app, tenant, totals, frame.now_ms(), part);
                        list.writer().end_object();
                      }
                    });
}

Result<std::string> tenant_of_path(const Call& call) {
  const std::string& tenant = call.params[0];
  bool good = !tenant.empty() && tenant.size() <= 128;
  if (good && (call.tenant.empty() || call.tenant == tenant)) return tenant;
  return Error{ErrorCode::NotFound, "tenant " + tenant.substr(0, 128) + " not found"};
}

void answer_tenant(App& app, Call&& call, bool must_exist) {
  PAWL_TRY_CALL(call, auto tenant, tenant_of_path(call));
  bool part = is_part(app, call);
  app.decide(std::move(call), [&app, tenant, must_exist, part](Frame& frame) -> Reply {
    AdminTotals totals = all_queues(frame.state(), tenant);
    if (must_exist && totals.queues == 0)
      return Error{ErrorCode::NotFound, "tenant " + tenant + " not found"};
    json::ObjectWriter w;
    write_tenant(w, app, tenant, totals, frame.now_ms(), part);
    return json_response(Surface::Ojs, 200, w.close());
  });
}

// A tenant that has pushed nothing yet reads as zeros, as a queue does.
void tenant_stats(App& app, Call&& call) { answer_tenant(app, std::move(call), false); }
void get_tenant(App& app, Call&& call) { answer_tenant(app, std::move(call), true); }

// Jobs are leased queue by queue in the order a worker names them, in each by priority, then age:
// the only measure of fairness is how long the first job of each queue has waited.
void scheduling_stats(App& app, Call&& call) {
  std::string tenant = call.tenant;
  app.decide(std::move(call), [&app, tenant](Frame& frame) -> Reply {
    json::ObjectWriter w;
    size_t shown = 0;
    w.key("stats").begin_object().field("strategy", "strict_order");
    w.key("queues").begin_array();
    frame.state().each_queue([&](const Queue& queue) {
      if (is_internal_queue(queue.name)) return true;
      if (!tenant.empty() && tenant_of_scoped(queue.name) != tenant) return true;
      const ReadyKey* first = frame.state().first_ready(queue);
      const Job* next = first == nullptr ? nullptr : frame.state().find_job(first->job);
      w.begin_object().field("queue", queue_of_scoped(queue.name));
      if (auto own = tenant_of_scoped(queue.name); !own.empty()) w.field("tenant_id", own);
      w.field_int("available", queue.count(JobState::Available));
      w.field_int("active", queue.count(JobState::Active));
      if (next != nullptr) w.field_int("head_wait_ms", frame.now_ms() - next->enqueued_ms);
      if (int64_t asked = app.workers().queue_last_asked_ms(queue.name); asked != 0)
        w.field_time("last_fetch_at", asked);
      w.end_object();
      return ++shown < kPageLimitMax;
    });
    w.end_array().end_object();
    return json_response(Surface::Ojs, 200, w.close());
  });
}

}  // namespace

void add_admin_stats_routes(Router& router) {
  router.add({"GET", "/ojs/v1/admin/stats", Permission::Read, Routing::Gather, admin_stats});
  router.add({"GET", "/ojs/v1/admin/stats/history", Permission::Read, Routing::Gather, history});
  router.add({"GET", "/ojs/v1/admin/tenants", Permission::Read, Routing::Gather, list_tenants});
  router.add({"GET", "/ojs/v1/admin/tenants/{t}", Permission::Read, Routing::Gather, get_tenant});
  router.add(
      {"GET", "/ojs/v1/admin/tenants/{t}/stats", Permission::Read, Routing::Gather, tenant_stats});
  router.add({"GET", "/ojs/v1/admin/scheduling/stats", Permission::Read, Routing::Gather,
              scheduling_stats});
}

}  // namespace pawl::api
