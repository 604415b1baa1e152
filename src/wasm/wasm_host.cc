#include "wasm/wasm_host.h"

#include <algorithm>
#include <atomic>
#include <semaphore>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/plant.h"
#include "wasm/epoch_ticker.h"
#include "wasm/invocation.h"
#include "wasm/stack_room.h"
#include "wasm/wasmtime_library.h"
#include "worlds/fault.h"

namespace pawl::wasm {
namespace {

using worlds::CallEnd;

constexpr uint32_t kCallsAtLeast = 16;
constexpr ptrdiff_t kCompilersMax = 2;        // at a time: each may take a processor and a gigabyte
constexpr size_t kStackBytesOwn = 128 << 10;  // of a call, beside the module's
constexpr size_t kModuleOverheadBytes = 64 << 10;

// (module): what the smallest artifact is made of, to see whether this process may have code at
// all.
constexpr std::string_view kSmallestModule{"\0asm\1\0\0\0\1\4\1\x60\0\0\3\2\1\0\n\4\1\2\0\x0b", 24};

class Place {
 public:
  explicit Place(std::counting_semaphore<>& places) : places_(places) { places_.acquire(); }
  ~Place() { places_.release(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::counting_semaphore<>& places_;
};

std::vector<Complaint> invalid(std::string why) { return {{"", std::move(why), "module.invalid"}}; }

worlds::ModuleCall unavailable(std::string why) {
  return {.end = CallEnd::Unavailable, .output = std::move(why)};
}

uint32_t calls_at_a_time(const WasmHostOptions& options) {
  if (options.calls_max > 0) return options.calls_max;
  return std::max(kCallsAtLeast, 2 * std::thread::hardware_concurrency());
}

}  // namespace

struct WasmHost::Runtime {
  WasmtimeApi api;
  Owned<WasmEngine> engine;
  Owned<WasmLinker> linker;  // defines nothing
  LoadedModules modules;
  std::counting_semaphore<> places;
  std::counting_semaphore<> compilers{kCompilersMax};
  EpochTicker ticker;

  Runtime(const WasmtimeApi& with, Owned<WasmEngine> made, uint32_t calls_max,
          size_t loaded_bytes_max)
      : api(with),
        engine(made.release(), Delete{&api}),
        linker(api.wasmtime_linker_new(engine.get()), Delete{&api}),
        modules(loaded_bytes_max),
        places(calls_max),
        ticker(api, engine.get()) {}

