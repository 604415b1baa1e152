// SimDiskFile: the bytes of one simulated file: the contents for the process, the durable contents,
// and the writes between the two, of which a crash keeps an arbitrary part.
//
// The guarantees of a disk: a sector (512 bytes) is written completely or not at all, unwritten
// bytes never appear (a hole reads as zeros), synced data stays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/chance.h"

namespace pawl::sim {

enum class Survival : uint8_t {
  Killed,  // only the process: the system survives and keeps unsynced writes
  None,    // of the unsynced writes
  All,
  Prefix,  // the last one torn
  Subset,  // of their sectors, in any order
};

struct CrashLosses {
  bool lost = false;       // some unsynced data is lost
  bool torn = false;       // a write survived in part
  bool reordered = false;  // a write survived, an earlier one did not
  bool lied = false;       // falsely synced data is lost
};

class SimDiskFile {
 public:
  void write(uint64_t at, std::string_view bytes);
  void truncate(uint64_t bytes);
  // Makes all writes durable.
  void sync();
  // A sync that reports success and does nothing.
  void lie();
  // A failed sync: unsynced data becomes durable, or never will be although the process still sees
  // it, or is lost at once. A later sync does not help.
  void fail_sync(SimRandom& random);
  // Replaces the beginning of the file, on the disk too. Not while there is unsynced data.
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
