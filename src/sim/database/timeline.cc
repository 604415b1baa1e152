#include "sim/database/timeline.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace pawl::sim {

struct Fiber {
  Group& group;
  Timeline::Work body;
  void* stack = nullptr;
  ucontext_t context{};
  uint64_t turn = 0;  // of its waits: a wake-up for an earlier one comes too late
  bool over = false;
  void* fake_stack = nullptr;
};

namespace {

// What AddressSanitizer must know of a change of stacks.
struct StackSwitch {
#if defined(__SANITIZE_ADDRESS__)
  static inline const void* main_bottom = nullptr;
  static inline size_t main_size = 0;
  static void to_fiber(void** keep, void* stack, size_t size) {
    __sanitizer_start_switch_fiber(keep, stack, size);
  }
  static void to_main(void** keep) { __sanitizer_start_switch_fiber(keep, main_bottom, main_size); }
  static void in_fiber(void* kept) {
    __sanitizer_finish_switch_fiber(kept, &main_bottom, &main_size);
  }
  static void in_main(void* kept) { __sanitizer_finish_switch_fiber(kept, nullptr, nullptr); }
#else
  static void to_fiber(void**, void*, size_t) {}
  static void to_main(void**) {}
  static void in_fiber(void*) {}
  static void in_main(void*) {}
#endif
};

}  // namespace

Timeline::~Timeline() {
  PAWL_CHECK(fibers_.empty());
  for (void* stack : stacks_) ::munmap(stack, kStackBytes);
}

void* Timeline::take_stack() {
  if (!stacks_.empty()) {
    void* stack = stacks_.back();
    stacks_.pop_back();
    return stack;
  }
  void* stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  PAWL_CHECK(stack != MAP_FAILED);
  PAWL_CHECK(::mprotect(stack, 4096, PROT_NONE) == 0);  // overflowing it ends the program
  return stack;
}

void Timeline::after(int64_t us, Work work) {
  due_.emplace(std::pair(now_us_ + us, ++order_), std::move(work));
}

void Timeline::enter(unsigned high, unsigned low) {
  reinterpret_cast<Timeline*>(uintptr_t{high} << 32 | low)->run_fiber();
}

void Timeline::run_fiber() {
  Fiber& fiber = *current_;
  StackSwitch::in_fiber(nullptr);
  fiber.body();
  fiber.body = nullptr;
  fiber.over = true;
  StackSwitch::to_main(nullptr);
  ::swapcontext(&fiber.context, &main_);
}

void Timeline::start(Group& group, Work body) {
  fibers_.push_back(std::make_shared<Fiber>(group, std::move(body)));
  Fiber& fiber = *fibers_.back();
  ++group.fibers;
  fiber.stack = take_stack();
  ::getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  ::makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Timeline::enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  schedule(fibers_.back(), 0);
}

// For the wait that it is in now.
void Timeline::schedule(const std::shared_ptr<Fiber>& fiber, int64_t us) {
  after(us, [this, fiber, turn = fiber->turn] {
    if (fiber->over || fiber->turn != turn) return;
    if (fiber->group.frozen && !fiber->group.ended) {
      fiber->group.held_up.push_back(fiber);
    } else {
      resume(fiber);
    }
  });
}

void Timeline::resume(const std::shared_ptr<Fiber>& fiber) {
  PAWL_CHECK(current_ == nullptr);
  current_ = fiber;
  ++fiber->turn;
  void* kept = nullptr;
  StackSwitch::to_fiber(&kept, fiber->stack, kStackBytes);
  ::swapcontext(&main_, &fiber->context);
  StackSwitch::in_main(kept);
  current_ = nullptr;
  if (!fiber->over) return;
  --fiber->group.fibers;
  stacks_.push_back(std::exchange(fiber->stack, nullptr));
  std::erase(fibers_, fiber);
}

void Timeline::give_way() {
  Fiber& fiber = *current_;  // resume() holds it
  StackSwitch::to_main(&fiber.fake_stack);
  ::swapcontext(&fiber.context, &main_);
  StackSwitch::in_fiber(fiber.fake_stack);
}

void Timeline::run_until(int64_t us) {
  PAWL_CHECK(current_ == nullptr);
  while (!due_.empty() && due_.begin()->first.first <= us) {
    auto first = due_.extract(due_.begin());
    now_us_ = std::max(now_us_, first.key().first);
    first.mapped()();
  }
  now_us_ = std::max(now_us_, us);
}

void Timeline::thaw(Group& group) {
  group.frozen = false;
  for (const auto& fiber : std::exchange(group.held_up, {})) schedule(fiber, 0);
}

void Timeline::end(Group& group) {
  group.ended = true;
  group.frozen = false;
  group.held_up.clear();
  for (const auto& fiber : fibers_)
    if (&fiber->group == &group) schedule(fiber, 0);
}

bool Timeline::sleep(int64_t us) {
  const std::shared_ptr<Fiber> fiber = current_;
  schedule(fiber, fiber->group.ended ? 0 : us);
  give_way();
  return !fiber->group.ended;
}

Timeline::Ticket Timeline::ticket() {
  waiting_.emplace(++tickets_, current_);
  return tickets_;
}

bool Timeline::wait(Ticket ticket, int64_t us_max) {
  const std::shared_ptr<Fiber> fiber = current_;
  if (waiting_.at(ticket) != nullptr) {
    schedule(fiber, fiber->group.ended ? 0 : us_max);
    give_way();
  }
  const bool woken = waiting_.at(ticket) == nullptr;
  waiting_.erase(ticket);
  return woken;
}

void Timeline::wake(Ticket ticket) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end() || found->second == nullptr) return;
  const auto fiber = std::exchange(found->second, nullptr);
  if (fiber != current_) schedule(fiber, 0);
}

}  // namespace pawl::sim
