// Timeline: simulated time, and what happens at its moments. Fibers are the threads of simulated
// processes: code that waits by calling a function runs in one, and gives way where it waits. One
// runs at a time, in an order that follows from times and the order of calls alone.
//
// Fibers belong to groups, the simulated processes. A frozen group does nothing until it is thawed;
// what it waited for has come long before. A group that is ended is not stopped: its fibers go on
// and are told so (Group::ended), and everything they ask of the world fails at once, so that they
// run to their ends and leave nothing behind.
//
// Thread: one.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace pawl::sim {

class Timeline;

struct Fiber;

struct Group {
  bool frozen = false;
  bool ended = false;
  int fibers = 0;                                    // that have not run to their ends
  std::vector<std::shared_ptr<Fiber>> held_up = {};  // due while it is frozen
};

class Timeline {
 public:
  using Work = std::function<void()>;

  explicit Timeline(int64_t start_us) : now_us_(start_us) {}
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  int64_t now_us() const { return now_us_; }
  int64_t now_ms() const { return now_us_ / 1000; }

  void after(int64_t us, Work work);
  // `group` lives longer than the fiber.
  void start(Group& group, Work body);
  // Does all that is due up to that moment, and stands there.
  void run_until(int64_t us);
  void thaw(Group& group);
  // Its fibers wake up wherever they wait.
  void end(Group& group);

  // --- within a fiber
  bool in_fiber() const { return current_ != nullptr; }
  // False: the group has ended meanwhile.
  bool sleep(int64_t us);
  // Waits for wake() of the ticket, or for so long; false: nobody woke it.
  using Ticket = uint64_t;
  Ticket ticket();
  bool wait(Ticket ticket, int64_t us_max);
  // From anywhere; a ticket that nobody waits with any more is no error.
  void wake(Ticket ticket);

 private:
  static constexpr size_t kStackBytes = size_t{1} << 20;

  void resume(const std::shared_ptr<Fiber>& fiber);
  void give_way();
  void run_fiber();
  static void enter(unsigned high, unsigned low);
  void schedule(const std::shared_ptr<Fiber>& fiber, int64_t us);
  void* take_stack();

  int64_t now_us_;
  uint64_t order_ = 0;
  std::map<std::pair<int64_t, uint64_t>, Work> due_;
  std::vector<std::shared_ptr<Fiber>> fibers_;        // that are not over
  std::map<Ticket, std::shared_ptr<Fiber>> waiting_;  // null: woken already
  Ticket tickets_ = 0;
  std::shared_ptr<Fiber> current_;
  ucontext_t main_{};
  std::vector<void*> stacks_;  // free ones
};

}  // namespace pawl::sim
