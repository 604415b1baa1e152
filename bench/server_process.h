// ServerProcess: one `pawl serve` as a child, in a data directory of its own. It dies with its
// owner, and the kernel kills it if the owner dies first: a broken run leaves no server behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http_client.h"

namespace pawl::bench {

// A fresh directory below `root`, removed with all its content at the end.
class ScratchDir {
 public:
  static Result<std::unique_ptr<ScratchDir>> create(const std::string& root);
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ScratchDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class ServerProcess {
 public:
  // Returns when the ready line was seen; fails with the tail of the server's output if it ends
  // before, or says nothing for ten minutes. Data and log stand below `directory` and outlive the
  // process, so a second start there is a restart. `flags`: of `serve`, beside --listen and --data.
  static Result<std::unique_ptr<ServerProcess>> start(const std::string& program,
                                                      const std::string& directory,
                                                      const std::vector<std::string>& flags = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  const Address& address() const { return address_; }
  std::chrono::nanoseconds time_to_ready() const { return time_to_ready_; }

  void kill_hard();  // SIGKILL, and waits until it is gone

 private:
  ServerProcess() = default;
  Status wait_ready(const std::string& log, size_t log_from);

  pid_t pid_ = -1;
  Address address_;
  std::chrono::nanoseconds time_to_ready_{};
};

}  // namespace pawl::bench
