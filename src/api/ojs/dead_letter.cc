// The dead letter list: jobs that used up their attempts and are kept for inspection.
#include "api/app.h"
#include "api/decide_on.h"
#include "api/ojs/bulk_jobs.h"
#include "api/ojs/job_page.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"
#include "wire/event_projection.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

constexpr size_t kDeadLettersListedUsual = 100;

uint64_t dead_count(const State& state, const JobFilter& filter) {
  uint64_t total = 0;
  state.each_queue([&](const Queue& queue) {
    bool mine = filter.tenant.empty() || tenant_of_scoped(queue.name) == filter.tenant;
    bool named = filter.queue.empty() || queue_of_scoped(queue.name) == filter.queue;
    if (mine && named && !is_internal_queue(queue.name)) total += queue.dead;
    return true;
  });
  return total;
}

PageEnd write_dead(json::Writer& w, const State& state, const JobQuery& query) {
  JobPage page(w, state, query);
  PageEnd end = page.end(state.each_dead(query.from, kJobsScannedMax,
                                         [&](const Job& job) { return page.offer(job); }));
  if (query.filter.counts_suffice() && query.filter.states == 0)
    end.total = dead_count(state, query.filter);
  return end;
}

void list_dead_letters(App& app, Call&& call) {
  answer_job_list(app, std::move(call), "jobs", kDeadLettersListedUsual, write_dead);
}
void list_dead_letters_for_admin(App& app, Call&& call) {
  answer_job_list(app, std::move(call), "items", kDeadLettersListedUsual, write_dead);
}

// Only a discarded job can be in the dead letter list; any other is not found here.
Result<JobId> dead_job(const State& state, std::string_view id_text, std::string_view tenant) {
  PAWL_TRY(const Job* job, visible_job(state, id_text, tenant));
  if (job->state != JobState::Discarded)
    return Error{ErrorCode::NotFound, "job " + job->id.text() + " is not in the dead letter list"}
        .with("resource_type", "dead_letter_job")
        .with("resource_id", job->id.text());
  return job->id;
}

void change_dead_letter(App& app, Call&& call, Reply (*act)(Frame&, const JobId&)) {
  decide_on(app, std::move(call), dead_job, act);
}

Reply job_response(Frame& frame, const JobId& id) {
  return json_response(Surface::Ojs, 200, job_body(frame.state(), *frame.state().find_job(id)));
}

void get_dead_letter(App& app, Call&& call) {
  change_dead_letter(app, std::move(call), job_response);
}

void retry_dead_letter(App& app, Call&& call) {
  change_dead_letter(app, std::move(call), [](Frame& frame, const JobId& id) -> Reply {
    PAWL_TRY_DO(revive_job(frame, id));
    return job_response(frame, id);
  });
}

void remove_dead_letter(App& app, Call&& call) {
  change_dead_letter(app, std::move(call), [](Frame& frame, const JobId& id) -> Reply {
    PAWL_TRY_DO(delete_dead(frame, id));
    json::ObjectWriter w;
    w.field_bool("deleted", true).key("job_id").uuid(id);
    return json_response(Surface::Ojs, 200, w.close());
  });
}

void remove_dead_letter_for_admin(App& app, Call&& call) {
  change_dead_letter(app, std::move(call), [](Frame& frame, const JobId& id) -> Reply {
    PAWL_TRY_DO(delete_dead(frame, id));
    return json_response(Surface::Ojs, 204, "");
  });
}

struct DeadStats {
  std::map<std::string, uint64_t> by_queue;
  std::map<std::string, uint64_t> by_type;
  std::map<std::string, uint64_t> by_error_type;
  int64_t oldest_ms = 0;
  int64_t newest_ms = 0;
  uint64_t total = 0;
  bool cut = false;  // types and times are of the first kJobsScannedMax jobs only
};

DeadStats gather(const State& state, const std::string& tenant) {
  DeadStats dead_letter_stats;
  state.each_queue([&](const Queue& queue) {
    if (queue.dead == 0 || is_internal_queue(queue.name) ||
        (!tenant.empty() && tenant_of_scoped(queue.name) != tenant))
      return true;
    dead_letter_stats.by_queue[std::string(queue_of_scoped(queue.name))] += queue.dead;
    dead_letter_stats.total += queue.dead;
    return true;
  });
  JobId go_on = state.each_dead(JobId(), kJobsScannedMax, [&](const Job& job) {
    if (is_internal_queue(job.queue->name)) return true;
    if (!tenant.empty() && tenant_of_scoped(job.queue->name) != tenant) return true;
    ++dead_letter_stats.by_type[std::string(type_of_spec(job.spec))];
    bool known = job.extras && !job.extras->errors.empty();
    ++dead_letter_stats.by_error_type[known ? job.extras->errors.back().type : "unknown"];
    if (dead_letter_stats.oldest_ms == 0 || job.finished_ms < dead_letter_stats.oldest_ms)
      dead_letter_stats.oldest_ms = job.finished_ms;
    dead_letter_stats.newest_ms = std::max(dead_letter_stats.newest_ms, job.finished_ms);
    return true;
  });
  dead_letter_stats.cut = !go_on.is_nil();
  return dead_letter_stats;
}

