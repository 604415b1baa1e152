// The modules of tests/worlds/modules, as compiled.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::wasm::testing {

// Nothing: it was not compiled, for want of a clang for WebAssembly (tools/setup modules).
std::optional<std::string> module_file(std::string_view name);

}  // namespace pawl::wasm::testing
