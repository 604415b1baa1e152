#include "sim/job_plants.h"

#include "sim/record_rewrite.h"

namespace pawl::sim {
namespace {

// Changes every event of one type in place.
template <class Event>
void swallow(LooseFrame& frame) {
  for (LooseEvent& loose_event : frame)
    if (loose_event.type == event_type<Event>()) loose_event = nothing_happened();
}

void spoil_frame(const Plants& plants, LooseFrame& frame) {
  if (plants.ack_unwritten) swallow<JobCompleted>(frame);
  if (plants.expiry_unwritten) swallow<JobExpired>(frame);
  if (plants.extension_unwritten) swallow<LeaseExtended>(frame);
  if (plants.result_altered)
    change_each<JobCompleted>(frame, [](JobCompleted& event) {
      event.result = "{}";
      return true;
    });
  if (plants.retry_too_soon)
    change_each<JobFailed>(frame, [](JobFailed& event) {
      if (event.to != JobState::Retryable) return false;
      event.retry_at_ms = 1;
      return true;
    });
  if (plants.priority_lost)
    change_each<JobCreated>(frame, [](JobCreated& event) {
      event.priority = 0;
      return true;
    });
  if (plants.attempt_uncounted)
    change_each<JobLeased>(frame, [](JobLeased& event) {
      --event.attempt;
      return true;
    });
  if (plants.forgotten_alive) {
    JobCreated created;
    for (const LooseEvent& event : LooseFrame(frame))
      if (read(event, created))
        frame.push_back(loose(JobsForgotten{{created.job}, created.queue, 0}));
  }
  if (plants.cron_fires_twice)
    for (const LooseEvent& event : LooseFrame(frame))
      if (event.type == event_type<CronFired>()) frame.push_back(event);
}

}  // namespace

std::string spoil_jobs(const Plants& plants, uint64_t number, std::string record) {
  if (!(plants.ack_unwritten || plants.expiry_unwritten || plants.extension_unwritten ||
        plants.result_altered || plants.retry_too_soon || plants.priority_lost ||
        plants.attempt_uncounted || plants.forgotten_alive || plants.cron_fires_twice))
    return record;
  return rewrite_record(number, record, [&](LooseFrame& frame) { spoil_frame(plants, frame); });
}

}  // namespace pawl::sim
