// Recovery: the state is its rows with the journal's tail folded over them. Shared by the engine's
// start and by verify(), so that verify() tests what a restart does.
//
// Thread: the one that uses the state; no engine uses the store meanwhile.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/function_ref.h"
#include "base/result.h"
#include "engine/skipped_events.h"
#include "engine/store_cold.h"
#include "kernel/mutable_state.h"
#include "store/store.h"

namespace pawl {

// Written with every set of rows.
struct TailRow {
  uint64_t sequence = 0;  // the first event that rows do not hold
  int64_t now_ms = 0;     // time never goes back, not even over a restart

  static void fields(auto& self, auto&& visit) {
    visit(1, "sequence", self.sequence);
    visit(2, "now_ms", self.now_ms);
  }
};
Write tail_write(const TailRow& tail);
// All zero in a store that was never written to.
Result<TailRow> read_tail(Store& store);

struct Recovery {
  uint64_t records = 0;  // folded
  uint64_t events = 0;
  std::vector<ScriptCreated> skipped_runs;  // runs whose creation was skipped
};

using OnRecord = FunctionRef<void(uint64_t number, size_t bytes, int64_t time_ms)>;

// Folds every record from `from` on and reports each one after it was folded. Corrupt when a record
// is damaged, or when one is missing between the first and the last.
Result<Recovery> fold_journal(Store& store, MutableState& state, uint64_t from,
                              const SkippedEvents& skipped, OnRecord on_record);

// Loads the rows and folds the tail; returns the marker that was found. Corrupt when either cannot
// be read or the journal does not reach back, or up, to the rows.
// `skipped` are in addition to those listed in the store.
Result<TailRow> recover(Store& store, MutableState& state, SkippedEvents skipped,
                        Recovery& recovery, OnRecord on_record);

}  // namespace pawl
