// The imports, exports and memory of a compiled module, and whether they keep the contract
// (docs/reference/module-abi.md). Read from its types alone: no code of the module runs. Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wasm/wasmtime_api.h"
#include "worlds/module_host.h"

namespace pawl::wasm {

enum class ExportState : uint8_t { Missing, WrongType, Right };

// How an entry takes its input and gives its output.
enum class CallShape : uint8_t {
  Missing,
  WrongType,
  Packed,         // (ptr, len) -> i64: ptr << 32 | len
  Pair,           // (ptr, len) -> (ptr, len)
  ThroughMemory,  // (ret, ptr, len) -> (): writes ptr and len, little-endian, at ret
};

struct ModuleFacts {
  uint32_t imports = 0;
  std::string first_import;  // "env.abort", in quotes
  ExportState memory = ExportState::Missing;
  ExportState alloc = ExportState::Missing;
  ExportState initialize = ExportState::Missing;
  CallShape step = CallShape::Missing;
  CallShape run = CallShape::Missing;
  uint64_t memory_pages = 0;  // that its memory begins with

  CallShape shape(worlds::Entry entry) const { return entry == worlds::Entry::Step ? step : run; }
  bool operator==(const ModuleFacts&) const = default;

  static void fields(auto& self, auto&& visit) {
    visit(1, "imports", self.imports);
    visit(2, "first_import", self.first_import);
    visit(3, "memory", self.memory);
    visit(4, "alloc", self.alloc);
    visit(5, "initialize", self.initialize);
    visit(6, "step", self.step);
    visit(7, "run", self.run);
    visit(8, "memory_pages", self.memory_pages);
  }
};

ModuleFacts facts_of(const WasmtimeApi& api, const WasmModule* module);

// Whether complaints() would find nothing, the size of the memory aside.
bool can_be_called(const ModuleFacts& facts, worlds::Entry entry);

// Codes module.imports, module.exports, module.memory; empty: it can be called. Paths are empty.
std::vector<Complaint> complaints(const ModuleFacts& facts, worlds::Entry entry,
                                  uint32_t memory_pages);

}  // namespace pawl::wasm
