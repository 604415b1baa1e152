// DemoServer: this program as a server in a separate process, on a free port, so that it can be
// killed.
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
  DemoServer& operator=(DemoServer&&) = delete;

  // Returns when it answers. Unavailable, with its error output, if it exits before.
  Status start();
  void kill_hard();  // kill -9
  void stop();       // SIGTERM: it finishes open requests

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
