// Admission: how many runs of definitions are at work at once.
//
// A run passes two gates, one after the other: that of its definition (max_concurrent there) and
// that of the server (ScriptDefaults::max_concurrent). What finds a gate full is created with the
// status pending and waits there; by priority, then in the order of creation, it begins when
// another ends or is suspended. A run that is resumed or retried counts again, above the limit if
// need be: it was let in once.
//
// A definition is the same as another if they have the same name, whatever their texts; runs of a
// text without a name are counted with those of the same text.
//
// A run that is part of another one waits for its definition only, never for the server, since its
// parent holds a place already; nor for a definition that some run around it is of; nor behind runs
// that stand for themselves, or for a place of its definition that one of those holds while it
// waits for the server. So no run waits for itself. (Definitions that call each other both ways,
// each with a limit, can still wait for each other; explain shows it, a cancel ends it.)
//
// What there is (all of it documents, changed in the frames of the runs themselves):
//   RunCount  gate → runs at work behind it. Follows ScriptMoved, whether or not there is a limit.
//   RunGate   gate → how many wait there; of a definition also how many hold one of its places
//             while they wait at the server's gate.
//   RunTurn   gate, rank → the run that waits. Rank: priority from high to low, then creation.
//
// Whether a gate has room is looked at by the timers (admit_next), soon after something happened
// there: a chain of runs that end at once is then a loop and no recursion.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernel/frame.h"

namespace pawl {

struct RunCount {
  uint64_t active = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "active", self.active);
  }
};

struct RunGate {
  uint64_t waiting = 0;
  uint64_t claimed = 0;
  std::string from;  // no run that waits has a turn before this one

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "waiting", self.waiting);
    visit(2, "claimed", self.claimed);
    visit(3, "from", self.from);
  }
};

struct RunTurn {
  RunId run;
  bool claims = false;  // it holds a place of its definition

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "run", self.run);
    visit(2, "claims", self.claims);
  }
};

std::string server_gate();
// A definition is known by its name; one that has none, by its text.
std::string definition_gate(std::string_view definition, std::string_view text_digest = "");
std::string gate_of(const ScriptRun& script);

uint64_t runs_at_work(const State& state, const std::string& gate);

// At which gate a new run has to wait; "" = it may begin. RateLimited if it is not to wait. `own`:
// the gate of its definition.
Result<std::string> gate_before(const State& state, const plan::Script& plan,
                                const std::string& own, const RunId& parent);
// A run that was just created waits there.
void wait_at_gate(Frame& frame, const RunId& run, const std::string& gate);
// A run that waits does so no longer.
void leave_gate(Frame& frame, const RunId& run);

// Lets one run in, if the gate has room.
void admit_next(Frame& frame, const std::string& gate);

// Where a pending run stands. Counts up to `most` runs before it.
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
