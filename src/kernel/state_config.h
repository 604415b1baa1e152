// Settings of a State: bounds of its memory, and operators' settings for runs of definitions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pawl {

class Computations;

// Operators' settings for runs of definitions.
struct ScriptDefaults {
  uint64_t max_concurrent = 0;          // runs at work on the whole server; 0 = no bound
  bool reject_at_limit = false;         // refuse runs that would have to wait for the server
  bool parallel_steps = true;           // false: a run has one step at work at a time
  int64_t step_timeout_ms = 0;          // of an action's or job's attempt that names none; 0 = none
  uint32_t retry_attempts = 0;          // of `retry` without a policy, the first included; 0 = the
  int64_t retry_delay_ms = -1;          //   language's own, likewise the delay and
  uint32_t retry_multiplier_milli = 0;  //   what it is multiplied with, in thousandths
  size_t output_bytes_max = 20u << 20;  // of an output as JSON, an action's or put together here
  size_t run_bytes_max = 256u << 20;  // outputs, variables, signals, inputs, … of one run together
  size_t open_lists_max = 10'000;     // of one run at once; loops wait for places beyond
  uint64_t frame_allowance = 250'000;          // units of a Meter, for one frame
  const Computations* computations = nullptr;  // done in the frame; null: no action is
};

struct StateConfig {
  uint16_t partition = 0;  // whose state it is, of how many
  uint16_t partitions = 1;
  size_t resident_jobs_max = 100'000;
  size_t resident_job_bytes_max = 256u << 20;  // their arguments and results
  size_t resident_runs_max = 20'000;
  size_t resident_run_bytes_max = 256u << 20;  // what they hold
  size_t part_bytes_min = 16u << 10;           // texts of runs from here on have rows of their own
  size_t resident_text_bytes_max = 64u << 20;  // of these, of all runs together
  size_t plan_bytes_max = 128u << 20;          // of compiled definitions
  size_t new_scopes_max = 2'000;     // of a run, then their rows are written before others'
  size_t ready_window_max = 32'768;  // per queue
  size_t timer_window_max = 65'536;
  size_t queues_max = 100'000;
  size_t limits_max = 100'000;
  size_t docs_max = 100'000;                  // of the kinds that stay in memory
  size_t resident_doc_bytes_max = 64u << 20;  // of large ones whose rows are durable
  ScriptDefaults scripts;
};

}  // namespace pawl
