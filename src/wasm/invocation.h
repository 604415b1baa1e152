// Invocation: one call of a module in an instance of its own: instantiate, _initialize, alloc,
// write the input, call the entry, read the output. Fuel and time are counted over all of it.
//
// Thread: the caller's, on whose stack the code runs (wasm/stack_room.h).
#pragma once

#include <string_view>

#include "wasm/engine.h"
#include "wasm/loaded_modules.h"
#include "worlds/module_host.h"

namespace pawl::wasm {

class Invocation {
 public:
  // `ticks` of the epoch until it is stopped.
  Invocation(const WasmtimeApi& api, WasmEngine* engine, const LoadedModule& module,
             const worlds::ModuleLimits& limits, uint64_t ticks);
  ~Invocation();
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  worlds::ModuleCall run(worlds::Entry entry, std::string_view input);

 private:
  // Each is false, and end_ says why, if the call is over.
  bool instantiate();
  bool initialize();
  bool allocate(size_t bytes, uint32_t& place);
  bool write(std::string_view input, uint32_t& place);
  bool call_entry(worlds::Entry entry, uint32_t place, size_t bytes, uint64_t& output);
  bool call(const WasmFunc& func, WasmRaw* values, size_t count);
  bool over(worlds::CallEnd end);
  bool over_by(WasmTrap* trap);

  bool find(std::string_view name, WasmExtern& found);
  bool in_memory(uint64_t place, uint64_t bytes);
  worlds::CallEnd read(uint64_t output, std::string& bytes);

  const WasmtimeApi& api_;
  const LoadedModule& module_;
  const uint64_t fuel_;
  Owned<WasmStore> store_;
  WasmContext* context_;
  WasmInstance instance_;
  WasmExtern memory_;
  bool has_memory_ = false;
  WasmExtern alloc_;
  worlds::CallEnd end_ = worlds::CallEnd::Returned;
};

}  // namespace pawl::wasm
