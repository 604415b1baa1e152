// DiskFaults: the next fault of the simulated disk. A fault is armed for the n-th applicable
// operation; a stopped disk refuses everything until the next restart, which simulates a crash
// between any two operations.
#pragma once

#include <cstdint>

namespace pawl::sim {

enum class DiskAction : uint8_t { Read, Write, Truncate, Sync, WalSync, Create, Delete };

enum class DiskTrouble : uint8_t {
  None,
  WriteFails,
  ShortWrite,  // a part is written, then it fails
  Full,        // until there is room again
  SyncFails,
  SyncSlow,
  SyncLies,  // reports success and writes nothing
  ReadFails,
  Stop,  // counts everything but reads; permanent
};

class DiskFaults {
 public:
  // `at` >= 1. Replaces the previously armed fault.
  void arm(DiskTrouble trouble, uint64_t at);
  void disarm() { armed_ = DiskTrouble::None; }
  // Counts one operation, and returns its fault.
  DiskTrouble next(DiskAction action);

  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  bool full() const { return full_; }
  void room_again() { full_ = false; }
  void new_life();

  uint64_t operations() const { return operations_; }  // but reads
  bool fired() const { return fired_; }                // since the last restart

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
