// How steps end: completed, failed, skipped or stopped; and how their lists are removed.
//
// Each emits the end and schedules the check of its dependents, except where noted.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// Fails the step if the run has no room for its output.
void complete_step(RunContext& run, const At& at, std::string output);
void skip_step(RunContext& run, const At& at, const std::string& reason);
// Schedules a retry, if the step has attempts left and `retryable` is true. Its lists are stopped.
void fail_step(RunContext& run, const At& at, StepError error, bool retryable);
void fail_too_large(RunContext& run, const At& at, const std::string& what);
void fail_no_room(RunContext& run, const At& at, uint64_t bytes);

// Stops the step and everything inside it, without a check.
void stop_step(RunContext& run, const At& at, const std::string& reason);
void stop_list(RunContext& run, const std::string& path, const std::string& reason);
// The event alone, for StepKind::cancel().
void emit_skipped(RunContext& run, const At& at, const std::string& reason);

// Drops the lists of an earlier attempt of this step.
void drop_lists_of(RunContext& run, const std::string& step);
// Drops a list with its contents.
void drop_list(RunContext& run, const std::string& path);

}  // namespace pawl::scripts
