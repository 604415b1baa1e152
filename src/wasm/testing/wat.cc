#include "wasm/testing/wat.h"

#include <cstdio>
#include <cstdlib>

#include "wasm/wasmtime_library.h"

namespace pawl::wasm::testing {

std::string wat(std::string_view text) {
  static const WasmtimeApi api = load_wasmtime("").value();
  WasmBytes bytes;
  if (WasmError* error = api.wasmtime_wat2wasm(text.data(), text.size(), &bytes)) {
    std::fprintf(stderr, "%s\n", take_message(api, error).c_str());
    std::abort();
  }
  std::string wasm(bytes.data, bytes.size);
  api.wasm_byte_vec_delete(&bytes);
  return wasm;
}

}  // namespace pawl::wasm::testing
