// Compiles a module in a child process. A module of a few kilobytes can be written so that the
// compiler takes minutes or gigabytes, and a compiler may have faults; neither may reach the
// server, and the compiler cannot be interrupted.
//
// The child is a fork: it has the code at hand, and nothing need be installed for it. It has none
// of this process' files, does not outlive the thread that waits for it, and gives way to the
// server's own threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wasm/engine.h"
#include "wasm/module_facts.h"

namespace pawl::wasm {

struct CompileLimits {
  uint32_t cpu_s = 15;
  uint32_t real_s = 60;
  uint64_t memory_bytes = uint64_t{1} << 30;  // beyond what this process has
};

struct Compiled {
  ModuleFacts facts;
  std::string artifact;  // for load_artifact(), of this machine and library only
};

// The code must be valid. InvalidContent: it cannot be compiled within the limits; the message says
// why. Unavailable: there is no process to be had. Any thread, which waits.
Result<Compiled> compile_apart(const WasmtimeApi& api, std::string_view code,
                               const CompileLimits& limits);

// InvalidContent: the module asks for more than an instance may have.
Result<Owned<WasmModule>> load_artifact(const WasmtimeApi& api, WasmEngine* engine,
                                        std::string_view artifact);

// Deletes a module that load_artifact() gave.
void drop_module(Owned<WasmModule> module);

}  // namespace pawl::wasm
