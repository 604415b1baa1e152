// DemoServer: this very program serving in a process of its own, on a free port, so that it can be
// killed like any other server.
//
// Thread: one at a time; port() from any.
#pragma once

#include <atomic>
#include <string>

#include "base/result.h"

namespace pawl::cli {

class DemoServer {
 public:
  explicit DemoServer(std::string data_dir) : data_dir_(std::move(data_dir)) {}
  ~DemoServer();
  DemoServer(const DemoServer&) = delete;
  DemoServer& operator=(const DemoServer&) = delete;

  // Returns when it answers. Unavailable, with what it complained about, if it ends before.
  Status start();
  void kill_hard();  // kill -9, and it is gone
  void stop();       // SIGTERM: it finishes what it does

  int pid() const { return pid_; }
  int port() const { return port_.load(std::memory_order_acquire); }  // 0 while it is down

 private:
  std::string last_words() const;
  void end(int signal);

  std::string data_dir_;
  int pid_ = 0;
  int output_ = -1;
  std::atomic<int> port_{0};
};

}  // namespace pawl::cli
