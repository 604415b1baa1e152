// MadeSoFar: the texts that a run assembles over several frames: those of earlier frames, which are
// not copied, and those of this frame.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

class MadeSoFar {
 public:
  explicit MadeSoFar(const std::vector<std::string>& before) : before_(before) {
    for (const std::string& each : before) bytes_ += each.size();
  }

  size_t size() const { return before_.size() + added_.size(); }
  size_t bytes() const { return bytes_; }
  const std::string& operator[](size_t i) const {
    return i < before_.size() ? before_[i] : added_[i - before_.size()];
  }
  void add(std::string text) {
    bytes_ += text.size();
    added_.push_back(std::move(text));
  }
  std::vector<std::string> take_added() { return std::move(added_); }

 private:
  const std::vector<std::string>& before_;
  std::vector<std::string> added_;
  size_t bytes_ = 0;
};

}  // namespace pawl
