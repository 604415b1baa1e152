// Lists of jobs, newest first, and what operators do to a single job.
#include "api/app.h"
#include "api/ojs/job_filter.h"
#include "api/ojs/render_job.h"
#include "api/paging.h"
#include "api/routes.h"
#include "kernel/finish_job.h"

namespace pawl::api {
namespace {

// One call looks at so many stored jobs at most; a page may then come back short, with a cursor.
constexpr size_t kScanMax = 20'000;

struct JobQuery {
  JobFilter filter;
  Page page;
  JobId from;
};

Result<JobQuery> parse_query(const Call& call) {
  JobQuery query;
  PAWL_TRY(query.filter, filter_of_query(call));
  PAWL_TRY(query.page, parse_page(call));
  if (query.page.cursor.empty()) return query;
  auto from = JobId::parse(query.page.cursor);
  if (!from) return Error{ErrorCode::InvalidRequest, "cursor is not one that this server gave"};
  query.from = *from;
  return query;
}

PageEnd write_jobs(json::Writer& w, const State& state, const JobQuery& query) {
  size_t skipped = 0;
  size_t taken = 0;
  JobId next;
  JobId go_on = state.each_job(query.from, true, kScanMax, [&](const Job& job) {
    if (!query.filter.matches(job)) return true;
    if (skipped < query.page.offset) return ++skipped, true;
    if (taken == query.page.limit) return next = job.id, false;
    ++taken;
    render_job(w, job);
    return true;
  });
  if (next.is_nil()) next = go_on;
  PageEnd end;
  if (!next.is_nil()) end.next_cursor = next.text();
  bool seen_all = next.is_nil() && query.from.is_nil();
  if (seen_all) {
    end.total = skipped + taken;
  } else if (query.filter.counts_suffice()) {
    end.total = count_by_queues(state, query.filter);
    end.total_is_estimate = query.filter.states != 0;  // finished jobs may have been forgotten
  }
  return end;
}

void list(App& app, Call&& call, std::string_view name) {
  auto query = parse_query(call);
  if (!query.ok()) return call.fail(query.error());
  app.decide(std::move(call), [query = *query, name](Frame& frame) -> Result<http::Response> {
    std::string body;
    json::Writer w(body);
    w.begin_object().key(name).begin_array();
    PageEnd end = write_jobs(w, frame.state(), query);
    w.end_array();
    write_pagination(w, query.page, end);
    w.end_object();
    return json_response(Surface::Ojs, 200, std::move(body));
  });
}

void list_jobs(App& app, Call&& call) { list(app, std::move(call), "jobs"); }
void list_for_admin(App& app, Call&& call) { list(app, std::move(call), "items"); }

// The job's own members at the top, and the same under "job".
std::string flat_job(const Job& job) {
  std::string body;
  json::Writer w(body);
  w.begin_object();
  render_job_members(w, job);
  w.key("job");
  render_job(w, job);
  w.end_object();
  return body;
}

using Change = Status (*)(Frame&, const JobId&);

void one_job(App& app, Call&& call, Change change) {
  std::string text = call.params[0];
  std::string tenant = call.tenant;
  app.decide(std::move(call), [text, tenant, change](Frame& frame) -> Result<http::Response> {
    PAWL_TRY(const Job* job, visible_job(frame.state(), text, tenant));
    JobId id = job->id;
    if (change != nullptr) PAWL_TRY_DO(change(frame, id));
    return json_response(Surface::Ojs, 200, flat_job(*frame.state().find_job(id)));
  });
}

void get_job(App& app, Call&& call) { one_job(app, std::move(call), nullptr); }
void retry(App& app, Call&& call) { one_job(app, std::move(call), revive_job); }
void cancel(App& app, Call&& call) {
  one_job(app, std::move(call), [](Frame& frame, const JobId& id) {
    return cancel_job(frame, id, "cancelled by an operator");
  });
}

}  // namespace

void add_job_list_routes(Router& router) {
  router.add({"GET", "/ojs/v1/jobs", Scope::Read, Surface::Ojs, list_jobs});
  router.add({"GET", "/ojs/v1/admin/jobs", Scope::Read, Surface::Ojs, list_for_admin});
  router.add({"GET", "/ojs/v1/admin/jobs/{id}", Scope::Read, Surface::Ojs, get_job});
  router.add({"POST", "/ojs/v1/admin/jobs/{id}/retry", Scope::Operate, Surface::Ojs, retry});
  router.add({"POST", "/ojs/v1/admin/jobs/{id}/cancel", Scope::Operate, Surface::Ojs, cancel});
}

}  // namespace pawl::api
