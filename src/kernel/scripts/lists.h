// Lists of steps: entering them, starting their steps, and closing them.
#pragma once

#include <string>
#include <string_view>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// `owner`: the enclosing step; null for the root and the hooks.
void open_list(RunContext& run, const At* owner, const std::string& path, uint32_t list,
               bool iteration, uint32_t index, const std::string& item);
ScopeClosed closed_event(const RunContext& run, const Scope& in);
// Starts or skips every step of an open list that need not wait; closes the list if all have ended.
void start_ready_steps(RunContext& run, const std::string& path);
// A step has ended: the same for those that waited for it.
void start_dependents(RunContext& run, const At& at);

// The completed list of this name inside a step. Null if it is still open, or has failed together
// with the step.
const Scope* completed_list(RunContext& run, const At& at, std::string_view name);
// The output of a closed list: that of the last step that has one, else null.
std::string last_output(const RunContext& run, const Scope& in);
// Its size, known without reading it from the disk.
size_t last_bytes(const RunContext& run, const Scope& in);

}  // namespace pawl::scripts
