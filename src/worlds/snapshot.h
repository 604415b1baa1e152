// The snapshot of a world, and the baseline that is kept beside it so that a replay can begin
// there.
//
// The snapshot's blob is the contract's: hashes, not contents. The baseline is all the rest: the
// items of the world below the snapshot's frame, as they are, in chunks
//
//   s seq(8) n(4)   BaselineChunk; seq: of the frame with the snapshot's record
//
// together with the frames that a retry of a failed instance would read. Only the newest snapshot
// has one. It is proved by the snapshot: what it holds must give the same blob again, and each
// chunk has a checksum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "worlds/commands.h"

namespace pawl::worlds {

struct BaselineItem {
  std::string key, value;
  static void fields(auto& self, auto&& visit) {
    visit(1, "key", self.key);
    visit(2, "value", self.value);
  }
};

struct BaselineChunk {
  std::vector<BaselineItem> items;
  bool last = false;
  uint32_t checksum = 0;  // crc32c over keys and values with their sizes
  static void fields(auto& self, auto&& visit) {
    visit(1, "items", self.items);
    visit(2, "last", self.last);
    visit(3, "checksum", self.checksum);
  }
};

std::string baseline_key(uint64_t seq, uint32_t n);

// The blob of a snapshot of the world as it is.
std::string snapshot_bytes(World& world);

// Writes the blob and the record, without a baseline: what a replay does again.
Snapshot write_snapshot(Deciding& deciding);

// Gives every item of the baseline of the frame `seq`. Corrupt if there is none or a chunk is not
// whole.
Status each_baseline_item(Table& table, uint64_t seq,
                          FunctionRef<void(std::string key, std::string value)> visit);

}  // namespace pawl::worlds
