// AgentPool: agents inside the process, as workers of the engine's queues.
//
// One thread leases tasks and keeps the leases alive; each agent has its own threads that take the
// oldest task they can do. A task without a matching agent is held until one is added: agents may
// be added in any order. The queue does not retry failed tasks (see definition_text.h): the step's
// own retry policy decides. After a crash leases expire after kLeaseMs; then the task is leased
// again.
//
// Threads: start() once; finish() and then, after the engine has stopped, join(); the rest by any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "pawl/calls.h"
#include "runtime/runtime.h"

namespace pawl::embed {

class AgentPool {
 public:
  static constexpr int64_t kLeaseMs = 30'000;

  AgentPool(Runtime& runtime, bool one_at_a_time);
  ~AgentPool();

  Status add(Agent agent);
  // Waits for its current task, so an agent must not call it on itself. False if there is none.
  bool remove(const std::string& id);

  void start();
  // Waits for running tasks, returns the others to their queue, and takes no more.
  void finish();
  void join();

 private:
  struct Held;
  struct Member;
  using HeldPtr = std::shared_ptr<Held>;

  void run_fetcher();
  bool wait_out_outage();
  uint32_t idle_threads() const;  // with the mutex held
  uint32_t wait_for_idle(std::vector<std::string>& queues);
  std::optional<Parking> fetch(Frame& frame, bool last_call, const std::vector<std::string>& queues,
                               uint32_t count, std::vector<HeldPtr>& out);
  void renew_leases(Frame& frame);
  void run_member(Member& member);
  HeldPtr take_for(const Member& member);
  void execute(const Member& member, Held& held);
  void give_back_waiting();
  static void end_threads(Member& member);

  Runtime& runtime_;
  const bool one_at_a_time_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::unique_ptr<Member>> members_;  // guarded by mutex_
  std::deque<HeldPtr> waiting_;                             // guarded by mutex_
  std::set<HeldPtr> working_;                               // guarded by mutex_
  std::atomic<bool> finishing_{false};
  int64_t renewed_ms_ = 0;  // of the engine's thread
  std::thread fetcher_;
};

}  // namespace pawl::embed
