#include "wasm/wasmtime_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "worlds/fault.h"

namespace pawl::wasm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "libwasmtime.so";
constexpr int kFoldersAbove = 5;  // build/src/wasm/wasm_test is three below the tree
constexpr size_t kMessageMax = 300;

Error no_runtime(const std::string& why) {
  return worlds::refusal(
      ErrorCode::Unavailable, "worlds.no_runtime",
      "modules need the WebAssembly runtime wasmtime " + std::string(kWasmtimeVersion) + ": " +
          why +
          "; `tools/setup wasm` in the source tree fetches it and `make install` installs it, or "
          "PAWL_WASMTIME names the file");
}

std::vector<std::string> places() {
  std::vector<std::string> files;
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) {
    files.push_back(folder / kFileName);
    files.push_back(folder.parent_path() / "lib" / "pawl" / kFileName);
    for (int above = 0; above < kFoldersAbove && folder.has_relative_path(); ++above) {
      folder = folder.parent_path();
      files.push_back(folder / ".cache" / (std::string("wasmtime-") + kWasmtimeVersion) /
                      kFileName);
    }
  }
  return files;
}

std::string find_library(const std::string& file) {
  if (!file.empty()) return file;
  if (const char* named = std::getenv("PAWL_WASMTIME"); named != nullptr && *named != '\0')
    return named;
  for (const std::string& place : places()) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) return place;
  }
  return kFileName;
}

template <class Function>
bool bind(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<WasmtimeApi> load_wasmtime(const std::string& file) {
  const std::string found = find_library(file);
  void* library = ::dlopen(found.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    if (found == kFileName) return no_runtime("it is not on this machine");
    const char* why = ::dlerror();
    return no_runtime(why != nullptr ? why : found + " cannot be loaded");
  }
  WasmtimeApi api;
  bool complete = ::dlsym(library, kWasmtimeVersionMark) != nullptr;
#define PAWL_WASMTIME_BIND(name, signature) complete = complete && bind(library, #name, api.name);
  PAWL_WASMTIME_FUNCTIONS(PAWL_WASMTIME_BIND)
#undef PAWL_WASMTIME_BIND
  if (!complete) return no_runtime(found + " is another version");
  return api;
}

std::string take_message(const WasmtimeApi& api, WasmError* error) {
  WasmBytes bytes;
  api.wasmtime_error_message(error, &bytes);
  api.wasmtime_error_delete(error);
  std::string message;
  for (char c : std::string_view(bytes.data, bytes.size)) {
    const bool blank = static_cast<unsigned char>(c) <= ' ';
    if (blank && (message.empty() || message.back() == ' ')) continue;
    if (message.size() == kMessageMax) break;
    message += blank ? ' ' : c;
  }
  // No half of a character at the end.
  while (!message.empty() && (message.back() & 0x80) != 0) message.pop_back();
  api.wasm_byte_vec_delete(&bytes);
  return message;
}

}  // namespace pawl::wasm
