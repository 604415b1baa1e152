// OwnIncarnation: under which incarnation this process takes part in its cluster. Another one once
// the node has entered anew: batches then tell it, and those for the former one are refused. Copies
// share it, so all links of a process change together. Thread: any.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::link {

class OwnIncarnation {
 public:
  OwnIncarnation(std::string text = {}) : shared_(std::make_shared<Shared>()) {
    shared_->text = std::move(text);
  }
  OwnIncarnation(const char* text) : OwnIncarnation(std::string(text)) {}

  std::string now() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->text;
  }
  bool is(std::string_view text) const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->text == text;
  }
  void change(std::string text) {
    const std::lock_guard lock(shared_->mutex);
    shared_->text = std::move(text);
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::string text;  // guarded by mutex
  };

  std::shared_ptr<Shared> shared_;
};

}  // namespace pawl::link
