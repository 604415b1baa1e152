#include "wasm/testing/wat.h"

#include <cstdio>
#include <cstdlib>

#include "wasm/wasmtime_library.h"

namespace pawl::wasm::testing {

std::string wat(std::string_view text) {
  static const WasmtimeApi kApi = load_wasmtime("").value();
  WasmBytes bytes;
  if (WasmError* error = kApi.wasmtime_wat2wasm(text.data(), text.size(), &bytes)) {
    std::fprintf(stderr, "%s\n", take_message(kApi, error).c_str());
    std::abort();
  }
  std::string wasm(bytes.data, bytes.size);
  kApi.wasm_byte_vec_delete(&bytes);
  return wasm;
}

}  // namespace pawl::wasm::testing
