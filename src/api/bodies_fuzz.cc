// Any bytes as the body of calls that create a job, a workflow, a cron, a schedule or the triggers
// of a definition: refused with complaints, or accepted; never a crash.
#include <cstddef>
#include <cstdint>
#include <string>

#include "api/ojs/parse_cron.h"
#include "api/schedule_body.h"
#include "base/check.h"
#include "plan/ojs/parse_workflow.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  using namespace pawl::api;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto doc = json::parse(text);
  if (!doc.ok()) return 0;
  const EnvelopeRules rules{.now_ms = 1'700'000'000'000,
                            .tenant = ""};  // so that queues keep their names
  if (const auto job = parse_job(doc->root(), rules); job.ok()) {
    PAWL_CHECK(is_job_type(job->type) && is_queue_name(job->queue));
  }
  (void)parse_workflow(doc->root(), rules).ok();
  (void)parse_cron(*doc, "", "t").ok();
  (void)parse_triggers(text, "d", "t", false).ok();
  Fields fields(doc->root());
  (void)parse_schedule(fields, "t").ok();
  return 0;
}
