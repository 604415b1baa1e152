#include "wasm/loaded_modules.h"

#include <utility>

#include "wasm/compile.h"

namespace pawl::wasm {

LoadedModule::~LoadedModule() {
  pre.reset();
  if (module != nullptr) drop_module(std::move(module));
}

LoadedModulePtr LoadedModules::find(std::string_view hash) {
  const std::lock_guard lock(mutex_);
  return find_locked(hash);
}

LoadedModulePtr LoadedModules::find_locked(std::string_view hash) {
  const auto found = entries_.find(hash);
  if (found == entries_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return found->second.module;
}

Result<LoadedModulePtr> LoadedModules::find_or(std::string_view hash,
                                               FunctionRef<Result<LoadedModulePtr>()> load) {
  std::unique_lock lock(mutex_);
  loaded_.wait(lock, [&] { return loading_.find(hash) == loading_.end(); });
  if (LoadedModulePtr here = find_locked(hash)) return here;
  const std::string name(hash);
  loading_.insert(name);
  lock.unlock();
  Result<LoadedModulePtr> result = load();
  std::vector<LoadedModulePtr> dropped;  // after the lock: to delete a module takes a while
  lock.lock();
  loading_.erase(name);
  if (result.ok()) keep_locked(name, *result, dropped);
  lock.unlock();
  loaded_.notify_all();
  return result;
}

void LoadedModules::keep_locked(const std::string& hash, const LoadedModulePtr& module,
                                std::vector<LoadedModulePtr>& dropped) {
  const auto [entry, added] = entries_.try_emplace(hash);
  if (!added) return;
  uses_.push_front(&entry->first);
  entry->second = {module, uses_.begin()};
  bytes_ += module->bytes;
  while (bytes_ > bytes_max_ && uses_.size() > 1) {
    const auto oldest = entries_.find(*uses_.back());
    bytes_ -= oldest->second.module->bytes;
    dropped.push_back(std::move(oldest->second.module));
    uses_.pop_back();
    entries_.erase(oldest);
  }
}

}  // namespace pawl::wasm
