// Figures for operators: the whole server, one tenant, scheduling.
#include "api/app.h"
#include "api/keyed_list.h"
#include "api/ojs/event_projection.h"
#include "api/ojs/render_queue.h"
#include "api/routes.h"

namespace pawl::api {
namespace {

struct Totals {
  std::array<uint64_t, kJobStateCount> counts{};
  uint64_t queues = 0;
  uint64_t paused = 0;
  uint64_t dead = 0;
  uint64_t depth = 0;

  void add(const Queue& queue) {
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

// Tenants by name, "" among them if a queue belongs to nobody.
std::map<std::string, Totals> by_tenant(const State& state) {
  std::map<std::string, Totals> tenants;
  state.each_queue([&](const Queue& queue) {
    if (is_internal_queue(queue.name)) return true;
    tenants[std::string(tenant_of_scoped(queue.name))].add(queue);
    return true;
  });
  return tenants;
}

Totals all_queues(const State& state, std::string_view tenant) {
  Totals totals;
  state.each_queue([&](const Queue& queue) {
    if (is_internal_queue(queue.name)) return true;
    if (tenant.empty() || tenant_of_scoped(queue.name) == tenant) totals.add(queue);
    return true;
  });
  return totals;
}

void write_jobs(json::Writer& w, const Totals& totals) {
  w.key("jobs").begin_object();
  write_state_counts(w, totals.counts);
  w.field_int("total", static_cast<int64_t>(totals.jobs())).end_object();
}

void stats(App& app, Call&& call) {
  std::string tenant = call.tenant;
  app.decide(std::move(call), [&app, tenant](Frame& frame) -> Result<http::Response> {
    Totals totals = all_queues(frame.state(), tenant);
    size_t crons = 0;
    frame.state().each_cron([&](const Cron&) { return ++crons, true; });
    std::string body;
    json::Writer w(body);
    w.begin_object().field_int("queues", static_cast<int64_t>(totals.queues));
    w.field_int("workers", static_cast<int64_t>(app.workers().list(frame.now_ms()).size()));
    write_jobs(w, totals);
    w.field_int("depth", static_cast<int64_t>(totals.depth));
    w.field_int("paused_queues", static_cast<int64_t>(totals.paused));
    w.field_int("dead_letter", static_cast<int64_t>(totals.dead));
    w.field_int("crons", static_cast<int64_t>(crons));
    w.field_int("uptime_seconds", (frame.now_ms() - app.started_ms()) / 1000);
    w.end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

void write_tenant(json::Writer& w, const std::string& tenant, const Totals& totals) {
  w.field("tenant_id", tenant).field_int("total_jobs", static_cast<int64_t>(totals.jobs()));
  w.field_int("queues", static_cast<int64_t>(totals.queues));
  w.field_int("active_jobs",
              static_cast<int64_t>(totals.counts[static_cast<size_t>(JobState::Active)]));
  w.field_int("depth", static_cast<int64_t>(totals.depth));
  write_jobs(w, totals);
}

void list_tenants(App& app, Call&& call) {
  answer_keyed_list(app, std::move(call), {"items", "tenants"}, kPageLimitUsual,
                    [](const Frame& frame, KeyedList& list) {
                      for (const auto& [tenant, totals] : by_tenant(frame.state())) {
                        bool seen = list.tenant().empty() || tenant == list.tenant();
                        if (tenant.empty() || !seen || !list.takes_unscoped(tenant)) continue;
                        list.writer().begin_object();
                        write_tenant(list.writer(), tenant, totals);
                        list.writer().end_object();
                      }
                    });
}

// A tenant that has pushed nothing yet reads as zeros, as a queue does.
void tenant_stats(App& app, Call&& call) {
  std::string tenant = call.params[0];
  if (tenant.empty() || tenant.size() > 128 || (!call.tenant.empty() && call.tenant != tenant))
    return call.fail({ErrorCode::NotFound, "no such tenant"});
  app.decide(std::move(call), [tenant](Frame& frame) -> Result<http::Response> {
    std::string body;
    json::Writer w(body);
    w.begin_object();
    write_tenant(w, tenant, all_queues(frame.state(), tenant));
    w.end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

// Jobs are handed out queue by queue in the order a worker names them, in each by priority, then
// age: what there is to say about fairness is how long the first of each queue has waited.
void scheduling_stats(App& app, Call&& call) {
  std::string tenant = call.tenant;
  app.decide(std::move(call), [&app, tenant](Frame& frame) -> Result<http::Response> {
    std::string body;
    json::Writer w(body);
    size_t shown = 0;
    w.begin_object().key("stats").begin_object().field("strategy", "strict_order");
    w.key("queues").begin_array();
    frame.state().each_queue([&](const Queue& queue) {
      if (is_internal_queue(queue.name)) return true;
      if (!tenant.empty() && tenant_of_scoped(queue.name) != tenant) return true;
      const ReadyKey* first = frame.state().first_ready(queue);
      const Job* next = first == nullptr ? nullptr : frame.state().find_job(first->job);
      w.begin_object().field("queue", queue_of_scoped(queue.name));
      w.field_int("available", static_cast<int64_t>(queue.count(JobState::Available)));
      w.field_int("active", static_cast<int64_t>(queue.count(JobState::Active)));
      if (next != nullptr) w.field_int("head_wait_ms", frame.now_ms() - next->enqueued_ms);
      if (int64_t asked = app.workers().queue_last_asked_ms(queue.name); asked != 0)
        w.field_time("last_fetch_at", asked);
      w.end_object();
      return ++shown < kPageLimitMax;
    });
    w.end_array().end_object().end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

}  // namespace

void add_admin_stats_routes(Router& router) {
  constexpr Surface kOjs = Surface::Ojs;
  router.add({"GET", "/ojs/v1/admin/stats", Scope::Read, kOjs, stats});
  router.add({"GET", "/ojs/v1/admin/tenants", Scope::Read, kOjs, list_tenants});
  router.add({"GET", "/ojs/v1/admin/tenants/{t}/stats", Scope::Read, kOjs, tenant_stats});
  router.add({"GET", "/ojs/v1/admin/scheduling/stats", Scope::Read, kOjs, scheduling_stats});
}

}  // namespace pawl::api
