#include "api/ojs/job_page.h"

#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

Result<JobQuery> parse_query(const Call& call, size_t limit_default) {
  JobQuery query;
  PAWL_TRY(query.filter, filter_of_query(call));
  PAWL_TRY(query.page, parse_page(call, limit_default));
  if (query.page.cursor.empty()) return query;
  auto from = JobId::parse(query.page.cursor);
  if (!from) return Error{ErrorCode::InvalidRequest, "cursor is not one that this server gave"};
  query.from = *from;
  return query;
}

}  // namespace

bool JobPage::offer(const Job& job) {
  if (!query_.filter.matches(job)) return true;
  if (skipped_ < query_.page.offset) return ++skipped_, true;
  if (fill_.full()) return next_ = job.id, false;
  fill_.take();
  render_job(w_, state_, job);
  return true;
}

PageEnd JobPage::end(const JobId& go_on) const {
  const JobId& next = next_.is_nil() ? go_on : next_;
  PageEnd end;
  if (!next.is_nil()) end.next_cursor = next.text();
  if (next.is_nil() && query_.from.is_nil()) end.total = skipped_ + fill_.taken();
  return end;
}

void answer_job_list(App& app, Call&& call, std::string_view name, size_t limit_default,
                     PageEnd (*walk)(json::Writer&, const State&, const JobQuery&)) {
  PAWL_TRY_CALL(call, auto query, parse_query(call, limit_default));
  query.filter.settle(app.clock().now_ms());
  app.decide_list(std::move(call), [query, name, walk](Frame& frame) -> Reply {
    json::ObjectWriter w;
    w.key(name).begin_array();
    PageEnd end = walk(w, frame.state(), query);
    w.end_array();
    write_pagination(w, query.page, end);
    if (end.total) w.field_int("total", *end.total);
    return json_response(Surface::Ojs, 200, w.close());
  });
}

}  // namespace pawl::api
