// JobPage: the request and answer of every list of jobs: a filter, a page, and a cursor that is the
// id of the next job.
#pragma once

#include <string_view>

#include "api/app.h"
#include "api/ojs/job_filter.h"
#include "api/paging.h"

namespace pawl::api {

// One call reads at most this many stored jobs; a page may then be short, with a cursor.
constexpr size_t kJobsScannedMax = 20'000;

struct JobQuery {
  JobFilter filter;
  Page page;
  JobId from;  // nil: from the start
};

class JobPage {
 public:
  JobPage(json::Writer& w, const State& state, const JobQuery& query)
      : w_(w), state_(state), query_(query), fill_(w.out(), query.page.limit) {}

  // Writes the job if it matches and is on the page. False: the page is full.
  bool offer(const Job& job);
  // go_on: where the walk stopped by itself, or nil. The total is known if everything was seen.
  PageEnd end(const JobId& go_on) const;

 private:
  json::Writer& w_;
  const State& state_;
  const JobQuery& query_;
  size_t skipped_ = 0;
  PageFill fill_;
  JobId next_;
};

// Answers {name: […], "pagination": …}. walk writes the page and tells its end.
void answer_job_list(App& app, Call&& call, std::string_view name, size_t limit_default,
                     PageEnd (*walk)(json::Writer&, const State&, const JobQuery&));

}  // namespace pawl::api
