// Alarm: calls functions when their time has come, for waits that nothing else ends. A function
// that was cancelled is not called; one that has begun is not waited for.
//
// Threads: one of its own, which makes the calls; everything else from any thread. What is called
// must not block.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace pawl::front {

class Alarm {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Alarm() : thread_([this] { run(); }) {}
  ~Alarm() { stop(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Afterwards nothing is called.
  void stop();

  uint64_t at(Time when, std::function<void()> call);
  uint64_t in(std::chrono::milliseconds delay, std::function<void()> call) {
    return at(std::chrono::steady_clock::now() + delay, std::move(call));
  }
  void cancel(uint64_t id);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wakes_;
  std::map<std::pair<Time, uint64_t>, std::function<void()>> calls_;  // guarded by mutex_
  std::map<uint64_t, Time> times_;                                    // guarded by mutex_
  uint64_t ids_ = 0;                                                  // guarded by mutex_
  bool ending_ = false;                                               // guarded by mutex_
  std::thread thread_;
};

}  // namespace pawl::front
