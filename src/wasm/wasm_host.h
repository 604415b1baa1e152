// WasmHost: runs modules on wasmtime. What a module may do and what a call gives is the contract of
// worlds/module_host.h; how it is kept is in docs/adr/0013-wasmtime.md.
//
// The library is loaded when the first call needs it. While it is missing, judge() is refused with
// worlds.no_runtime and call() ends as Unavailable; each looks for it again.
//
// Any thread with 640 KiB of stack left; in another, call() ends as Unavailable. judge() may take
// as long as the compiler is given (CompileLimits): call it where waiting is allowed. So may the
// first call of a module after a start.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/compile.h"
#include "wasm/loaded_modules.h"
#include "worlds/module_host.h"

namespace pawl::wasm {

struct WasmHostOptions {
  std::string library = {};  // the file; "" = looked for (wasmtime_library.h)
  uint32_t calls_max = 0;    // at a time, others wait; 0 = twice the processors, 16 at least
  size_t loaded_bytes_max = 256 << 20;  // of compiled modules
  CompileLimits judge_limits = {};
  // For a module that was accepted: what it took then it may take longer on a busy or slower
  // machine.
  CompileLimits call_limits = {.cpu_s = 30, .real_s = 120, .memory_bytes = uint64_t{2} << 30};
};

class WasmHost final : public worlds::ModuleHost {
 public:
  explicit WasmHost(WasmHostOptions options = {});
  ~WasmHost() override;

  // Loads the library, or says why it cannot be.
  Status ready();

  Result<std::vector<Complaint>> judge(std::string_view code, worlds::Entry entry,
                                       uint32_t memory_pages) override;
  worlds::ModuleCall call(std::string_view wasm_hash, worlds::LoadCode load, worlds::Entry entry,
                          std::string_view input, const worlds::ModuleLimits& limits) override;

 private:
  struct Runtime;

  Result<Runtime*> runtime();
  Result<LoadedModulePtr> loaded(Runtime& runtime, std::string_view wasm_hash,
                                 worlds::LoadCode load);

  const WasmHostOptions options_;
  std::mutex starting_;
  std::unique_ptr<Runtime> started_;
  std::atomic<Runtime*> runtime_{nullptr};
};

}  // namespace pawl::wasm
