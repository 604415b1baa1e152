// ReplyRoom: how many bytes of stored values one reply may gather. A run or a workflow may hold
// hundreds of megabytes, and its reply is rendered on the engine thread: values beyond the room are
// left out, the reply says so (`…_omitted`, or a cursor), and a call of its own gives each of them.
//
// Ask with the size, before the value is read: what is left out costs nothing.
#pragma once

#include <cstddef>

namespace pawl {

constexpr size_t kReplyBytesMax = 16u << 20;
constexpr size_t kReplyBytesSmall = 1u << 20;
constexpr size_t kPageBytesMax = 4u << 20;        // of a list: the entry that passes it is the last
constexpr size_t kReplyReadBytesMax = 64u << 20;  // of jobs: arguments and result are in one row

class ReplyRoom {
 public:
  explicit ReplyRoom(size_t bytes_max = kReplyBytesMax) : bytes_max_(bytes_max) {}

  // Whether there is room for a value of this size; then it is taken. As long as the others are
  // small it always is: a value that is larger than the room must be readable somewhere.
  bool takes(size_t bytes) {
    if (bytes > left() && taken_ > kReplyBytesSmall) return full_ = true, false;
    taken_ += bytes;
    return true;
  }
  size_t left() const { return bytes_max_ - (taken_ < bytes_max_ ? taken_ : bytes_max_); }
  size_t taken() const { return taken_; }
  // A job of so many bytes was read.
  void read(size_t bytes) { read_ += bytes; }
  // No further one should be.
  bool read_enough() const { return read_ >= kReplyReadBytesMax; }
  // A list ends here, although a smaller entry might still have room.
  bool full() const { return full_ || read_enough(); }

 private:
  const size_t bytes_max_;
  size_t taken_ = 0;
  size_t read_ = 0;
  bool full_ = false;
};

}  // namespace pawl
