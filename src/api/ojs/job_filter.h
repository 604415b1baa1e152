// JobFilter: selects the jobs of a list or a bulk operation. Read from a query string or from a
// `filter` object.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/body.h"
#include "base/result.h"
#include "base/value.h"
#include "journal/events.h"

namespace pawl {
class State;
struct Job;
}  // namespace pawl

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
  std::optional<int64_t> priority;
  Value::Object meta;  // members that the job's meta must have, with these values

  bool matches(const Job& job) const;
  bool has_state(JobState state) const {
    return states == 0 || (states >> static_cast<int>(state) & 1) != 0;
  }
  // Converts an age to a time. Call before matches().
  void settle(int64_t now_ms) {
    if (finished_for_ms != 0) finished_before_ms = now_ms - finished_for_ms;
  }
  // Only queue, tenant and states are given, so counters give the number of matches.
  bool counts_suffice() const;
};

// Queue, type, state(s), error_type, since, until (also enqueued_after, enqueued_before),
// older_than (a time or an age) and tenant. InvalidRequest names what is wrong.
Result<JobFilter> filter_of_query(const Call& call);

// The same members, priority and meta, from an object at `path`. Any other member, and any without
// a value, is refused: ignoring it would match more jobs than intended. `beside` names a member of
// the object that does not belong to the filter.
Result<JobFilter> filter_of_object(json::View object, std::string_view tenant,
                                   const std::string& path = "$.filter",
                                   std::string_view beside = "");

// How many stored jobs match, by the queues' counters; see PageEnd::total_is_estimate.
uint64_t count_by_queues(const State& state, const JobFilter& filter);

}  // namespace pawl::api