void write_counts(json::Writer& w, std::string_view name,
                  const std::map<std::string, uint64_t>& counts) {
  w.key(name).begin_object();
  for (const auto& [key, count] : counts) w.field_int(key, count);
  w.end_object();
}

void dead_letter_stats(App& app, Call&& call) {
  std::string tenant = call.tenant;
  app.decide(std::move(call), [tenant](Frame& frame) -> Reply {
    DeadStats found = gather(frame.state(), tenant);
    json::ObjectWriter w;
    w.field_int("total", found.total);
    write_counts(w, "by_queue", found.by_queue);
    write_counts(w, "by_type", found.by_type);
    write_counts(w, "by_error_type", found.by_error_type);
    w.field_time_if_set("oldest_at", found.oldest_ms);
    w.field_time_if_set("newest_at", found.newest_ms);
    if (found.cut) w.field_bool("partial", true);
    return json_response(Surface::Ojs, 200, w.close());
  });
}

// "filter" is optional here, since the dead letter list is bounded.
void bulk(App& app, Call&& call, BulkAct act) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call, true));
  Fields fields(doc.root());
  auto parsed = parse_bulk(doc, act, call.tenant);
  bool whole = !fields.has("filter") && !fields.has("ids") && !fields.has("job_ids") &&
               fields.boolean("confirm", false);
  if (!parsed.ok() && !whole) return call.fail(parsed.error());
  Bulk wish;
  if (whole) {
    PAWL_TRY_CALL(call, auto filter, filter_of_object(doc.root(), call.tenant, "$", "confirm"));
    wish.act = act;
    wish.filter = std::move(filter);
  } else {
    wish = std::move(parsed).value();
  }
  wish.dead_only = true;
  run_bulk(app, std::move(call), std::move(wish));
}

void bulk_retry_dead_letters(App& app, Call&& call) { bulk(app, std::move(call), BulkAct::Retry); }
void bulk_delete_dead_letters(App& app, Call&& call) {
  bulk(app, std::move(call), BulkAct::Delete);
}

}  // namespace

void add_dead_letter_routes(Router& router) {
  router.add({"GET", "/ojs/v1/dead-letter", Permission::Read, Routing::Gather, list_dead_letters});
  router.add({"DELETE", "/ojs/v1/dead-letter", Permission::Admin, Routing::Broadcast,
              bulk_delete_dead_letters});
  router.add(
      {"GET", "/ojs/v1/dead-letter/stats", Permission::Read, Routing::Gather, dead_letter_stats});
  router.add({"POST", "/ojs/v1/dead-letter/retry", Permission::Operate, Routing::Broadcast,
              bulk_retry_dead_letters});
  router.add({"GET", "/ojs/v1/dead-letter/{id}", Permission::Read, Routing::ById, get_dead_letter});
  router.add({"POST", "/ojs/v1/dead-letter/{id}/retry", Permission::Operate, Routing::ById,
              retry_dead_letter});
  router.add({"DELETE", "/ojs/v1/dead-letter/{id}", Permission::Operate, Routing::ById,
              remove_dead_letter});

  router.add({"GET", "/ojs/v1/admin/dead-letter", Permission::Read, Routing::Gather,
              list_dead_letters_for_admin});
  router.add({"DELETE", "/ojs/v1/admin/dead-letter", Permission::Admin, Routing::Broadcast,
              bulk_delete_dead_letters});
  router.add({"GET", "/ojs/v1/admin/dead-letter/stats", Permission::Read, Routing::Gather,
              dead_letter_stats});
  router.add({"POST", "/ojs/v1/admin/dead-letter/retry", Permission::Operate, Routing::Broadcast,
              bulk_retry_dead_letters});
  router.add({"POST", "/ojs/v1/admin/dead-letter/bulk/retry", Permission::Operate,
              Routing::Broadcast, bulk_retry_dead_letters});
  router.add({"POST", "/ojs/v1/admin/dead-letter/bulk/delete", Permission::Admin,
              Routing::Broadcast, bulk_delete_dead_letters});
  router.add(
      {"GET", "/ojs/v1/admin/dead-letter/{id}", Permission::Read, Routing::ById, get_dead_letter});
  router.add({"POST", "/ojs/v1/admin/dead-letter/{id}/retry", Permission::Operate, Routing::ById,
              retry_dead_letter});
  router.add({"DELETE", "/ojs/v1/admin/dead-letter/{id}", Permission::Operate, Routing::ById,
              remove_dead_letter_for_admin});
}

}  // namespace pawl::api
