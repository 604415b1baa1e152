#include "wasm/testing/module_file.h"

#include <fstream>
#include <sstream>

namespace pawl::wasm::testing {

std::optional<std::string> module_file(std::string_view name) {
  std::ifstream file(PAWL_MODULES "/" + std::string(name) + ".wasm", std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace pawl::wasm::testing
