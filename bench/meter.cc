#include "meter.h"

#include "http_client.h"
#include "reply_scan.h"
#include "requests.h"

namespace pawl::bench {
namespace {

Result<std::optional<int64_t>> scrape_fsyncs(const Address& address) {
  PAWL_TRY(Caller caller, Caller::connect(address));
  PAWL_TRY(const Reply reply, caller.call(get_request("/metrics")));
  return reply.status == 200 ? scan_metric(reply.body, "pawl_store_fsyncs_total") : std::nullopt;
}

}  // namespace

// The scrapes stand outside the bracket of CPU readings: their own cost is not the workload's.
Result<Meter> Meter::start(const ServerProcess& server) {
  Meter meter(server);
  PAWL_TRY(meter.fsyncs_before_, scrape_fsyncs(server.address()));
  PAWL_TRY(meter.before_, process_stat(server.pid()));
  meter.own_before_ = own_cpu_seconds();
  return meter;
}

Result<Usage> Meter::stop() {
  Usage usage;
  usage.client_cpu_seconds = own_cpu_seconds() - own_before_;
  PAWL_TRY(const ProcessStat after, process_stat(server_->pid()));
  PAWL_TRY(const std::optional<int64_t> fsyncs, scrape_fsyncs(server_->address()));
  usage.server_cpu_seconds = after.cpu_seconds - before_.cpu_seconds;
  usage.rss_bytes = after.rss_bytes;
  usage.rss_peak_bytes = after.rss_peak_bytes;
  if (fsyncs && fsyncs_before_) usage.fsyncs = *fsyncs - *fsyncs_before_;
  return usage;
}

}  // namespace pawl::bench
