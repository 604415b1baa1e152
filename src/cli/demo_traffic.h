// DemoTraffic: clients of a cluster that call any of its nodes, each time another one, and try
// again elsewhere what was not answered: pushes and workflows under an Idempotency-Key, so that
// this does nothing twice. It keeps what was acknowledged.
//
// Thread: one at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/demo_server.h"

namespace pawl::cli {

using DemoNodes = std::vector<std::unique_ptr<DemoServer>>;

struct DemoCounts {
  size_t pushed = 0;     // jobs that were acknowledged
  size_t workflows = 0;  // that were acknowledged
  size_t completed = 0;  // jobs whose end was acknowledged to a worker
  size_t callbacks = 0;  // that workers did
  size_t doubled = 0;    // jobs or callbacks that were done and acknowledged twice
  std::chrono::milliseconds longest_pause{0};  // between two acknowledged pushes
};

class DemoTraffic {
 public:
  DemoTraffic(const DemoNodes& nodes, size_t pushers, size_t workers);
  ~DemoTraffic();
  DemoTraffic& operator=(DemoTraffic&&) = delete;

  void stop_pushing();
  // Whether workers have ended everything that was acknowledged.
  bool all_done() const;
  DemoCounts counts() const;
  std::vector<std::string> jobs() const;       // acknowledged ids
  std::vector<std::string> workflows() const;  // the same

 private:
  class Caller;
  void push(size_t number);
  void work(size_t number);
  void note_pushed(std::string id);
  void note_workflow(std::string id);
  void note_done(const std::string& id, const std::string& callback_of);
  void note_perhaps_done(const std::string& id, const std::string& callback_of);

  const DemoNodes& nodes_;
  std::atomic<bool> pushing_{true};
  std::atomic<bool> working_{true};
  mutable std::mutex mutex_;
  std::set<std::string> pushed_;  // guarded by mutex_, as all below
  std::set<std::string> workflows_;
  std::map<std::string, size_t> done_;       // by job; 0: perhaps
  std::map<std::string, size_t> callbacks_;  // by workflow's tag
  std::chrono::steady_clock::time_point last_push_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds longest_pause_{0};
  std::vector<std::thread> pushers_, workers_;
};

}  // namespace pawl::cli
