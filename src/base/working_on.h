// WorkingOn: records in a few plain stores which run, job or world a thread works on. If the
// process dies, the next process reads there whose work killed it (engine/crash_book.h).
//
// A thread to be watched creates a WatchedThread; in other threads a call costs one load. No
// decision reads these records, so they change no answer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/uuid.h"

namespace pawl {

// The kind of work. The numbers are stored in a file.
enum class WorkKind : uint32_t {
  None = 0,
  Decision = 1,     // an input is decided, an expression evaluated
  Fold = 2,         // an event of the journal is applied
  Preparation = 3,  // an effect's parameters are filled in
  Start = 4,        // an effect is begun
  Action = 5,       // an effect runs; it may wait long for a service
  World = 6,        // a module world is opened, read or stepped; a replay may take long
};

// One thread's record, in shared memory. Only that thread writes it, except `seen` and `beats`,
// which the watching thread writes.
struct WorkSlot {
  std::atomic<uint64_t> id_hi{0};
  std::atomic<uint64_t> id_lo{0};
  std::atomic<uint64_t> sequence{0};  // of the event being folded
  std::atomic<uint64_t> serial{0};    // counts pieces of work begun here
  std::atomic<uint64_t> seen{0};      // the serial at the last beat
  std::atomic<uint32_t> beats{0};     // for how many beats the serial has not changed
  std::atomic<uint32_t> kind{0};
  std::atomic<uint32_t> taken{0};
  std::atomic<int32_t> command{0};  // process group of the command that this thread runs; 0: none
  uint32_t unused[2] = {0, 0};
};
static_assert(sizeof(WorkSlot) == 64 && std::atomic<uint64_t>::is_always_lock_free);

extern constinit thread_local WorkSlot* work_slot;  // null: this thread is not watched

// Sets the slots that threads use from now on. Call before the threads start, and with null after
// they ended.
void set_work_slots(WorkSlot* slots, size_t count);

// Gives this thread a slot, and a stack for the handler of fatal signals, so that a stack overflow
// is recorded too. Without slots, or when all are taken, it does nothing.
class WatchedThread {
 public:
  WatchedThread();
  ~WatchedThread();
  WatchedThread& operator=(WatchedThread&&) = delete;

 private:
  bool mine_ = false;
  void* stack_ = nullptr;
};

// A command that this thread runs until the end of the scope. The child process records the group
// before it executes the program, because the program might kill the server before this thread
// continues.
class WorkingCommand {
 public:
  WorkingCommand() : slot_(work_slot) {}
  ~WorkingCommand() { tell(0); }
  WorkingCommand& operator=(WorkingCommand&&) = delete;

  void tell(int32_t group) {
    if (slot_ != nullptr) slot_->command.store(group, std::memory_order_relaxed);
  }

 private:
  WorkSlot* slot_;
};

// The kind of work of this thread until the end of the scope, and its run, job or world.
class WorkingOn {
 public:
  WorkingOn(WorkKind kind, const Uuid& id, uint64_t sequence = 0) : slot_(work_slot) {
    if (slot_ == nullptr) return;
    keep();
    set(static_cast<uint32_t>(kind), id.hi, id.lo, sequence);
  }
  // The same kind of work, now for this run or job.
  explicit WorkingOn(const Uuid& id) : slot_(work_slot) {
    if (slot_ == nullptr) return;
    keep();
    set(kind_, id.hi, id.lo, sequence_);
  }
  ~WorkingOn() {
    if (slot_ != nullptr) set(kind_, id_hi_, id_lo_, sequence_);
  }
  WorkingOn& operator=(WorkingOn&&) = delete;

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
