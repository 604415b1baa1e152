#include "api/ojs/render_queue.h"

#include "kernel/jobs/queue.h"
#include "plan/ojs/parse_job.h"
#include "plan/ojs/queue_name.h"
#include "wire/event_projection.h"

namespace pawl::api {
namespace {

constexpr JobState kShownStates[] = {JobState::Available, JobState::Active,   JobState::Scheduled,
                                     JobState::Retryable, JobState::Pending,  JobState::Completed,
                                     JobState::Cancelled, JobState::Discarded};

}  // namespace

void write_state_counts(json::Writer& w, const std::array<uint64_t, kJobStateCount>& counts) {
  for (JobState state : kShownStates)
    w.field_int(state_name(state), counts[static_cast<size_t>(state)]);
}

void render_queue_settings(json::Writer& w, const QueueSettings& settings) {
  if (settings.depth_max != 0) {
    w.field_int("max_size", settings.depth_max);
    w.key("backpressure").begin_object();
    w.field_int("max_depth", settings.depth_max).field("strategy", "reject");
    if (settings.warn_permille != 0)
      w.key("warning_threshold").real(settings.warn_permille / 1000.0);
    w.end_object();
  }
  if (settings.partition != QueuePlace::Auto)
    w.field("partition", queue_place_name(settings.partition));
  if (settings.rate_per_second != 0)
    w.key("rate_limit")
        .begin_object()
        .field_int("max_per_second", settings.rate_per_second)
        .end_object();
}

void render_queue_members(json::Writer& w, std::string_view scoped, const Queue* queue) {
  static constexpr std::array<uint64_t, kJobStateCount> kNone{};
  bool paused = queue != nullptr && queue->settings.paused;
  w.field("name", queue_of_scoped(scoped));
  if (std::string_view tenant = tenant_of_scoped(scoped); !tenant.empty())
    w.field("tenant_id", tenant);
  w.field("state", paused ? "paused" : "active").field("status", paused ? "paused" : "active");
  w.field_bool("paused", paused);
  w.field_int("depth", queue == nullptr ? 0 : static_cast<int64_t>(queue->depth()));
  write_state_counts(w, queue == nullptr ? kNone : queue->counts);
  w.field_int("dead_letter", queue == nullptr ? 0 : static_cast<int64_t>(queue->dead));
  w.key("counts").begin_object();
  write_state_counts(w, queue == nullptr ? kNone : queue->counts);
  w.end_object();
  if (queue == nullptr) return;
  w.field_time_if_set("created_at", queue->created_ms);
  render_queue_settings(w, queue->settings);
}

Result<std::string> queue_of_path(const Call& call) {
  const std::string& name = call.params[0];
  if (!is_queue_name(name))
    return Error{ErrorCode::InvalidRequest,
                 "a queue's name is lower-case letters, digits, '.', '-' or '_', starting with a "
                 "letter or digit"};
  if (is_internal_queue(name))
    return Error{ErrorCode::NotFound, "queues that begin with 'pawl.' are the server's own"};
  return scoped_queue(call.tenant, name);
}

}  // namespace pawl::api
