// OutQueue: bytes waiting to be sent on one connection. Small pieces are copied together so that
// one system call sends many answers; large bodies are moved in and never copied.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::http {

class OutQueue {
 public:
  // Where the next small piece may be appended. Call grew() afterwards.
  std::string& tail();
  void grew();

  void append(std::string_view bytes);
  void append(std::string&& bytes);

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // Fills `vectors` from the front and returns how many it filled.
  size_t gather(std::span<iovec> vectors) const;
  void consume(size_t bytes);

 private:
  void drop_sent();

  std::vector<std::string> pieces_;
  size_t first_ = 0;   // pieces before it are sent
  size_t offset_ = 0;  // sent bytes of pieces_[first_]
  size_t size_ = 0;
  size_t tail_before_ = 0;
};

}  // namespace pawl::http
