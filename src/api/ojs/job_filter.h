// JobFilter: which jobs a list or a bulk operation is about. Read from a query string or from a
// `filter` object alike.
#pragma once

#include <string>
#include <string_view>

#include "api/body.h"
#include "base/function_ref.h"
#include "kernel/state.h"

namespace pawl::api {

struct JobFilter {
  std::string tenant;  // "" = every tenant's
  std::string queue;
  std::string type;  // "email.*" matches by prefix
  std::string error_type;
  uint32_t states = 0;             // bit per JobState; 0 = all
  int64_t since_ms = 0;            // created at or after
  int64_t until_ms = 0;            // created at or before; 0 = no end
  int64_t finished_before_ms = 0;  // 0 = whenever
  int64_t finished_for_ms = 0;     // the same as an age; see settle()

  bool matches(const Job& job) const;
  bool has_state(JobState state) const {
    return states == 0 || (states >> static_cast<int>(state) & 1) != 0;
  }
  // An age becomes a time. Call before matches().
  void settle(int64_t now_ms) {
    if (finished_for_ms != 0) finished_before_ms = now_ms - finished_for_ms;
  }
  // Only queue, tenant and states are asked for, so counters tell how many jobs match.
  bool counts_suffice() const;
};

// text: the value under a name, "" if absent. Understands queue, type, state(s), error_type, since,
// until (also enqueued_after, enqueued_before), older_than (a time or an age) and tenant.
// InvalidRequest names what is wrong.
Result<JobFilter> parse_filter(FunctionRef<std::string(std::string_view name)> text,
                               std::string_view tenant);
Result<JobFilter> filter_of_query(const Call& call);
Result<JobFilter> filter_of_object(json::View object, std::string_view tenant);

// How many stored jobs match, by the queues' counters; see PageEnd::total_is_estimate.
uint64_t count_by_queues(const State& state, const JobFilter& filter);

}  // namespace pawl::api
