// How steps end: completed, failed, skipped or stopped; and what their lists leave behind.
//
// Each emits the end and schedules the check of what waited for it, except where it says otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// Fails the step if the run has no room for its output.
void complete_step(RunContext& run, const At& at, std::string output);
void skip_step(RunContext& run, const At& at, const std::string& reason);
// Tries it again later, if the step has attempts left and `retryable` says so. Its lists are
// stopped.
void fail_step(RunContext& run, const At& at, StepError error, bool retryable);
void fail_too_large(RunContext& run, const At& at, const std::string& what);
void fail_no_room(RunContext& run, const At& at, uint64_t bytes);

// Gives up the step and everything inside it, without a check.
void stop_step(RunContext& run, const At& at, const std::string& reason);
void stop_list(RunContext& run, const std::string& path, const std::string& reason);
// The event alone, for StepKind::cancel().
void emit_skipped(RunContext& run, const At& at, const std::string& reason);

// Forgets the lists that an earlier attempt of this step left behind.
void drop_lists_of(RunContext& run, const std::string& step);
// Forgets a list, with all inside.
void drop_list(RunContext& run, const std::string& path);

}  // namespace pawl::scripts
