// LoadedModules: compiled modules by the hash of their code, as many as fit into a bound of bytes;
// the least recently used go first. Each is compiled once, however many threads ask for it at the
// same time.
//
// Any thread.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "wasm/engine.h"
#include "wasm/module_facts.h"

namespace pawl::wasm {

struct LoadedModule {
  ModuleFacts facts;
  Owned<WasmModule> module;
  Owned<WasmInstancePre> pre;
  size_t bytes = 0;

  ~LoadedModule();
};
using LoadedModulePtr = std::shared_ptr<const LoadedModule>;

class LoadedModules {
 public:
  explicit LoadedModules(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Null: it is not here.
  LoadedModulePtr find(std::string_view hash);
  // That, or what `load` gives, which is then kept. A second caller waits for the first one's load.
  Result<LoadedModulePtr> find_or(std::string_view hash,
                                  FunctionRef<Result<LoadedModulePtr>()> load);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Entry {
    LoadedModulePtr module;
    std::list<const std::string*>::iterator use;
  };

  LoadedModulePtr find_locked(std::string_view hash);
  void keep_locked(const std::string& hash, const LoadedModulePtr& module,
                   std::vector<LoadedModulePtr>& dropped);

  const size_t bytes_max_;
  std::mutex mutex_;
  std::condition_variable loaded_;
  std::set<std::string, std::less<>> loading_;
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_;
  std::list<const std::string*> uses_;  // the latest first; keys of the entries
  size_t bytes_ = 0;
};

}  // namespace pawl::wasm
