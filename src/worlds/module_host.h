// ModuleHost: runs the code of modules. src/worlds/ runs code only through it, so that the
// simulator and fuzzers can put native functions in its place.
//
// A call is a pure function of the code and the input: a fresh instance each time, no imports, no
// clock, no threads, one bit pattern for not-a-number; it ends after a counted amount of fuel. The
// one exception is Timeout (real time), which a replay takes from the journal.
//
// Any thread; calls run in parallel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "base/result.h"

namespace pawl::worlds {

enum class Entry : uint8_t { Step, Run };  // which export is called

struct ModuleLimits {
  uint64_t fuel = 50'000'000;
  uint32_t memory_pages = 256;
  uint32_t time_ms = 5'000;  // of real time; a replay, which repeats what was in time, gives more
};

enum class CallEnd : uint8_t {
  Returned,
  Trap,  // also: alloc failed, stack exhausted
  FuelExceeded,
  Timeout,      // of real time
  BadOutput,    // pointer and length do not lie in the memory
  OutputLimit,  // more than kRawOutputMax
  Unavailable,  // there is no runtime, or it cannot load the module: nothing was decided
};

struct ModuleCall {
  CallEnd end = CallEnd::Returned;
  std::string output = {};  // what it returned; of Unavailable: why
  uint64_t fuel = 0;        // used; the same in every run of the same call
};

constexpr size_t kRawOutputMax = 2u << 20;
constexpr size_t kWasmBytesMax = 8u << 20;

// Gives the code of a module by its hash, when it is not in the host's cache.
using LoadCode = FunctionRef<std::optional<std::string>(std::string_view wasm_hash)>;

class ModuleHost {
 public:
  virtual ~ModuleHost() = default;

  // Judges code before it is accepted. Codes: module.invalid, module.imports, module.exports,
  // module.memory. Unavailable (ErrorCode) if there is no runtime: its message names the command
  // that installs it.
  virtual Result<std::vector<Complaint>> judge(std::string_view code, Entry entry,
                                               uint32_t memory_pages) = 0;

  virtual ModuleCall call(std::string_view wasm_hash, LoadCode load, Entry entry,
                          std::string_view input, const ModuleLimits& limits) = 0;
};

}  // namespace pawl::worlds
