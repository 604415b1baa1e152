// StopSignal: how a running action learns that it should end, because it was cancelled or because
// its time is up. Any thread raises it; the action looks, or polls its descriptor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "actions/file_handle.h"

namespace pawl::actions {

class StopSignal {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // timeout_ms 0 = no limit.
  explicit StopSignal(int64_t timeout_ms = 0);

  void raise();
  bool raised() const { return raised_; }
  bool expired() const { return std::chrono::steady_clock::now() >= deadline_; }
  bool should_stop() const { return raised() || expired(); }
  Time deadline() const { return deadline_; }  // Time::max() without a limit

  // Readable once raised. Made on the first call, so that those who wait in a queue cost none; -1
  // if the process has no descriptors left.
  int descriptor();

 private:
  std::atomic<bool> raised_{false};
  Time deadline_;
  std::mutex mutex_;
  FileHandle event_;  // guarded by mutex_
};

}  // namespace pawl::actions
