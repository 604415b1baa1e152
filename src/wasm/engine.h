// The engine of wasmtime, set up as the contract of modules demands: what it computes is a function
// of code and input, and every resource has a bound. docs/adr/0013-wasmtime.md has the figures
// behind the choices.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "wasm/wasmtime_api.h"

namespace pawl::wasm {

constexpr uint64_t kPageBytes = 65'536;
constexpr uint32_t kMemoryPagesMax = 4'096;     // the largest limit that a manifest may set
constexpr uint32_t kTablesMax = 4;              // in a module
constexpr uint32_t kTableElementsMax = 65'536;  // in a table
constexpr size_t kStackBytesMax = 512
                                  << 10;  // of the calling thread's stack, counted from the call

// Deletes what the library made.
struct Delete {
  const WasmtimeApi* api = nullptr;
  void operator()(WasmEngine* engine) const { api->wasm_engine_delete(engine); }
  void operator()(WasmModule* module) const { api->wasmtime_module_delete(module); }
  void operator()(WasmLinker* linker) const { api->wasmtime_linker_delete(linker); }
  void operator()(WasmInstancePre* pre) const { api->wasmtime_instance_pre_delete(pre); }
  void operator()(WasmStore* store) const { api->wasmtime_store_delete(store); }
  void operator()(WasmTrap* trap) const { api->wasm_trap_delete(trap); }
};
template <class T>
using Owned = std::unique_ptr<T, Delete>;

// For compiling only: no room for instances is set aside.
Owned<WasmEngine> compiling_engine(const WasmtimeApi& api);

// With room for `instances` at a time, or fewer if the process may not have that much address
// space; says how many. Unavailable if there is not room for one. What compiling_engine compiled
// runs in it.
Result<Owned<WasmEngine>> running_engine(const WasmtimeApi& api, uint32_t& instances);

}  // namespace pawl::wasm
