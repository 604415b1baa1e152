// Runs of definitions in the words of the PACE engine interface: an instance with its status and
// the results of its steps. Statuses are pending, running, paused, completed, failed and canceled;
// paused are also runs that wait for a decision or a signal.
//
// Thread: the engine's.
#pragma once

#include <string>
#include <string_view>

#include "base/value.h"
#include "kernel/state.h"

namespace pawl {

// Of values in one reply. Less than elsewhere: they are parsed and written again.
constexpr size_t kPaceBytesMax = 4u << 20;

std::string_view pace_status(const Run& run);

// {instance_id, workflow_id, status, started_at, completed_at, result, context, step_results}.
// step_results holds the steps of the top level that are over, each as {step_id, success, result,
// error}; one whose condition did not hold succeeded with the result "skipped". context is what the
// run was given, and what it set since. Times are such that every reader of ISO 8601 takes them.
// Past bytes_max of values the rest are null, with result_omitted or context_omitted beside them.
Value pace_state(const State& state, const Run& run, size_t bytes_max = SIZE_MAX);

struct PaceProgress {
  uint32_t completed = 0;
  uint32_t total = 0;
  std::string current_step;  // the first that is at work; "" = none
  double fraction() const;   // 0 without steps
};
PaceProgress pace_progress(const State& state, const Run& run);

std::string pace_time(int64_t unix_ms);  // 2026-01-23T10:00:00.000+00:00

}  // namespace pawl
