// SimDiskFile: the bytes of one simulated file: what the process sees, what the disk has for sure,
// and the writes between the two, of which a crash keeps an arbitrary part.
//
// What a disk promises, and no more: a sector (512 bytes) is written whole or not at all, bytes
// that nobody wrote never appear (a hole reads as zeros), what was synced stays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/chance.h"

namespace pawl::sim {

enum class Survival : uint8_t {
  Killed,  // the process only: the system goes on, and so does what it has not yet written
  None,    // of the unsynced writes
  All,
  Prefix,  // the last one torn
  Subset,  // of their sectors, in any order
};

struct CrashLosses {
  bool lost = false;       // something unsynced is gone
  bool torn = false;       // a write is there in part
  bool reordered = false;  // a write is there, an earlier one is not
  bool lied = false;       // something is gone that a sync had promised
};

class SimDiskFile {
 public:
  void write(uint64_t at, std::string_view bytes);
  void truncate(uint64_t bytes);
  // All that was written is durable.
  void sync();
  // The sync said so, and did nothing.
  void lie();
  // The sync failed: what was unsynced is durable, or never will be though the process still sees
  // it, or is gone at once. A later sync is no cure.
  void fail_sync(SimRandom& random);
  // The file begins with these bytes from now on, on the disk too. Not while something is unsynced.
  void rot(std::string_view rotten);
  CrashLosses crash(Survival survival, SimRandom& random);

  // Bytes read, fewer at the end.
  size_t read(uint64_t at, char* into, size_t bytes) const;
  uint64_t size() const { return live_.size(); }
  bool unsynced() const { return !pending_.empty(); }

 private:
  struct Change {
    uint64_t at = 0;         // or the new size
    std::string bytes = {};  // nothing: a truncation
    bool lied = false;
  };
  static void apply(std::string& content, uint64_t at, std::string_view bytes);
  static void apply(std::string& content, const Change& change);
  void crash_prefix(SimRandom& random, CrashLosses& losses);
  void crash_subset(SimRandom& random, CrashLosses& losses);

  std::string live_;
  std::string durable_;
  std::vector<Change> pending_;
};

}  // namespace pawl::sim