  Result<LoadedModulePtr> load(std::string_view code, const CompileLimits& limits,
                               ModuleFacts& facts);
};

// InvalidContent: it cannot be loaded; if it was compiled all the same, the facts are there.
Result<LoadedModulePtr> WasmHost::Runtime::load(std::string_view code, const CompileLimits& limits,
                                                ModuleFacts& facts) {
  abort_if_planted(Plant::Module, code);
  const Place compiler(compilers);
  PAWL_TRY(Compiled compiled, compile_apart(api, code, limits));
  facts = compiled.facts;
  if (facts.imports > 0 || facts.memory_pages > kMemoryPagesMax) {
    return Error{ErrorCode::InvalidContent, "it has imports or too large a memory"};
  }
  PAWL_TRY(Owned<WasmModule> module, load_artifact(api, engine.get(), compiled.artifact));
  WasmInstancePre* pre = nullptr;
  if (WasmError* error = api.wasmtime_linker_instantiate_pre(linker.get(), module.get(), &pre)) {
    drop_module(std::move(module));
    return Error{ErrorCode::InvalidContent, take_message(api, error)};
  }
  auto loaded = std::make_shared<LoadedModule>();
  loaded->facts = std::move(compiled.facts);
  loaded->pre = Owned<WasmInstancePre>(pre, Delete{&api});
  loaded->module = std::move(module);
  loaded->bytes = compiled.artifact.size() + kModuleOverheadBytes;
  return LoadedModulePtr(std::move(loaded));
}

WasmHost::WasmHost(WasmHostOptions options) : options_(std::move(options)) {}

WasmHost::~WasmHost() = default;

Result<WasmHost::Runtime*> WasmHost::runtime() {
  if (Runtime* here = runtime_.load(std::memory_order_acquire)) return here;
  const std::lock_guard lock(starting_);
  if (started_ != nullptr) return started_.get();
  PAWL_TRY(const WasmtimeApi api, load_wasmtime(options_.library));
  uint32_t calls_max = calls_at_a_time(options_);
  PAWL_TRY(Owned<WasmEngine> engine, running_engine(api, calls_max));
  auto runtime =
      std::make_unique<Runtime>(api, std::move(engine), calls_max, options_.loaded_bytes_max);
  ModuleFacts facts;
  if (Result<LoadedModulePtr> smallest =
          runtime->load(kSmallestModule, options_.judge_limits, facts);
      !smallest.ok()) {
    return worlds::refusal(ErrorCode::Unavailable, "worlds.no_runtime",
                           "this process cannot compile modules; does it deny executable memory "
                           "(MemoryDenyWriteExecute), "
                           "or processes of its own? " +
                               smallest.error().message);
  }
  started_ = std::move(runtime);
  runtime_.store(started_.get(), std::memory_order_release);
  return started_.get();
}

Status WasmHost::ready() {
  PAWL_TRY_DO(runtime());
  return ok_status();
}

Result<std::vector<Complaint>> WasmHost::judge(std::string_view code, worlds::Entry entry,
                                               uint32_t memory_pages) {
  PAWL_TRY(Runtime * runtime, this->runtime());
  if (code.size() > worlds::kWasmBytesMax) {
    return invalid("it has " + std::to_string(code.size()) + " bytes, more than 8 MiB");
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
  if (WasmError* error =
          runtime->api.wasmtime_module_validate(runtime->engine.get(), bytes, code.size())) {
    return invalid(take_message(runtime->api, error));
  }
  ModuleFacts facts;
  Result<LoadedModulePtr> module = runtime->modules.find_or("sha256:" + sha256_hex(code), [&] {
    return runtime->load(code, options_.judge_limits, facts);
  });
  if (module.ok()) return complaints((*module)->facts, entry, memory_pages);
  if (module.error().code != ErrorCode::InvalidContent) return std::move(module).failure();
  if (facts == ModuleFacts()) return invalid(module.error().message);
  std::vector<Complaint> found = complaints(facts, entry, memory_pages);
  return found.empty() ? invalid(module.error().message) : std::move(found);
}

Result<LoadedModulePtr> WasmHost::loaded(Runtime& runtime, std::string_view wasm_hash,
                                         worlds::LoadCode load) {
  if (LoadedModulePtr here = runtime.modules.find(wasm_hash)) return here;
  Result<LoadedModulePtr> module =
      runtime.modules.find_or(wasm_hash, [&]() -> Result<LoadedModulePtr> {
        const std::optional<std::string> code = load(wasm_hash);
        if (!code) return Error{ErrorCode::NotFound, "there is no such code"};
        ModuleFacts facts;
        return runtime.load(*code, options_.call_limits, facts);
      });
  return module;
}

worlds::ModuleCall WasmHost::call(std::string_view wasm_hash, worlds::LoadCode load,
                                  worlds::Entry entry, std::string_view input,
                                  const worlds::ModuleLimits& limits) {
  Result<Runtime*> runtime = this->runtime();
  if (!runtime.ok()) return unavailable(runtime.error().message);
  Runtime& here = **runtime;
  const Result<LoadedModulePtr> found = loaded(here, wasm_hash, load);
  if (!found.ok()) return unavailable(found.error().message);
  const LoadedModulePtr& module = *found;
  if (module->facts.memory_pages > limits.memory_pages) return {CallEnd::Trap};
  if (!can_be_called(module->facts, entry)) return unavailable("the module lacks an export");
  if (!stack_has_room(kStackBytesMax + kStackBytesOwn))
    return unavailable("the thread that calls the module has too little stack");
  abort_if_planted(Plant::Module, input);
  const Place place(here.places);
  const EpochTicker::Running running(here.ticker);
  return Invocation(here.api, here.engine.get(), *module, limits,
                    EpochTicker::ticks(limits.time_ms))
      .run(entry, input);
}

}  // namespace pawl::wasm
