#include "wasm/module_facts.h"

#include <initializer_list>
#include <string_view>

#include "base/quote.h"
#include "wasm/engine.h"

namespace pawl::wasm {
namespace {

std::string_view text(const WasmBytes* bytes) { return {bytes->data, bytes->size}; }

class TypeReader {
 public:
  TypeReader(const WasmtimeApi& api, const WasmExternType* type) : api_(api), type_(type) {}

  bool is_func(std::initializer_list<WasmValKind> params,
               std::initializer_list<WasmValKind> results) const {
    if (api_.wasm_externtype_kind(type_) != WasmExternKind::Func) return false;
    const WasmFuncType* func = api_.wasm_externtype_as_functype_const(type_);
    return same(*api_.wasm_functype_params(func), params) &&
           same(*api_.wasm_functype_results(func), results);
  }

 private:
  bool same(const WasmVec<WasmValType*>& types, std::initializer_list<WasmValKind> kinds) const {
    if (types.size != kinds.size()) return false;
    size_t at = 0;
    for (WasmValKind kind : kinds) {
      if (api_.wasm_valtype_kind(types.data[at++]) != kind) return false;
    }
    return true;
  }

  const WasmtimeApi& api_;
  const WasmExternType* type_;
};

ExportState right_if(bool right) { return right ? ExportState::Right : ExportState::WrongType; }

CallShape shape_of(const TypeReader& type) {
  constexpr auto kI32 = WasmValKind::I32;
  if (type.is_func({kI32, kI32}, {WasmValKind::I64})) return CallShape::Packed;
  if (type.is_func({kI32, kI32}, {kI32, kI32})) return CallShape::Pair;
  if (type.is_func({kI32, kI32, kI32}, {})) return CallShape::ThroughMemory;
  return CallShape::WrongType;
}

void take_export(const WasmtimeApi& api, std::string_view name, const WasmExternType* type,
                 ModuleFacts& facts) {
  constexpr auto kI32 = WasmValKind::I32;
  const TypeReader reader(api, type);
  if (name == "memory") {
    facts.memory = right_if(api.wasm_externtype_kind(type) == WasmExternKind::Memory);
    if (facts.memory == ExportState::Right) {
      facts.memory_pages =
          api.wasmtime_memorytype_minimum(api.wasm_externtype_as_memorytype_const(type));
    }
  } else if (name == "alloc") {
    facts.alloc = right_if(reader.is_func({kI32}, {kI32}));
  } else if (name == "_initialize") {
    facts.initialize = right_if(reader.is_func({}, {}));
  } else if (name == "step") {
    facts.step = shape_of(reader);
  } else if (name == "run") {
    facts.run = shape_of(reader);
  }
}

void complain(std::vector<Complaint>& found, std::string_view code, std::string message) {
  found.push_back({"", std::move(message), std::string(code)});
}

void check_export(std::vector<Complaint>& found, ExportState state, const std::string& what) {
  switch (state) {
    case ExportState::Right:
      return;
    case ExportState::Missing:
      return complain(found, "module.exports", "it must export " + what);
    case ExportState::WrongType:
      return complain(found, "module.exports", "its export of that name must be " + what);
  }
}

}  // namespace

ModuleFacts facts_of(const WasmtimeApi& api, const WasmModule* module) {
  ModuleFacts facts;
  WasmVec<WasmImportType*> imports;
  api.wasmtime_module_imports(module, &imports);
  facts.imports = static_cast<uint32_t>(imports.size);
  if (imports.size > 0) {
    const WasmImportType* first = imports.data[0];
    facts.first_import = in_quotes(std::string(text(api.wasm_importtype_module(first))) + "." +
                                   std::string(text(api.wasm_importtype_name(first))));
  }
  api.wasm_importtype_vec_delete(&imports);
  WasmVec<WasmExportType*> exports;
  api.wasmtime_module_exports(module, &exports);
  for (size_t i = 0; i < exports.size; ++i) {
    const WasmExportType* one = exports.data[i];
    take_export(api, text(api.wasm_exporttype_name(one)), api.wasm_exporttype_type(one), facts);
  }
  api.wasm_exporttype_vec_delete(&exports);
  return facts;
}

bool can_be_called(const ModuleFacts& facts, worlds::Entry entry) {
  const CallShape shape = facts.shape(entry);
  return facts.imports == 0 && facts.memory == ExportState::Right &&
         facts.alloc == ExportState::Right && facts.initialize != ExportState::WrongType &&
         shape != CallShape::Missing && shape != CallShape::WrongType;
}

std::vector<Complaint> complaints(const ModuleFacts& facts, worlds::Entry entry,
                                  uint32_t memory_pages) {
  std::vector<Complaint> found;
  if (facts.imports > 0) {
    complain(found, "module.imports",
             "it has " + std::to_string(facts.imports) + " imports, such as " + facts.first_import +
                 "; a module gets none");
  }
  check_export(found, facts.memory, "memory");
  check_export(found, facts.alloc, "alloc (i32) -> i32");
  if (facts.initialize == ExportState::WrongType)
    check_export(found, facts.initialize, "_initialize () -> ()");
  const std::string name = entry == worlds::Entry::Step ? "step" : "run";
  const CallShape shape = facts.shape(entry);
  if (shape == CallShape::Missing || shape == CallShape::WrongType) {
    check_export(found, shape == CallShape::Missing ? ExportState::Missing : ExportState::WrongType,
                 name + " (i32, i32) -> i64, (i32, i32) -> (i32, i32) or (i32, i32, i32) -> ()");
  }
  if (facts.memory_pages > memory_pages) {
    complain(found, "module.memory",
             "its memory begins with " + std::to_string(facts.memory_pages) +
                 " pages of 64 KiB; the limit is " + std::to_string(memory_pages));
  }
  return found;
}

}  // namespace pawl::wasm
