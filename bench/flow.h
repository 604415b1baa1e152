// A flow: producers that put jobs in, workers that take them out, at once and as fast as the server
// lets them. Every throughput workload is a flow with other numbers in its plan.
//
// A flow checks what it measures: any status but the expected one, a reply that does not hold what
// was asked for, a job id of the wrong form, more jobs than were put in, or ten seconds of silence
// with work outstanding ends it with the first bad reply as the error.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http_client.h"

namespace pawl::bench {

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

enum class AckMode {
  Each,      // fetch some, one ack per job, fetch again
  Bulk,      // fetch many, one ack for all
  AndFetch,  // the ack of the last job in hand fetches the next
};

struct FlowPlan {
  std::string produce;  // the request that puts jobs in; answered with `produce_status`
  int produce_status = 201;
  std::string produce_expect = {};  // must stand in its reply
  int64_t jobs_per_produce = 1;
  int producers = 0;               // connections
  int64_t produce_max = kNoLimit;  // requests
  double seconds = 3600;  // producers stop then, or at produce_max; workers finish the rest
  int64_t outstanding_max = kNoLimit;  // jobs put in and not yet acked: producers pause above it

  int workers = 0;  // connections; none: the jobs stay
  AckMode ack = AckMode::Each;
  int fetch_count = 1;
};

struct FlowOutcome {
  int64_t jobs = 0;       // acked if there are workers, else put in
  int64_t requests = 0;   // answered, of all kinds
  int64_t callbacks = 0;  // jobs of kCallbackType among them
  double seconds = 0;     // from the first request to the last counted reply
};

Result<FlowOutcome> run_flow(const Address& address, const FlowPlan& plan);
// Of several servers that are one: each connection goes to one of them.
Result<FlowOutcome> run_flow(std::span<const Address> addresses, const FlowPlan& plan);

}  // namespace pawl::bench
