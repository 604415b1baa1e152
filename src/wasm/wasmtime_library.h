// Finds and loads the library of wasmtime. Nothing is linked: a server without worlds needs no
// runtime.
#pragma once

#include <string>

#include "base/result.h"
#include "wasm/wasmtime_api.h"

namespace pawl::wasm {

// `file` names the library; "" looks for it, in this order: what PAWL_WASMTIME names, and nothing
// else if that is set; libwasmtime.so beside the running program; in ../lib/pawl of it (make
// install); in .cache/wasmtime-<version> of a folder above it (tools/setup wasm); where the system
// has its libraries. Unavailable, worlds.no_runtime: it is not there, or is another version; the
// message says how to get it. Once loaded it stays in the process. Any thread.
Result<WasmtimeApi> load_wasmtime(const std::string& file);

// What an error says, on one line of bounded length; deletes the error.
std::string take_message(const WasmtimeApi& api, WasmError* error);

}  // namespace pawl::wasm
