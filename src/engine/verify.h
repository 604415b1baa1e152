// verify: folds the whole journal into a separate state and compares it, entity by entity, with the
// state after a restart (I2); checks every record's checksum and that none is missing; checks that
// the index rows match the jobs exactly.
//
// When retention has removed the journal's beginning, older entities cannot be replayed: they are
// counted as too old and not compared.
//
// Corrupt, naming the place, when a record or row cannot be read at all; a readable row with other
// contents is a difference in the report. Writes nothing to `live`.
//
// Thread: any one, while no engine uses the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "store/store.h"

namespace pawl {

struct VerifyDifference {
  std::string kind;               // "job", "queue", …, or "ready entry", "timer entry", …
  std::string key;                // as text
  uint64_t live_version = 0;      // sequence of its last event; 0 = not there
  uint64_t replayed_version = 0;  // 0 = not there

  std::string text() const;
};

struct VerifyReport {
  uint64_t records = 0;
  uint64_t events = 0;
  uint64_t first_record = 0;
  uint64_t entities = 0;       // compared
  uint64_t entities_old = 0;   // from before the journal's first record: not compared
  uint64_t index_entries = 0;  // checked
  uint64_t differences = 0;
  std::vector<VerifyDifference> first_differences;  // kDifferencesShown at most
  std::string digest;                               // of the state as a restart would have it
  std::string digest_replayed;                      // empty when some entities are too old

  bool good() const {
    return differences == 0 && (digest_replayed.empty() || digest_replayed == digest);
  }
};
constexpr size_t kDifferencesShown = 20;

using VerifyProgress = FunctionRef<void(uint64_t records_done, uint64_t records)>;

// `scratch` is an empty store that the replay may fill; memory stays bounded if it is on disk.
Result<VerifyReport> verify(Store& live, Store& scratch, VerifyProgress progress);
// With a temporary scratch store on disk.
Result<VerifyReport> verify(Store& live, VerifyProgress progress);

}  // namespace pawl
