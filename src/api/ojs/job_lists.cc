// Lists of jobs, newest first, and operators' calls on a single job.
#include "api/app.h"
#include "api/decide_on.h"
#include "api/ojs/job_page.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/state.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

PageEnd write_jobs(json::Writer& w, const State& state, const JobQuery& query) {
  JobPage page(w, state, query);
  PageEnd end = page.end(state.each_job_here(query.from, true, kJobsScannedMax,
                                        [&](const Job& job) { return page.offer(job); }));
  if (!end.total && query.filter.counts_suffice()) {
    end.total = count_by_queues(state, query.filter);
    end.total_is_estimate = query.filter.states != 0;  // finished jobs may have been deleted
  }
  return end;
}

void list_jobs(App& app, Call&& call) {
  answer_job_list(app, std::move(call), "jobs", kPageLimitUsual, write_jobs);
}
void list_jobs_for_admin(App& app, Call&& call) {
  answer_job_list(app, std::move(call), "items", kPageLimitUsual, write_jobs);
}

// A caller with a tenant sees only its own jobs.
void list_of_tenant(App& app, Call&& call) {
  if (!call.tenant.empty() && call.tenant != call.params[0])
    return call.fail(
        {ErrorCode::NotFound, "tenant " + call.params[0].substr(0, 128) + " not found"});
  call.tenant = call.params[0];
  list_jobs_for_admin(app, std::move(call));
}

using Change = Status (*)(Frame&, const JobId&);

void one_job(App& app, Call&& call, Change change) {
  decide_on(app, std::move(call), visible_job, [change](Frame& frame, const Job* job) -> Reply {
    JobId id = job->id;
    JobState previous = change != nullptr ? job->state : JobState::None;
    if (change != nullptr) PAWL_TRY_DO(change(frame, id));
    return json_response(Surface::Ojs, 200,
                         job_body(frame.state(), *frame.state().find_job(id), previous, true));
  });
}

void get_job_for_admin(App& app, Call&& call) { one_job(app, std::move(call), nullptr); }
void retry_job_for_admin(App& app, Call&& call) { one_job(app, std::move(call), revive_ended_job); }
void cancel_job_for_admin(App& app, Call&& call) {
  one_job(app, std::move(call), [](Frame& frame, const JobId& id) {
    return cancel_job(frame, id, "cancelled by an operator");
  });
}

}  // namespace

void add_job_list_routes(Router& router) {
  router.add({"GET", "/ojs/v1/jobs", Permission::Read, Routing::Gather, list_jobs});
  router.add({"GET", "/ojs/v1/admin/jobs", Permission::Read, Routing::Gather, list_jobs_for_admin});
  router.add(
      {"GET", "/ojs/v1/admin/tenants/{t}/jobs", Permission::Read, Routing::Gather, list_of_tenant});
  router.add(
      {"GET", "/ojs/v1/admin/jobs/{id}", Permission::Read, Routing::ById, get_job_for_admin});
  router.add({"POST", "/ojs/v1/admin/jobs/{id}/retry", Permission::Operate, Routing::ById,
              retry_job_for_admin});
  router.add({"POST", "/ojs/v1/admin/jobs/{id}/cancel", Permission::Operate, Routing::ById,
              cancel_job_for_admin});
}

}  // namespace pawl::api
