// InstanceNames: the ids that the program chose for unfinished instances; all others use their run
// id. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>

namespace pawl::embed {

class InstanceNames {
 public:
  void add(const std::string& run, const std::string& name) {
    if (run == name) return;
    std::lock_guard lock(mutex_);
    names_[run] = name;
  }
  void forget(const std::string& run) {
    std::lock_guard lock(mutex_);
    names_.erase(run);
  }
  std::string of(const std::string& run) const {
    std::lock_guard lock(mutex_);
    auto at = names_.find(run);
    return at == names_.end() ? run : at->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> names_;  // guarded by mutex_: run → name
};

}  // namespace pawl::embed
