#include "actions/byte_gate.h"

namespace pawl::actions {

ByteGate::Held ByteGate::hold(const std::shared_ptr<ByteGate>& gate, size_t bytes) {
  if (bytes == 0) return nullptr;
  gate->change(bytes, 0);
  return Held(gate.get(), [gate, bytes](const void*) { gate->change(0, bytes); });
}

bool ByteGate::open() const {
  std::lock_guard lock(mutex_);
  return stopped_ || bytes_ < bytes_max_;
}

void ByteGate::wait_until_open() {
  std::unique_lock lock(mutex_);
  opens_.wait(lock, [&] { return stopped_ || bytes_ < bytes_max_; });
}

void ByteGate::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  opens_.notify_all();
}

void ByteGate::change(size_t more, size_t less) {
  std::lock_guard lock(mutex_);
  const bool was_closed = bytes_ >= bytes_max_;
  bytes_ += more - less;
  if (was_closed && bytes_ < bytes_max_) opens_.notify_all();
}

}  // namespace pawl::actions
