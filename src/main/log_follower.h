// LogFollower: writes the messages of `workflow.log` steps to the server's log.
//
// The step is decided in the engine, which logs nothing: it writes an event. LogFollower follows
// the journal and writes a line for each such event once it is durable, on its own thread, since a
// blocked log must not delay commits. Beyond kWaitingMax waiting records lines are counted and
// dropped; the events stay.
//
// An event never holds a secret, so neither does a line. Control characters are escaped (base/log),
// and long texts are cut.
//
// Threads: created and stopped by one.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "engine/engine.h"

namespace pawl {

class LogFollower {
 public:
  static constexpr size_t kWaitingMax = 1'000;
  static constexpr size_t kTextBytesMax = 8 * 1024;

  explicit LogFollower(EngineLoop& engine);
  LogFollower& operator=(LogFollower&&) = delete;
  ~LogFollower() { stop(); }

  void stop();  // writes waiting lines first

 private:
  using Record = std::pair<uint64_t, std::shared_ptr<const std::string>>;

  void take(uint64_t number, const std::shared_ptr<const std::string>& record);
  void run();
  static void write(const Record& record);

  EngineLoop& engine_;
  uint64_t listener_ = 0;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Record> waiting_;  // guarded by mutex_
  uint64_t lost_ = 0;           // guarded by mutex_: records since the last line
  bool stopping_ = false;       // guarded by mutex_
  std::thread thread_;
};

}  // namespace pawl
