#include "wasm/engine.h"

#include <sys/mman.h>

#include "worlds/fault.h"

namespace pawl::wasm {
namespace {

// Of an instance's memory, this much is cleared by writing zeros; what lies beyond goes back to the
// system, and costs a page fault when it is touched again.
constexpr size_t kMemoryKept = 128 << 10;
constexpr size_t kTableKept = 64 << 10;
constexpr size_t kInstanceBytesMax =
    8 << 20;  // what a module of 8 MiB can ask for: its functions, globals, segments
constexpr uint64_t kMemoryBytesMax = kMemoryPagesMax * kPageBytes;
constexpr uint64_t kTablesBytesMax = uint64_t{kTablesMax} * kTableElementsMax * sizeof(void*);

WasmConfig* new_config(const WasmtimeApi& api) {
  WasmConfig* config = api.wasm_config_new();
  api.wasmtime_config_consume_fuel_set(config, true);
  api.wasmtime_config_epoch_interruption_set(config, true);
  api.wasmtime_config_max_wasm_stack_set(config, kStackBytesMax);
  api.wasmtime_config_cranelift_nan_canonicalization_set(config, true);

  // What compilers emit by default for wasm32. The bulk operations cost a unit of fuel per byte or
  // element.
  api.wasmtime_config_wasm_multi_value_set(config, true);
  api.wasmtime_config_wasm_bulk_memory_set(config, true);
  api.wasmtime_config_wasm_reference_types_set(config, true);
  // What depends on the machine or on time, and what no module needs.
  api.wasmtime_config_wasm_threads_set(config, false);
  api.wasmtime_config_shared_memory_set(config, false);
  api.wasmtime_config_wasm_simd_set(config, false);
  api.wasmtime_config_wasm_relaxed_simd_set(config, false);
  api.wasmtime_config_wasm_tail_call_set(config, false);
  api.wasmtime_config_wasm_function_references_set(config, false);
  api.wasmtime_config_wasm_gc_set(config, false);
  api.wasmtime_config_gc_support_set(config, false);
  api.wasmtime_config_wasm_multi_memory_set(config, false);
  api.wasmtime_config_wasm_memory64_set(config, false);
  api.wasmtime_config_wasm_wide_arithmetic_set(config, false);
  api.wasmtime_config_wasm_exceptions_set(config, false);
  api.wasmtime_config_wasm_custom_page_sizes_set(config, false);
  api.wasmtime_config_wasm_stack_switching_set(config, false);

  api.wasmtime_config_cranelift_opt_level_set(config, kOptimizeForSpeed);
  api.wasmtime_config_parallel_compilation_set(config, false);
  api.wasmtime_config_native_unwind_info_set(config, false);
  // Bounds are checked by the code itself, not by faults: SIGSEGV stays with the crash book and the
  // sanitizers, and memories need no guard around them.
  api.wasmtime_config_signals_based_traps_set(config, false);
  api.wasmtime_config_memory_reservation_set(config, kMemoryBytesMax);
  api.wasmtime_config_memory_guard_size_set(config, 0);
  return config;
}

void add_pool(const WasmtimeApi& api, WasmConfig* config, uint32_t instances) {
  WasmPoolConfig* pool = api.wasmtime_pooling_allocation_config_new();
  api.wasmtime_pooling_allocation_config_total_core_instances_set(pool, instances);
  api.wasmtime_pooling_allocation_config_max_core_instance_size_set(pool, kInstanceBytesMax);
  api.wasmtime_pooling_allocation_config_total_memories_set(pool, instances);
  api.wasmtime_pooling_allocation_config_max_memory_size_set(pool, kMemoryBytesMax);
  api.wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(pool, kMemoryKept);
  api.wasmtime_pooling_allocation_config_total_tables_set(pool, instances * kTablesMax);
  api.wasmtime_pooling_allocation_config_max_tables_per_module_set(pool, kTablesMax);
  api.wasmtime_pooling_allocation_config_table_elements_set(pool, kTableElementsMax);
  api.wasmtime_pooling_allocation_config_table_keep_resident_set(pool, kTableKept);
  api.wasmtime_pooling_allocation_config_total_stacks_set(
      pool, 1);  // of asynchronous calls, which there are none of
  api.wasmtime_pooling_allocation_strategy_set(config, pool);
  api.wasmtime_pooling_allocation_config_delete(pool);
}

// The library ends the process when it cannot reserve its pool, so this asks the system first.
bool can_reserve(uint64_t bytes) {
  void* place =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return false;
  ::munmap(place, bytes);
  return true;
}

}  // namespace

Owned<WasmEngine> compiling_engine(const WasmtimeApi& api) {
  return {api.wasm_engine_new_with_config(new_config(api)), Delete{&api}};
}

Result<Owned<WasmEngine>> running_engine(const WasmtimeApi& api, uint32_t& instances) {
  constexpr uint64_t kSpare = 64 << 20;  // for its tables of itself, and for code
  while (instances > 0 && !can_reserve(instances * (kMemoryBytesMax + kTablesBytesMax) + kSpare))
    instances /= 2;
  if (instances == 0) {
    return worlds::refusal(
        ErrorCode::Unavailable, "worlds.no_runtime",
        "modules need 400 MiB of address space, more than the limit of this process leaves");
  }
  WasmConfig* config = new_config(api);
  add_pool(api, config, instances);
  return Owned<WasmEngine>(api.wasm_engine_new_with_config(config), Delete{&api});
}

}  // namespace pawl::wasm
