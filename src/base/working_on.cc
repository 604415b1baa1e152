#include "base/working_on.h"

#include <signal.h>

#include <cstdlib>

namespace pawl {
namespace {

constexpr size_t kHandlerStackBytes = 64 * 1024;

std::atomic<WorkSlot*> all_slots{nullptr};
std::atomic<size_t> slot_count{0};

WorkSlot* take_slot() {
  WorkSlot* slots = all_slots.load();
  for (size_t i = 0; slots != nullptr && i < slot_count.load(); ++i) {
    uint32_t free = 0;
    if (slots[i].taken.compare_exchange_strong(free, 1)) return &slots[i];
  }
  return nullptr;
}

// Null if the thread has a handler stack already (a sanitizer's), or if there is no memory.
void* give_handler_stack() {
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return nullptr;
  void* memory = std::malloc(kHandlerStackBytes);
  if (memory == nullptr) return nullptr;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kHandlerStackBytes;
  if (::sigaltstack(&stack, nullptr) == 0) return memory;
  std::free(memory);
  return nullptr;
}

}  // namespace

constinit thread_local WorkSlot* work_slot = nullptr;

void set_work_slots(WorkSlot* slots, size_t count) {
  slot_count = count;
  all_slots = slots;
}

WatchedThread::WatchedThread() {
  if (work_slot != nullptr) return;
  work_slot = take_slot();
  if (work_slot == nullptr) return;
  mine_ = true;
  stack_ = give_handler_stack();
}

WatchedThread::~WatchedThread() {
  if (!mine_) return;
  WorkSlot* slot = work_slot;
  work_slot = nullptr;
  if (all_slots.load() != nullptr) {
    slot->kind.store(0);
    slot->command.store(0);
    slot->taken.store(0);
  }
  if (stack_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
  std::free(stack_);
}

}  // namespace pawl
