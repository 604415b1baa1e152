// StopSignal: tells a running action to end, because it was cancelled or its time is up. Any thread
// raises it; the action checks it, or polls its descriptor.
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

  // Readable once raised. Created on the first call, so that waiting actions use no descriptor; -1
  // if the process has none left.
  int descriptor();

 private:
  std::atomic<bool> raised_{false};
  Time deadline_;
  std::mutex mutex_;
  FileHandle event_;  // guarded by mutex_
};

}  // namespace pawl::actions
