// Actions that a run does itself, since they change it, tell something about it or start a run
// inside it.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

enum class RunAction : uint8_t { None, StartRun, Emit, Context, Fail, Log, Notify };

RunAction run_action(std::string_view name);
// Starts an attempt and ends it, unless a run was started that is not over yet.
void do_run_action(RunContext& run, const At& at, uint32_t attempt, RunAction action);

}  // namespace pawl::scripts
