#include "api/ojs/worker_self.h"

#include <algorithm>

#include "kernel/jobs/queue.h"
#include "plan/ojs/parse_job.h"

namespace pawl::api {
namespace {

constexpr size_t kQueuesMax = 100;
constexpr size_t kHostnameBytesMax = 255;

}  // namespace

WorkerSelf worker_self(json::View heartbeat, std::string_view tenant) {
  WorkerSelf self;
  if (auto queues = heartbeat.find("queues"))
    queues->each_element([&](json::View queue) {
      bool good = queue.is_string() && is_queue_name(queue.string());
      if (good && self.queues.size() < kQueuesMax)
        self.queues.push_back(scoped_queue(tenant, queue.string()));
    });
  auto hostname = heartbeat.find("hostname");
  if (hostname && hostname->is_string() && hostname->raw().size() <= kHostnameBytesMax)
    self.hostname = hostname->string();
  if (auto pid = heartbeat.find("pid")) self.pid = std::max<int64_t>(0, pid->as_int().value_or(0));
  return self;
}

}  // namespace pawl::api
