// WorkPool: a few threads for work that would block the calling thread, with a bounded queue in
// front of them.
//
// Work waits in lanes: one per client (Call::lane()), or a single one if all are equal. Lanes are
// served in turn, so a client that floods the pool delays only itself; with lane_running_max below
// `threads` it cannot occupy all threads either, and with lane_waiting_max it cannot fill the
// queue.
//
// How to use it from an I/O thread: move the data of the work into the function (http::Request and
// Responder may be moved to any thread), and if run() refuses, answer with its error:
//
//   auto shared = std::make_shared<Call>(std::move(call));
//   std::function<void()> work = [&app, shared] { …; shared->answer(…); };
//   if (Status taken = pool.run(work, lane); !taken.ok()) shared->fail(taken.error());
//
// Do small work on the calling thread: handing over costs two context switches. Decide by bytes.
//
// Thread: any. stop() (and the destructor) waits for running work, drops waiting work and joins;
// dropped work is destroyed on the stopping thread. Exceptions are logged.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"

namespace pawl {

struct WorkPoolOptions {
  size_t threads = 2;
  size_t waiting_max = 256;            // of all lanes together
  size_t lane_waiting_max = SIZE_MAX;  // of one lane
  size_t lane_running_max = SIZE_MAX;  // of one lane at a time
  bool background = false;             // lower priority than other threads
  std::string_view name = "work";      // in error messages: "too many reads are waiting"
};

class WorkPool {
 public:
  explicit WorkPool(const WorkPoolOptions& options);
  WorkPool& operator=(WorkPool&&) = delete;
  ~WorkPool();

  // On an error the work was not taken: Overloaded when too many wait, RateLimited when too many of
  // this lane wait, Unavailable after stop().
  Status run(std::function<void()>& work, std::string_view lane = {});
  void stop();

  size_t waiting() const;

 private:
  struct Lane {
    std::string name;
    std::deque<std::function<void()>> waiting;
    size_t running = 0;
  };
  using Lanes = std::list<Lane>;  // in the order of their turns; lanes without work are erased

  void serve();
  Lanes::iterator next_lane();  // the next lane with work that may run
  Lanes::iterator find_or_add(std::string_view lane);
  void drop_if_idle(Lanes::iterator lane);

  const WorkPoolOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  Lanes lanes_;                                                // guarded by mutex_
  std::map<std::string, Lanes::iterator, std::less<>> index_;  // guarded by mutex_
  size_t waiting_ = 0;                                         // guarded by mutex_
  bool stopping_ = false;                                      // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace pawl
