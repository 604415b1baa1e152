#include "front/merge_rules.h"

#include <algorithm>

#include "base/partition.h"

namespace pawl::front {
namespace {

using Shape = MergeRule::Shape;

// --- recipes

constexpr std::string_view kJobStates[] = {"available", "active",    "scheduled", "retryable",
                                           "pending",   "completed", "cancelled", "discarded"};

Recipe with_counts_of_jobs(Recipe recipe) {
  for (std::string_view state : kJobStates) recipe.members.push_back({state, Join::Sum});
  recipe.members.push_back({"depth", Join::Sum});
  recipe.members.push_back({"dead_letter", Join::Sum});
  recipe.members.push_back({"created_at", Join::Earliest});
  return recipe;
}

const Recipe& queue_recipe() {
  static const Recipe kRecipe =
      with_counts_of_jobs({.members = {{"completed_last_hour", Join::Sum},
                                       {"failed_last_hour", Join::Sum},
                                       {"avg_duration_ms", Join::Mean},
                                       {"avg_wait_ms", Join::Mean},
                                       {"throughput_per_second", Join::Sum},
                                       {"partial", Join::Any},
                                       {"computed_at", Join::Latest},
                                       {"next_available_at", Join::Earliest},
                                       {"last_fetch_at", Join::Latest}},
                           .weights = {"completed_last_hour", "failed_last_hour"}});
  return kRecipe;
}

const Recipe& priorities_recipe() {
  static const Recipe kRecipe{
      .members = {{"counts_by_priority", Join::Counts}, {"count", Join::Sum}, {"total", Join::Sum}},
      .arrays = {{.name = "distribution", .key = "priority", .descending = true}}};
  return kRecipe;
}

const Recipe& limit_recipe() {
  static const Recipe kRecipe{.members = {{"active", Join::Sum},
                                          {"current_count", Join::Sum},
                                          {"window_resets_at", Join::Latest}}};
  return kRecipe;
}

const Recipe& totals_recipe() {
  static const Recipe kRecipe =
      with_counts_of_jobs({.members = {{"total", Join::Sum},
                                       {"total_jobs", Join::Sum},
                                       {"active_jobs", Join::Sum},
                                       {"crons", Join::Sum},
                                       {"uptime_seconds", Join::Most},
                                       {"processed_per_minute", Join::Sum},
                                       {"failed_per_minute", Join::Sum},
                                       {"enqueued_per_minute", Join::Sum},
                                       {"enqueued_per_min", Join::Sum},
                                       {"completed_per_min", Join::Sum},
                                       {"failed_per_min", Join::Sum},
                                       {"part_queues", Join::Names},
                                       {"part_paused", Join::Names}}});
  return kRecipe;
}

const Recipe& history_recipe() {
  static const Recipe kRecipe{.members = {{"processed", Join::Sum},
                                          {"completed", Join::Sum},
                                          {"failed", Join::Sum},
                                          {"enqueued", Join::Sum},
                                          {"recorded_since", Join::Earliest}},
                              .arrays = {{.name = "data", .key = "timestamp"},
                                         {.name = "data_points", .key = "timestamp"}}};
  return kRecipe;
}

const Recipe& scheduling_recipe() {
  static const Recipe kRecipe{
      .members = {{"available", Join::Sum},
                  {"active", Join::Sum},
                  {"head_wait_ms", Join::Most},
                  {"last_fetch_at", Join::Latest}},
      .arrays = {{.name = "queues", .key = "queue", .second_key = "tenant_id"}}};
  return kRecipe;
}

const Recipe& dead_letter_recipe() {
  static const Recipe kRecipe{.members = {{"total", Join::Sum},
                                          {"by_queue", Join::Counts},
                                          {"by_type", Join::Counts},
                                          {"by_error_type", Join::Counts},
                                          {"oldest_at", Join::Earliest},
                                          {"newest_at", Join::Latest},
                                          {"partial", Join::Any}}};
  return kRecipe;
}

const Recipe& system_recipe() {
  static const Recipe kRecipe = with_counts_of_jobs(
      {.members = {{"queues", Join::Sum},         {"jobs_resident", Join::Sum},
                   {"dirty", Join::Sum},          {"fetches_parked", Join::Sum},
                   {"inputs_waiting", Join::Sum}, {"event_streams", Join::Sum},
                   {"commits", Join::Sum},        {"outages", Join::Sum},
                   {"fsyncs", Join::Sum},         {"file_bytes", Join::Sum},
                   {"wal_bytes", Join::Sum},      {"p50_us", Join::Most},
                   {"p99_us", Join::Most},        {"mean_us", Join::Most},
                   {"first", Join::Least},        {"head", Join::Most},
                   {"bytes_written", Join::Sum},  {"records", Join::Sum},
                   {"events", Join::Sum},         {"part_queues", Join::Names}}});
  return kRecipe;
}

// --- last touches

int64_t count_of(const Value::Object& object, std::string_view names) {
  const Value* found = object.find(names);
  return found != nullptr && found->is_array() ? static_cast<int64_t>(found->as_array().size()) : 0;
}

void finish_totals(Value::Object& totals, const MergeAbout& about) {
  const int64_t queues = count_of(totals, "part_queues");
  const int64_t paused = count_of(totals, "part_paused");
  const api::WorkerCounts workers = api::count_workers(about.workers, about.now_ms);
  const auto number = [](size_t count) { return Value(static_cast<int64_t>(count)); };
  if (Value* shown = totals.find("queues"); shown != nullptr && shown->is_object()) {
    *shown = Value::Object{{"total", queues}, {"active", queues - paused}, {"paused", paused}};
    totals.set("workers", Value::Object{{"total", number(workers.total)},
                                        {"running", number(workers.running)},
                                        {"quiet", number(workers.quiet)},
                                        {"stale", number(workers.stale)}});
  } else {
    totals.set("queues", queues);
    totals.set("workers", number(workers.total));
  }
  totals.set("paused_queues", paused);
  totals.erase("part_queues");
  totals.erase("part_paused");
}

void finish_tenant(Value::Object& tenant, const MergeAbout& about) {
  const int64_t queues = count_of(tenant, "part_queues");
  tenant.set("queues", queues);
  if (Value* stats = tenant.find("stats"); stats != nullptr && stats->is_object()) {
    const Value* id = tenant.find("id");
    const std::string name = id != nullptr && id->is_string() ? id->as_string() : "";
    stats->as_object().set("queues", queues);
    stats->as_object().set("workers",
                           static_cast<int64_t>(api::count_workers_of(about.workers, name)));
  }
  tenant.erase("part_queues");
}

void finish_listed_tenant(Value::Object& tenant, const ListRule::Joined&, const void* about) {
  finish_tenant(tenant, *static_cast<const MergeAbout*>(about));
}

void finish_scheduling(Value::Object& answer, const MergeAbout&) {
  Value* stats = answer.find("stats");
  Value* queues =
      stats != nullptr && stats->is_object() ? stats->as_object().find("queues") : nullptr;
  if (queues == nullptr || !queues->is_array()) return;
  Value::Array& list = queues->as_array();
  list.resize(std::min(list.size(), api::kPageLimitMax));
}

// What its home says of a key counts: others may have heard of its limits, and no more.
void finish_limit(Value::Object& entry, const ListRule::Joined& joined, const void* about) {
  const uint16_t home =
      home_of(NameKind::Limit, "", joined.key, static_cast<const MergeAbout*>(about)->partitions);
  const auto at = std::find(joined.parts.begin(), joined.parts.end(), home);
  if (at != joined.parts.end())
    for (const auto& [group, member] : {std::pair("concurrency", "limit"),
                                        std::pair("rate", "limit"), std::pair("rate", "period")}) {
      const Value* said = joined.from[static_cast<size_t>(at - joined.parts.begin())].find(group);
      Value* shown = entry.find(group);
      if (shown == nullptr || !shown->is_object()) continue;
      const Value* setting = said != nullptr ? said->find(member) : nullptr;
      if (setting != nullptr) {
        shown->as_object().set(member, *setting);
      } else if (said == nullptr) {
        entry.erase(group);
      }
    }
  Value* use = entry.find("concurrency");
  const Value* limit = use != nullptr ? use->find("limit") : nullptr;
  const Value* active = entry.find("active");
  if (limit == nullptr || !limit->is_int() || active == nullptr || !active->is_int()) return;
  use->as_object().set("available", std::max<int64_t>(0, limit->as_int() - active->as_int()));
}

// The counts are the cluster's, the store is the node's: unless it has none.
void prepare_system(Value::Object& part, uint16_t partition, const MergeAbout& about) {
  const bool is_here =
      std::find(about.here.begin(), about.here.end(), partition) != about.here.end();
  if (is_here || about.here.empty()) return;
  for (std::string_view name : {"store", "journal", "recovery"}) part.erase(name);
}

void finish_system(Value::Object& system, const MergeAbout& about) {
  const int64_t queues = count_of(system, "part_queues");
  if (Value* counts = system.find("counts"); counts != nullptr && counts->is_object()) {
    counts->as_object().set("queues", queues);
    counts->as_object().set("connections", about.connections);
  }
  for (const Value::Member& member : about.node) system.set(member.key, member.value);
  system.erase("part_queues");
}

// --- lists

const ListRule kJobs{.names = {"jobs"}, .order = ListOrder::NewestFirst, .end = ListEnd::WithTotal};
const ListRule kJobItems{
    .names = {"items"}, .order = ListOrder::NewestFirst, .end = ListEnd::WithTotal};
const ListRule kDeadJobs{.names = {"jobs"},
                         .order = ListOrder::OldestFirst,
                         .end = ListEnd::WithTotal,
                         .limit_usual = 100};
const ListRule kDeadItems{.names = {"items"},
                          .order = ListOrder::OldestFirst,
                          .end = ListEnd::WithTotal,
                          .limit_usual = 100};
const ListRule kRuns{
    .names = {"runs"}, .order = ListOrder::NewestFirst, .end = ListEnd::CursorOnly};
const ListRule kDecisions{.names = {"decisions"}};
const ListRule kWorlds{.names = {"worlds"}, .limit_usual = 100};
const ListRule kWorkflowPages{.names = {"items"}, .order = ListOrder::NewestFirst};
const ListRule kWorkflows{
    .names = {"workflows"}, .order = ListOrder::NewestFirst, .end = ListEnd::Workflows};

const ListRule& queues_rule(bool admin) {
  static const ListRule kQueues{.names = {"queues"}, .joins = &queue_recipe()};
  static const ListRule kItems{.names = {"items"}, .joins = &queue_recipe()};
  return admin ? kItems : kQueues;
}
const ListRule& limits_rule() {
  static const ListRule kLimits{
      .names = {"items", "rate_limits"}, .joins = &limit_recipe(), .finish = finish_limit};
  return kLimits;
}
const ListRule& tenants_rule() {
  static const ListRule kTenants{
      .names = {"items", "tenants"}, .joins = &totals_recipe(), .finish = finish_listed_tenant};
  return kTenants;
}

MergeRule list(std::string_view pattern, const ListRule& rule, bool needs_workers = false) {
  return {"GET", pattern, Shape::List, &rule, nullptr, nullptr, needs_workers};
}
MergeRule thing(std::string_view pattern, const Recipe& recipe,
                void (*finish)(Value::Object&, const MergeAbout&) = nullptr,
                bool needs_workers = false) {
  return {"GET", pattern, Shape::Thing, nullptr, &recipe, finish, needs_workers};
}
MergeRule bulk(std::string_view method, std::string_view pattern) {
  return {method, pattern, Shape::Bulk};
}

const std::vector<MergeRule>& all_rules() {
  static const std::vector<MergeRule> kRules = {
      list("/ojs/v1/jobs", kJobs),
      list("/ojs/v1/admin/jobs", kJobItems),
      list("/ojs/v1/admin/tenants/{t}/jobs", kJobItems),
      list("/ojs/v1/dead-letter", kDeadJobs),
      list("/ojs/v1/admin/dead-letter", kDeadItems),
      list("/ojs/v1/workflows", kWorkflows),
      list("/ojs/v1/queues", queues_rule(false)),
      list("/ojs/v1/admin/queues", queues_rule(true)),
      list("/ojs/v1/rate-limits", limits_rule()),
      list("/ojs/v1/admin/tenants", tenants_rule(), true),
      list("/v1/runs", kRuns),
      list("/v1/decisions", kDecisions),
      list("/v1/worlds", kWorlds),

      thing("/ojs/v1/queues/{q}", queue_recipe()),
      thing("/ojs/v1/queues/{q}/stats", queue_recipe()),
      thing("/ojs/v1/queues/{q}/priority-stats", priorities_recipe()),
      thing("/ojs/v1/admin/queues/{q}", queue_recipe()),
      thing("/ojs/v1/admin/stats", totals_recipe(), finish_totals, true),
      thing("/ojs/v1/admin/stats/history", history_recipe()),
      thing("/ojs/v1/admin/tenants/{t}", totals_recipe(), finish_tenant, true),
      thing("/ojs/v1/admin/tenants/{t}/stats", totals_recipe(), finish_tenant, true),
      thing("/ojs/v1/admin/scheduling/stats", scheduling_recipe(), finish_scheduling),
      {"GET", "/v1/system", Shape::Thing, nullptr, &system_recipe(), finish_system, false, true,
       prepare_system},
      thing("/ojs/v1/dead-letter/stats", dead_letter_recipe()),
      thing("/ojs/v1/admin/dead-letter/stats", dead_letter_recipe()),

      bulk("POST", "/ojs/v1/jobs/bulk/retry"),
      bulk("POST", "/ojs/v1/jobs/bulk/cancel"),
      bulk("POST", "/ojs/v1/jobs/bulk/delete"),
      bulk("POST", "/ojs/v1/admin/jobs/bulk/retry"),
      bulk("POST", "/ojs/v1/admin/jobs/bulk/cancel"),
      bulk("POST", "/ojs/v1/admin/jobs/bulk/delete"),
      bulk("POST", "/ojs/v1/queues/{q}/purge"),
      bulk("POST", "/ojs/v1/admin/queues/{q}/purge"),
      bulk("DELETE", "/ojs/v1/admin/queues/{q}/jobs"),
      bulk("DELETE", "/ojs/v1/dead-letter"),
      bulk("DELETE", "/ojs/v1/admin/dead-letter"),
      bulk("POST", "/ojs/v1/dead-letter/retry"),
      bulk("POST", "/ojs/v1/admin/dead-letter/retry"),
      bulk("POST", "/ojs/v1/admin/dead-letter/bulk/retry"),
      bulk("POST", "/ojs/v1/admin/dead-letter/bulk/delete"),
  };
  return kRules;
}

}  // namespace

const MergeRule* merge_rule_of(const api::Route& route) {
  for (const MergeRule& rule : all_rules())
    if (rule.method == route.method && rule.pattern == route.pattern) return &rule;
  return nullptr;
}

const ListRule& workflows_by_page() { return kWorkflowPages; }
const ListRule& workflows_by_cursor() { return kWorkflows; }

}  // namespace pawl::front
