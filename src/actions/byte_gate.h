// ByteGate: counts bytes of one kind in memory, and tells whether there is room for more.
//
// One gate counts answers of actions that wait for the engine, another one parameters of running
// actions. While there are too many bytes, no action begins that would add to them: otherwise texts
// of many megabytes would accumulate in memory faster than they become durable.
//
// Thread: any.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

namespace pawl::actions {

class ByteGate {
 public:
  explicit ByteGate(size_t bytes_max) : bytes_max_(bytes_max) {}

  // The bytes count as long as this object lives.
  using Held = std::shared_ptr<const void>;
  static Held hold(const std::shared_ptr<ByteGate>& gate, size_t bytes);

  bool open() const;
  void wait_until_open();
  void stop();  // open from now on, regardless of the bytes

 private:
  void change(size_t more, size_t less);

  const size_t bytes_max_;
  mutable std::mutex mutex_;
  std::condition_variable opens_;
  size_t bytes_ = 0;      // guarded by mutex_
  bool stopped_ = false;  // guarded by mutex_
};

}  // namespace pawl::actions
