#include "wasm/invocation.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "wasm/race_marks.h"
#include "wasm/wasmtime_library.h"

namespace pawl::wasm {

using worlds::CallEnd;

namespace {

// wasmtime compares at loops and calls only, so code that needs more than the limit may still run
// to its end. The last of the units it gets is one more than the limit: a call that spends it
// needed too much, wherever that was noticed.
constexpr uint64_t kUnitAboveLimit = 1;

}  // namespace

Invocation::Invocation(const WasmtimeApi& api, WasmEngine* engine, const LoadedModule& module,
                       const worlds::ModuleLimits& limits, uint64_t ticks)
    : api_(api),
      module_(module),
      fuel_(limits.fuel),
      store_(api.wasmtime_store_new(engine, nullptr, nullptr), Delete{&api}),
      context_(api.wasmtime_store_context(store_.get())) {
  PAWL_CHECK(api.wasmtime_context_set_fuel(context_, fuel_ + kUnitAboveLimit) ==
             nullptr);  // an error: the engine counts no fuel
  api.wasmtime_context_set_epoch_deadline(context_, ticks);
  const auto memory_bytes =
      static_cast<int64_t>(std::min(limits.memory_pages, kMemoryPagesMax) * kPageBytes);
  api.wasmtime_store_limiter(store_.get(), memory_bytes, kTableElementsMax, 1, kTablesMax, 1);
}

Invocation::~Invocation() {
  if (has_memory_) mark_given_back(api_.wasmtime_memory_data(context_, &memory_.memory));
}

worlds::ModuleCall Invocation::run(worlds::Entry entry, std::string_view input) {
  worlds::ModuleCall result;
  uint32_t place = 0;
  uint64_t output = 0;
  if (instantiate() && initialize() && write(input, place) &&
      call_entry(entry, place, input.size(), output)) {
    end_ = read(output, result.output);
  }
  uint64_t left = 0;
  PAWL_CHECK(api_.wasmtime_context_get_fuel(context_, &left) == nullptr);
  const bool by_machine = end_ == CallEnd::Timeout || end_ == CallEnd::Unavailable;
  if (left == 0 && !by_machine) end_ = CallEnd::FuelExceeded;
  result.end = end_;
  const uint64_t given = fuel_ + kUnitAboveLimit;
  const uint64_t used = given - std::min(left, given);
  result.fuel = end_ == CallEnd::FuelExceeded ? fuel_ : std::min(used, fuel_);
  return result;
}

bool Invocation::instantiate() {
  WasmTrap* trap = nullptr;
  WasmError* error =
      api_.wasmtime_instance_pre_instantiate(module_.pre.get(), context_, &instance_, &trap);
  if (error != nullptr) {
    // What the module asks for was compared with the limits when it was loaded: it is the machine
    // that has no memory.
    api_.wasmtime_error_delete(error);
    return over(CallEnd::Unavailable);
  }
  if (trap != nullptr) return over_by(trap);
  has_memory_ = find("memory", memory_);
  if (has_memory_) mark_taken(api_.wasmtime_memory_data(context_, &memory_.memory));
  return has_memory_ && find("alloc", alloc_);
}

bool Invocation::initialize() {
  if (module_.facts.initialize == ExportState::Missing) return true;
  WasmExtern func;
  WasmRaw none;
  return find("_initialize", func) && call(func.func, &none, 0);
}

bool Invocation::allocate(size_t bytes, uint32_t& place) {
  WasmRaw value{bytes};
  if (!call(alloc_.func, &value, 1)) return false;
  place = static_cast<uint32_t>(value.low);
  // Null is how an allocator says no.
  return (place != 0 && in_memory(place, bytes)) || over(CallEnd::Trap);
}

bool Invocation::write(std::string_view input, uint32_t& place) {
  if (!allocate(input.size(), place)) return false;
  std::memcpy(api_.wasmtime_memory_data(context_, &memory_.memory) + place, input.data(),
              input.size());
  return true;
}

bool Invocation::call_entry(worlds::Entry entry, uint32_t place, size_t bytes, uint64_t& output) {
  WasmExtern func;
  if (!find(entry == worlds::Entry::Step ? "step" : "run", func)) return false;
  const CallShape shape = module_.facts.shape(entry);
  if (shape == CallShape::ThroughMemory) {
    uint32_t result = 0;
    if (!allocate(2 * sizeof(uint32_t), result)) return false;
    std::array<WasmRaw, 3> values{WasmRaw{result}, WasmRaw{place}, WasmRaw{bytes}};
    if (!call(func.func, values.data(), values.size())) return false;
    std::array<uint32_t, 2>
        pair{};  // little-endian, as all machines that wasmtime compiles for here
    std::memcpy(pair.data(), api_.wasmtime_memory_data(context_, &memory_.memory) + result,
                sizeof pair);
    output = uint64_t{pair[0]} << 32 | pair[1];
    return true;
  }
  std::array<WasmRaw, 2> values{WasmRaw{place}, WasmRaw{bytes}};
  if (!call(func.func, values.data(), values.size())) return false;
  output = shape == CallShape::Packed ? values[0].low
                                      : values[0].low << 32 | static_cast<uint32_t>(values[1].low);
  return true;
}

bool Invocation::call(const WasmFunc& func, WasmRaw* values, size_t count) {
  WasmTrap* trap = nullptr;
  WasmError* error = api_.wasmtime_func_call_unchecked(context_, &func, values, count, &trap);
  if (error != nullptr) {
    api_.wasmtime_error_delete(error);
    return over(CallEnd::Trap);
  }
  return trap == nullptr || over_by(trap);
}

bool Invocation::over(CallEnd end) {
  end_ = end;
  return false;
}

bool Invocation::over_by(WasmTrap* trap) {
  const Owned<WasmTrap> owned(trap, Delete{&api_});
  uint8_t code = 0;
  if (!api_.wasmtime_trap_code(trap, &code)) return over(CallEnd::Trap);
  if (code == trap_code::kOutOfFuel) return over(CallEnd::FuelExceeded);
  return over(code == trap_code::kInterrupt ? CallEnd::Timeout : CallEnd::Trap);
}

bool Invocation::find(std::string_view name, WasmExtern& found) {
  return api_.wasmtime_instance_export_get(context_, &instance_, name.data(), name.size(),
                                           &found) ||
         over(CallEnd::Unavailable);
}

bool Invocation::in_memory(uint64_t place, uint64_t bytes) {
  return place + bytes <= api_.wasmtime_memory_data_size(context_, &memory_.memory);
}

CallEnd Invocation::read(uint64_t output, std::string& bytes) {
  const uint64_t place = output >> 32;
  const uint64_t count = static_cast<uint32_t>(output);
  if (!in_memory(place, count)) return CallEnd::BadOutput;
  if (count > worlds::kRawOutputMax) return CallEnd::OutputLimit;
  const uint8_t* data = api_.wasmtime_memory_data(context_, &memory_.memory);
  bytes.assign(reinterpret_cast<const char*>(data) + place, count);
  return CallEnd::Returned;
}

}  // namespace pawl::wasm
