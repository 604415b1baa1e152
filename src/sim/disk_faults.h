// DiskFaults: what the simulated disk does wrong next. A fault is armed for the n-th operation that
// it can happen to; a stopped disk refuses everything until the next life, which is how a crash
// falls between any two operations.
#pragma once

#include <cstdint>

namespace pawl::sim {

enum class DiskAction : uint8_t { Read, Write, Truncate, Sync, WalSync, Create, Delete };

enum class DiskTrouble : uint8_t {
  None,
  WriteFails,
  ShortWrite,  // a part is written, then it fails
  Full,        // from here on, until there is room again
  SyncFails,
  SyncSlow,
  SyncLies,  // says ok and keeps nothing
  ReadFails,
  Stop,  // counts everything but reads; for good
};

class DiskFaults {
 public:
  // `at` >= 1. Replaces what was armed before.
  void arm(DiskTrouble trouble, uint64_t at);
  void disarm() { armed_ = DiskTrouble::None; }
  // Counts one operation, and says what goes wrong with it.
  DiskTrouble next(DiskAction action);

  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  bool full() const { return full_; }
  void room_again() { full_ = false; }
  void new_life();

  uint64_t operations() const { return operations_; }  // but reads
  bool fired() const { return fired_; }                // in this life

 private:
  bool happens_to(DiskAction action) const;

  DiskTrouble armed_ = DiskTrouble::None;
  uint64_t left_ = 0;
  bool stopped_ = false;
  bool full_ = false;
  bool fired_ = false;
  uint64_t operations_ = 0;
};

}  // namespace pawl::sim
