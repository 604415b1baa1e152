// ReplyRoom: bounds the bytes of stored values in one reply. A run or a workflow may hold hundreds
// of megabytes, and its reply is rendered on the engine thread: values beyond the room are omitted,
// the reply says so (`…_omitted`, or a cursor), and a separate call gives each of them.
//
// Ask with the size before the value is read: omitted values cost nothing.
#pragma once

#include <cstddef>

namespace pawl {

constexpr size_t kReplyBytesMax = 16u << 20;
constexpr size_t kReplyBytesSmall = 1u << 20;
constexpr size_t kPageBytesMax = 4u << 20;        // of a list: the entry that exceeds it is the
                                                  // last
constexpr size_t kReplyReadBytesMax = 64u << 20;  // of jobs: arguments and result are in one row

class ReplyRoom {
 public:
  explicit ReplyRoom(size_t bytes_max = kReplyBytesMax) : bytes_max_(bytes_max) {}

  // Reserves room for a value of this size; false if there is none. A value is always accepted
  // while the others are small: a value larger than the room must be readable somewhere.
  bool takes(size_t bytes) {
    if (bytes > left() && taken_ > kReplyBytesSmall) return full_ = true, false;
    taken_ += bytes;
    return true;
  }
  size_t left() const { return bytes_max_ - (taken_ < bytes_max_ ? taken_ : bytes_max_); }
  size_t taken() const { return taken_; }
  // Counts a job of this size that was read.
  void read(size_t bytes) { read_ += bytes; }
  // No further job should be read.
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
