// Deleting a definition that has no live runs, on a server with several partitions: whether it has
// some is known to each partition for itself, and meanwhile runs could begin.
//
//   Close     partition 0 → everybody: begin no run of this definition, and count those that live
//   Counted   each → partition 0: how many
//   Reopen    partition 0 → everybody: runs may begin again, if the definition is still there
//
// Partition 0 keeps what it waits for under a token (DocKind::Claim), as for claims: a task waits
// parked under that name, then deletes the definition or not, and reopens it in the same frame.
// Copies of settings keep their order with these messages, so nobody begins a run between them.
//
// Thread: that of the state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/result.h"
#include "base/uuid.h"

namespace pawl {

class Frame;
class State;

// Live runs of this definition in this partition; version "" = any. Looks at the newest runs only.
uint64_t live_runs(const State& state, const std::string& name, const std::string& version);

// --- partition 0
// Conflict if it is being closed already.
Result<Uuid> begin_closing(Frame& frame, const std::string& name, const std::string& version);
// Live runs in all partitions; nothing while some have not counted, or if the token is gone.
std::optional<uint64_t> counted_runs(const State& state, const Uuid& token);
void reopen_definition(Frame& frame, const Uuid& token);
// Of those that nobody has finished.
size_t reopen_stale(Frame& frame, int64_t before_ms);

// --- everybody
// No run of it may begin now.
bool is_closed(const State& state, const std::string& name);

// --- messages, taken
struct ClosedDefinition {
  Uuid token;
  std::string name;
  std::string version;

  static void fields(auto& self, auto&& visit) {
    visit(1, "token", self.token);
    visit(2, "name", self.name);
    visit(3, "version", self.version);
  }
};
struct CountedRuns {
  Uuid token;
  uint16_t partition = 0;
  uint64_t live = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "token", self.token);
    visit(2, "partition", self.partition);
    visit(3, "live", self.live);
  }
};
void take_closed(Frame& frame, const ClosedDefinition& closed);
void take_counted(Frame& frame, const CountedRuns& counted);
void take_reopened(Frame& frame, const ClosedDefinition& closed);

}  // namespace pawl
