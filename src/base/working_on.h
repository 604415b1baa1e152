// WorkingOn: for whom a thread works at this moment, told in a few plain stores. If the process
// dies, what was written there tells the next one whose work killed it (engine/crash_book.h).
//
// A thread that wants to be watched makes a WatchedThread; one that is not costs a load per call.
// Nothing here is ever read by a decision: what is written changes no answer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/uuid.h"

namespace pawl {

// What is done for it. The numbers are in a file.
enum class WorkKind : uint32_t {
  None = 0,
  Decision = 1,     // an input is decided, an expression evaluated
  Fold = 2,         // an event of the journal is applied
  Preparation = 3,  // an effect's parameters are filled in
  Start = 4,        // an effect is begun
  Action = 5,       // an effect is carried out; it may wait for the outside for long
};

// One thread's, in shared memory. Written by that thread alone; `seen` and `beats` by the one that
// watches.
struct WorkSlot {
  std::atomic<uint64_t> id_hi{0};
  std::atomic<uint64_t> id_lo{0};
  std::atomic<uint64_t> sequence{0};  // of the event that is folded
  std::atomic<uint64_t> serial{0};    // counts what was begun here
  std::atomic<uint64_t> seen{0};      // the serial at the last beat
  std::atomic<uint32_t> beats{0};     // how many beats it has been that one
  std::atomic<uint32_t> kind{0};
  std::atomic<uint32_t> taken{0};
  std::atomic<int32_t> command{0};  // group of the processes that this thread runs; 0: none
  uint32_t unused[2] = {0, 0};
};
static_assert(sizeof(WorkSlot) == 64 && std::atomic<uint64_t>::is_always_lock_free);

extern constinit thread_local WorkSlot* work_slot;  // null: nobody watches this thread

// Where threads find a slot from now on. Call before they start, and with null after they ended.
void set_work_slots(WorkSlot* slots, size_t count);

// Gives this thread a slot, and a stack for the handler of a fatal signal, so that one that has
// used up its own is told too. Without slots, or when all are taken, it does nothing.
class WatchedThread {
 public:
  WatchedThread();
  ~WatchedThread();
  WatchedThread(const WatchedThread&) = delete;
  WatchedThread& operator=(const WatchedThread&) = delete;

 private:
  bool mine_ = false;
  void* stack_ = nullptr;
};

// Processes that this thread runs until the end of the scope. Their group is told by the first of
// them before it becomes the program, which may have ended the server before this thread goes on.
class WorkingCommand {
 public:
  WorkingCommand() : slot_(work_slot) {}
  ~WorkingCommand() { tell(0); }
  WorkingCommand(const WorkingCommand&) = delete;
  WorkingCommand& operator=(const WorkingCommand&) = delete;

  void tell(int32_t group) {
    if (slot_ != nullptr) slot_->command.store(group, std::memory_order_relaxed);
  }

 private:
  WorkSlot* slot_;
};

// What this thread does until the end of the scope, and for which run or job.
class WorkingOn {
 public:
  WorkingOn(WorkKind kind, const Uuid& id, uint64_t sequence = 0) : slot_(work_slot) {
    if (slot_ == nullptr) return;
    keep();
    set(static_cast<uint32_t>(kind), id.hi, id.lo, sequence);
  }
  // The same work, now for this one.
  explicit WorkingOn(const Uuid& id) : slot_(work_slot) {
    if (slot_ == nullptr) return;
    keep();
    set(kind_, id.hi, id.lo, sequence_);
  }
  ~WorkingOn() {
    if (slot_ != nullptr) set(kind_, id_hi_, id_lo_, sequence_);
  }
  WorkingOn(const WorkingOn&) = delete;
  WorkingOn& operator=(const WorkingOn&) = delete;

 private:
  void keep() {
    id_hi_ = slot_->id_hi.load(std::memory_order_relaxed);
    id_lo_ = slot_->id_lo.load(std::memory_order_relaxed);
    sequence_ = slot_->sequence.load(std::memory_order_relaxed);
    kind_ = slot_->kind.load(std::memory_order_relaxed);
  }
  void set(uint32_t kind, uint64_t hi, uint64_t lo, uint64_t sequence) {
    slot_->id_hi.store(hi, std::memory_order_relaxed);
    slot_->id_lo.store(lo, std::memory_order_relaxed);
    slot_->sequence.store(sequence, std::memory_order_relaxed);
    slot_->kind.store(kind, std::memory_order_relaxed);
    slot_->serial.store(slot_->serial.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  }

  WorkSlot* slot_;
  uint64_t id_hi_ = 0;
  uint64_t id_lo_ = 0;
  uint64_t sequence_ = 0;
  uint32_t kind_ = 0;
};

}  // namespace pawl
