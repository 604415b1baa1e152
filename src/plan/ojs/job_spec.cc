#include "plan/ojs/job_spec.h"

namespace pawl {
namespace {

constexpr std::string_view kStateNames[kJobStateCount] = {"",          "scheduled", "available",
                                                          "pending",   "active",    "completed",
                                                          "retryable", "cancelled", "discarded"};

}  // namespace

bool is_terminal(JobState state) {
  return state == JobState::Completed || state == JobState::Cancelled ||
         state == JobState::Discarded;
}

std::string_view state_name(JobState state) { return kStateNames[static_cast<size_t>(state)]; }

JobState parse_job_state(std::string_view name) {
  for (size_t i = 1; i < kJobStateCount; ++i)
    if (kStateNames[i] == name) return static_cast<JobState>(i);
  return JobState::None;
}

std::string_view type_of_spec(std::string_view spec) {
  codec::Reader reader(spec);
  uint64_t tag = reader.varint();
  return tag == (1 << 2 | static_cast<uint64_t>(codec::Wire::Bytes)) ? reader.bytes()
                                                                     : std::string_view{};
}

}  // namespace pawl
