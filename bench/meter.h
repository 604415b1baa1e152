// Meter: what a stretch of work cost, on both sides of the socket.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "process_stat.h"
#include "server_process.h"

namespace pawl::bench {

struct Usage {
  double server_cpu_seconds = 0;
  double client_cpu_seconds = 0;
  int64_t rss_bytes = 0;  // at the end
  int64_t rss_peak_bytes = 0;
  std::optional<int64_t> fsyncs;  // none if the server does not count them
};

class Meter {
 public:
  static Result<Meter> start(const ServerProcess& server);
  Result<Usage> stop();

 private:
  explicit Meter(const ServerProcess& server) : server_(&server) {}

  const ServerProcess* server_;
  ProcessStat before_;
  double own_before_ = 0;
  std::optional<int64_t> fsyncs_before_;
};

}  // namespace pawl::bench
