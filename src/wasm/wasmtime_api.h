// What Pawl uses of the C interface of wasmtime, declared by hand: neither Debian nor the wheel has
// its headers.
//
// The layouts and signatures are those of version kWasmtimeVersion, as its Python bindings declare
// them (wasmtime/_bindings.py in the wheel). Another version may have others, so load_wasmtime()
// takes only this one.
//
// Ownership: what a function named _new, or with a pointer to a result, gives is deleted by its
// _delete, but a config, which new_with_config takes. An error or trap that a call returns is the
// caller's to delete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pawl::wasm {

constexpr const char* kWasmtimeVersion = "50.0.1";
// A function that has the version of its interface in its name.
constexpr const char* kWasmtimeVersionMark = "set_vmctx_memory_50_0_0";

struct WasmConfig;
struct WasmEngine;
struct WasmStore;
struct WasmContext;  // a store, as most functions take it
struct WasmModule;
struct WasmLinker;
struct WasmInstancePre;  // a module that is linked, ready for instances
struct WasmError;
struct WasmTrap;
struct WasmPoolConfig;
struct WasmImportType;
struct WasmExportType;
struct WasmExternType;
struct WasmFuncType;
struct WasmMemoryType;
struct WasmValType;

template <class Element>
struct WasmVec {
  size_t size = 0;
  Element* data = nullptr;
};
using WasmBytes = WasmVec<char>;

struct WasmInstance {
  uint64_t store = 0;
  size_t index = 0;
};

struct WasmFunc {
  uint64_t store = 0;
  void* code = nullptr;
};

struct WasmMemory {
  uint64_t store = 0;
  uint32_t instance = 0;
  uint32_t padding = 0;
  uint64_t index = 0;
};

enum class WasmExternKind : uint8_t { Func, Global, Table, Memory };

struct WasmExtern {
  WasmExternKind kind = WasmExternKind::Func;
  union {
    WasmFunc func;
    WasmMemory memory;  // the largest
  };
  WasmExtern() : memory{} {}
};

// An argument or result of an unchecked call: 16 bytes, the value in the first ones.
struct WasmRaw {
  uint64_t low = 0;
  uint64_t high = 0;
};

static_assert(sizeof(WasmInstance) == 16 && sizeof(WasmFunc) == 16 && sizeof(WasmMemory) == 24);
static_assert(sizeof(WasmExtern) == 32 && offsetof(WasmExtern, func) == 8 && sizeof(WasmRaw) == 16);

enum class WasmValKind : uint8_t { I32, I64, F32, F64 };  // references are larger

namespace trap_code {
constexpr uint8_t kInterrupt = 10;  // the deadline of the epoch
constexpr uint8_t kOutOfFuel = 11;
}  // namespace trap_code

constexpr uint8_t kOptimizeForSpeed = 1;

