// DemoServer: this program as a server in a separate process, on a free port, so that it can be
// killed.
//
// Thread: one at a time; port() from any.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::cli {

class DemoServer {
 public:
  // `flags`: of `pawl serve`, beside --listen and --data. `port` 0: any free one, each time.
  explicit DemoServer(std::string data_dir, std::vector<std::string> flags = {}, int port = 0)
      : data_dir_(std::move(data_dir)), flags_(std::move(flags)), wanted_port_(port) {}
  ~DemoServer();
  DemoServer& operator=(DemoServer&&) = delete;

  // Returns when it answers. Unavailable, with its error output, if it exits before.
  Status start();
  void kill_hard();  // kill -9
  void stop();       // SIGTERM: it finishes open requests
  void freeze();     // SIGSTOP: it stands still, and its port takes connections
  void thaw();

  int pid() const { return pid_; }
  int port() const { return port_.load(std::memory_order_acquire); }  // 0 while it is down

 private:
  std::string last_words() const;
  void end(int signal);

  std::string data_dir_;
  std::vector<std::string> flags_;
  int wanted_port_;
  int pid_ = 0;
  int output_ = -1;
  std::atomic<int> port_{0};
};

}  // namespace pawl::cli
