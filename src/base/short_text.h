// ShortText: a few bytes put together on the stack and appended to a string at once. Appending them
// one by one would cost a call and a check of the string's room for each.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"

namespace pawl {

template <size_t kMax>
class ShortText {
 public:
  static constexpr bool fits(size_t bytes) { return bytes <= kMax; }

  ShortText& put(char c) {
    PAWL_CHECK(size_ < kMax);
    bytes_[size_++] = c;
    return *this;
  }
  ShortText& put(std::string_view text) {
    PAWL_CHECK(text.size() <= kMax - size_);
    std::memcpy(bytes_ + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  void append_to(std::string& out) const { out.append(bytes_, size_); }

 private:
  char bytes_[kMax];
  size_t size_ = 0;
};

}  // namespace pawl