#define PAWL_WASMTIME_FUNCTIONS(F)                                                                 \
  F(wasm_byte_vec_delete, void(WasmBytes*))                                                        \
  F(wasm_config_new, WasmConfig*())                                                                \
  F(wasmtime_config_consume_fuel_set, void(WasmConfig*, bool))                                     \
  F(wasmtime_config_epoch_interruption_set, void(WasmConfig*, bool))                               \
  F(wasmtime_config_max_wasm_stack_set, void(WasmConfig*, size_t))                                 \
  F(wasmtime_config_wasm_threads_set, void(WasmConfig*, bool))                                     \
  F(wasmtime_config_shared_memory_set, void(WasmConfig*, bool))                                    \
  F(wasmtime_config_wasm_tail_call_set, void(WasmConfig*, bool))                                   \
  F(wasmtime_config_wasm_reference_types_set, void(WasmConfig*, bool))                             \
  F(wasmtime_config_wasm_function_references_set, void(WasmConfig*, bool))                         \
  F(wasmtime_config_wasm_gc_set, void(WasmConfig*, bool))                                          \
  F(wasmtime_config_gc_support_set, void(WasmConfig*, bool))                                       \
  F(wasmtime_config_wasm_simd_set, void(WasmConfig*, bool))                                        \
  F(wasmtime_config_wasm_relaxed_simd_set, void(WasmConfig*, bool))                                \
  F(wasmtime_config_wasm_bulk_memory_set, void(WasmConfig*, bool))                                 \
  F(wasmtime_config_wasm_multi_value_set, void(WasmConfig*, bool))                                 \
  F(wasmtime_config_wasm_multi_memory_set, void(WasmConfig*, bool))                                \
  F(wasmtime_config_wasm_memory64_set, void(WasmConfig*, bool))                                    \
  F(wasmtime_config_wasm_wide_arithmetic_set, void(WasmConfig*, bool))                             \
  F(wasmtime_config_wasm_exceptions_set, void(WasmConfig*, bool))                                  \
  F(wasmtime_config_wasm_custom_page_sizes_set, void(WasmConfig*, bool))                           \
  F(wasmtime_config_wasm_stack_switching_set, void(WasmConfig*, bool))                             \
  F(wasmtime_config_parallel_compilation_set, void(WasmConfig*, bool))                             \
  F(wasmtime_config_cranelift_nan_canonicalization_set, void(WasmConfig*, bool))                   \
  F(wasmtime_config_cranelift_opt_level_set, void(WasmConfig*, uint8_t))                           \
  F(wasmtime_config_memory_reservation_set, void(WasmConfig*, uint64_t))                           \
  F(wasmtime_config_memory_guard_size_set, void(WasmConfig*, uint64_t))                            \
  F(wasmtime_config_native_unwind_info_set, void(WasmConfig*, bool))                               \
  F(wasmtime_config_signals_based_traps_set, void(WasmConfig*, bool))                              \
  F(wasmtime_pooling_allocation_config_new, WasmPoolConfig*())                                     \
  F(wasmtime_pooling_allocation_config_delete, void(WasmPoolConfig*))                              \
  F(wasmtime_pooling_allocation_config_linear_memory_keep_resident_set,                            \
    void(WasmPoolConfig*, size_t))                                                                 \
  F(wasmtime_pooling_allocation_config_table_keep_resident_set, void(WasmPoolConfig*, size_t))     \
  F(wasmtime_pooling_allocation_config_total_memories_set, void(WasmPoolConfig*, uint32_t))        \
  F(wasmtime_pooling_allocation_config_total_tables_set, void(WasmPoolConfig*, uint32_t))          \
  F(wasmtime_pooling_allocation_config_total_stacks_set, void(WasmPoolConfig*, uint32_t))          \
  F(wasmtime_pooling_allocation_config_total_core_instances_set, void(WasmPoolConfig*, uint32_t))  \
  F(wasmtime_pooling_allocation_config_max_core_instance_size_set, void(WasmPoolConfig*, size_t))  \
  F(wasmtime_pooling_allocation_config_max_tables_per_module_set, void(WasmPoolConfig*, uint32_t)) \
  F(wasmtime_pooling_allocation_config_table_elements_set, void(WasmPoolConfig*, size_t))          \
  F(wasmtime_pooling_allocation_config_max_memory_size_set, void(WasmPoolConfig*, size_t))         \
  F(wasmtime_pooling_allocation_strategy_set, void(WasmConfig*, const WasmPoolConfig*))            \
  F(wasm_engine_new_with_config, WasmEngine*(WasmConfig*))                                         \
  F(wasm_engine_delete, void(WasmEngine*))                                                         \
  F(wasmtime_engine_increment_epoch, void(WasmEngine*))                                            \
  F(wasmtime_module_validate, WasmError*(WasmEngine*, const uint8_t*, size_t))                     \
  F(wasmtime_module_new, WasmError*(WasmEngine*, const uint8_t*, size_t, WasmModule**))            \
  F(wasmtime_module_serialize, WasmError*(WasmModule*, WasmBytes*))                                \
  F(wasmtime_module_deserialize, WasmError*(WasmEngine*, const uint8_t*, size_t, WasmModule**))    \
  F(wasmtime_module_delete, void(WasmModule*))                                                     \
  F(wasmtime_module_imports, void(const WasmModule*, WasmVec<WasmImportType*>*))                   \
  F(wasmtime_module_exports, void(const WasmModule*, WasmVec<WasmExportType*>*))                   \
  F(wasm_importtype_vec_delete, void(WasmVec<WasmImportType*>*))                                   \
  F(wasm_exporttype_vec_delete, void(WasmVec<WasmExportType*>*))                                   \
  F(wasm_importtype_module, const WasmBytes*(const WasmImportType*))                               \
  F(wasm_importtype_name, const WasmBytes*(const WasmImportType*))                                 \
  F(wasm_exporttype_name, const WasmBytes*(const WasmExportType*))                                 \
  F(wasm_exporttype_type, const WasmExternType*(const WasmExportType*))                            \
  F(wasm_externtype_kind, WasmExternKind(const WasmExternType*))                                   \
  F(wasm_externtype_as_functype_const, const WasmFuncType*(const WasmExternType*))                 \
  F(wasm_externtype_as_memorytype_const, const WasmMemoryType*(const WasmExternType*))             \
  F(wasm_functype_params, const WasmVec<WasmValType*>*(const WasmFuncType*))                       \
  F(wasm_functype_results, const WasmVec<WasmValType*>*(const WasmFuncType*))                      \
  F(wasm_valtype_kind, WasmValKind(const WasmValType*))                                            \
  F(wasmtime_memorytype_minimum, uint64_t(const WasmMemoryType*))                                  \
  F(wasmtime_linker_new, WasmLinker*(WasmEngine*))                                                 \
  F(wasmtime_linker_delete, void(WasmLinker*))                                                     \
  F(wasmtime_linker_instantiate_pre,                                                               \
    WasmError*(const WasmLinker*, const WasmModule*, WasmInstancePre**))                           \
  F(wasmtime_instance_pre_instantiate,                                                             \
    WasmError*(const WasmInstancePre*, WasmContext*, WasmInstance*, WasmTrap**))                   \
  F(wasmtime_instance_pre_delete, void(WasmInstancePre*))                                          \
  F(wasmtime_instance_export_get,                                                                  \
    bool(WasmContext*, const WasmInstance*, const char*, size_t, WasmExtern*))                     \
  F(wasmtime_store_new, WasmStore*(WasmEngine*, void*, void (*)(void*)))                           \
  F(wasmtime_store_delete, void(WasmStore*))                                                       \
  F(wasmtime_store_context, WasmContext*(WasmStore*))                                              \
  F(wasmtime_store_limiter, void(WasmStore*, int64_t, int64_t, int64_t, int64_t, int64_t))         \
  F(wasmtime_context_set_fuel, WasmError*(WasmContext*, uint64_t))                                 \
  F(wasmtime_context_get_fuel, WasmError*(const WasmContext*, uint64_t*))                          \
  F(wasmtime_context_set_epoch_deadline, void(WasmContext*, uint64_t))                             \
  F(wasmtime_func_call_unchecked,                                                                  \
    WasmError*(WasmContext*, const WasmFunc*, WasmRaw*, size_t, WasmTrap**))                       \
  F(wasmtime_memory_data, uint8_t*(const WasmContext*, const WasmMemory*))                         \
  F(wasmtime_memory_data_size, size_t(const WasmContext*, const WasmMemory*))                      \
  F(wasmtime_error_message, void(const WasmError*, WasmBytes*))                                    \
  F(wasmtime_error_delete, void(WasmError*))                                                       \
  F(wasmtime_trap_code, bool(const WasmTrap*, uint8_t*))                                           \
  F(wasm_trap_delete, void(WasmTrap*))                                                             \
  F(wasmtime_wat2wasm, WasmError*(const char*, size_t, WasmBytes*))

struct WasmtimeApi {
#define PAWL_WASMTIME_MEMBER(name, signature) std::add_pointer_t<signature> name = nullptr;
  PAWL_WASMTIME_FUNCTIONS(PAWL_WASMTIME_MEMBER)
#undef PAWL_WASMTIME_MEMBER
};

}  // namespace pawl::wasm
