// Wakes: the readers to wake after the last of several messages was sent. A sender that passes one
// Wakes with all its messages wakes every reader only once.
//
// Thread: the sender's. Keep it short-lived: its readers may sleep until it is destroyed.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

namespace pawl {

class Sleeper {
 public:
  virtual ~Sleeper() = default;
  virtual void wake_if_sleeping() = 0;
};

class Wakes {
 public:
  Wakes() = default;
  Wakes& operator=(Wakes&&) = delete;
  ~Wakes() {
    for (const auto& sleeper : owed_) sleeper->wake_if_sleeping();
  }

  void owe(const std::shared_ptr<Sleeper>& sleeper) {
    if (std::find(owed_.begin(), owed_.end(), sleeper) == owed_.end()) owed_.push_back(sleeper);
  }

 private:
  std::vector<std::shared_ptr<Sleeper>> owed_;
};

}  // namespace pawl
