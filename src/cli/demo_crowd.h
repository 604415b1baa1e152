// DemoCrowd: correct workers. Each keeps the result of a job until a server has accepted or refused
// it, also across crashes of the server.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cli/demo_server.h"

namespace pawl::cli {

class DemoCrowd {
 public:
  DemoCrowd(const DemoServer& server, size_t workers, std::chrono::milliseconds work);
  ~DemoCrowd();
  DemoCrowd& operator=(DemoCrowd&&) = delete;

  size_t executed() const { return executed_; }
  size_t accepted() const { return accepted_; }  // results that a server took
  size_t at_work() const { return at_work_; }

 private:
  void run(size_t number);

  const DemoServer& server_;
  std::chrono::milliseconds work_;
  std::atomic<bool> stopping_{false};
  std::atomic<size_t> executed_{0};
  std::atomic<size_t> accepted_{0};
  std::atomic<size_t> at_work_{0};
  std::vector<std::thread> threads_;
};

}  // namespace pawl::cli
