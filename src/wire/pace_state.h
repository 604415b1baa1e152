// Runs of definitions in the terms of the PACE engine interface: an instance with its status and
// the results of its steps. Statuses are pending, running, paused, completed, failed and canceled;
// runs that wait for a decision or a signal are paused too.
//
// Thread: the engine's.
#pragma once

#include <string>
#include <string_view>

#include "base/value.h"

namespace pawl {

class State;
struct Run;

// Bound of the values in one reply. Lower than elsewhere, since they are parsed and rendered again.
constexpr size_t kPaceBytesMax = 4u << 20;

std::string_view pace_status(const Run& run);

// {instance_id, workflow_id, status, started_at, completed_at, result, context, step_results}.
// step_results holds the ended steps of the top level, each as {step_id, success, result, error}; a
// step whose condition was false succeeded with the result "skipped". context has the inputs and
// variables of the run. Times are in a form that every ISO 8601 parser accepts.
// Past bytes_max of values the rest are null, with result_omitted or context_omitted beside them.
Value pace_state(const State& state, const Run& run, size_t bytes_max = SIZE_MAX);

struct PaceProgress {
  uint32_t completed = 0;
  uint32_t total = 0;
  std::string current_step;  // the first active step; "" = none
  double fraction() const;   // 0 without steps
};
PaceProgress pace_progress(const State& state, const Run& run);

std::string pace_time(int64_t unix_ms);  // 2026-01-23T10:00:00.000+00:00

}  // namespace pawl
