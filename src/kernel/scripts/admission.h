// Admission: limits how many runs of definitions are active at once.
//
// A run passes two gates, one after the other: that of its definition (max_concurrent there) and
// that of the server (ScriptDefaults::max_concurrent). A run that finds a gate full is created as
// pending and waits there; when another run ends or is suspended, the next one begins, by priority,
// then in order of creation. A resumed or retried run counts again, above the limit if necessary:
// it was admitted before.
//
// Definitions with the same name share a gate, whatever their texts; runs of an unnamed definition
// are counted by its text.
//
// A child run waits for its definition only, never for the server, since its parent already holds a
// place; nor for a definition of one of its ancestors; nor behind top-level runs, or for a place of
// its definition that one of those holds while waiting for the server. So no run waits for itself.
// (Definitions that call each other both ways, each with a limit, can still wait for each other;
// explain shows it, a cancel ends it.)
//
// Documents, changed in the frames of the runs themselves:
//   RunCount  gate → its active runs. Follows ScriptMoved, whether or not there is a limit.
//   RunGate   gate → how many wait there; of a definition also how many hold one of its places
//             while they wait at the server's gate.
//   RunTurn   gate, rank → the run that waits. Rank: priority from high to low, then creation.
//
// Timers check whether a gate has room (admit_next), soon after something happened there: so a
// chain of runs that end at once is a loop, not a recursion.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/uuid.h"

namespace pawl {

class Frame;
class State;
struct Run;
struct ScriptRun;
namespace plan {
struct Script;
}

struct RunCount {
  uint64_t active = 0;

  static void fields(auto& self, auto&& visit) { visit(1, "active", self.active); }
};

struct RunGate {
  uint64_t waiting = 0;
  uint64_t claimed = 0;
  std::string from;  // no waiting run has an earlier turn

  static void fields(auto& self, auto&& visit) {
    visit(1, "waiting", self.waiting);
    visit(2, "claimed", self.claimed);
    visit(3, "from", self.from);
  }
};

struct RunTurn {
  RunId run;
  bool claims = false;  // it holds a place of its definition

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "claims", self.claims);
  }
};

std::string server_gate();
// A definition is identified by its name, or by its text if it has none.
std::string definition_gate(std::string_view definition, std::string_view text_digest = "");
std::string gate_of(const ScriptRun& script);

uint64_t runs_at_work(const State& state, const std::string& gate);

// The gate where a new run must wait; "" = it may begin. RateLimited if it must not wait. `own`:
// the gate of its definition.
Result<std::string> gate_before(const State& state, const plan::Script& plan,
                                const std::string& own, const RunId& parent);
// Lets a newly created run wait there.
void wait_at_gate(Frame& frame, const RunId& run, const std::string& gate);
// Removes a waiting run.
void leave_gate(Frame& frame, const RunId& run);

// Admits one run, if the gate has room.
void admit_next(Frame& frame, const std::string& gate);

// The position of a pending run. Counts up to `most` runs before it.
struct TurnStanding {
  std::string gate;  // "" = it does not wait
  uint64_t ahead = 0;
  bool more_ahead = false;
  uint64_t active = 0;
  uint64_t limit = 0;
  bool of_server = false;
};
TurnStanding standing_of(const State& state, const Run& run, uint64_t most);

}  // namespace pawl
