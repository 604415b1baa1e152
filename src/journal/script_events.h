// Events of runs of definitions: of the run, its lists of steps (scopes) and its steps.
//
// A step is named by its full dotted path, as users see it; the scope is everything before the last
// dot. Times are the frame's. Texts called JSON are canonical JSON or empty.
//
// Events shown to users carry the id that the run's client chose (run_client_id, empty if it is the
// UUID), because the journal is read without the state. Frame::emit fills it in; older events have
// none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/uuid.h"
#include "journal/job_events.h"

namespace pawl {

enum class StepState : uint8_t {
  Pending = 0,
  Running = 1,
  Completed = 2,
  Failed = 3,
  Skipped = 4,
  Suspended = 5,  // waits for a decision, a signal or a suspended inner run
  Retrying = 6,
};

// The purpose of the step's timer.
enum class DueKind : uint8_t {
  None = 0,
  Timeout = 1,   // the attempt has taken too long
  Retry = 2,     // the next attempt begins
  Wait = 3,      // a wait is over
  Deadline = 4,  // no decision or signal came in time
};

struct StepError {
  std::string code;
  std::string message;
  std::string details;  // JSON
  std::string step;     // the step where the error occurred

  bool empty() const { return code.empty(); }

  static void fields(auto& self, auto&& visit) {
    visit(1, "code", self.code);
    visit(2, "message", self.message);
    visit(3, "details", self.details);
    visit(4, "step", self.step);
  }
};

struct ScriptCreated {
  RunId run;
  std::string definition;  // name; empty if it was given inline without one
  std::string version;
  std::string source;  // canonical text, if given inline
  std::string inputs;  // JSON object
  std::string agent_id;
  std::string client_id;
  JobParent parent;
  std::string tenant;
  std::string meta;  // JSON
  int32_t priority = 0;
  int64_t timeout_ms = 0;
  // SHA-256 of the source, if the definition has no name and limits its active runs: they are
  // counted under this digest. Older runs have none.
  std::string text_digest;
  uint32_t children_at = 0;  // as in RunCreated

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "definition", self.definition);
    visit(3, "version", self.version);
    visit(4, "source", self.source);
    visit(5, "inputs", self.inputs);
    visit(6, "agent_id", self.agent_id);
    visit(7, "client_id", self.client_id);
    visit(8, "parent", self.parent);
    visit(9, "tenant", self.tenant);
    visit(10, "meta", self.meta);
    visit(11, "priority", self.priority);
    visit(12, "timeout_ms", self.timeout_ms);
    visit(13, "text_digest", self.text_digest);
    visit(14, "children_at", self.children_at);
  }
};

enum class ScriptStatus : uint8_t {
  Pending = 0,  // waits for admission among the runs of its definition
  Active = 1,
  Suspended = 2,
  Completed = 3,
  Failed = 4,
  Cancelled = 5,
};

struct ScriptMoved {
  RunId run;
  std::string definition;
  ScriptStatus from = ScriptStatus::Pending;
  ScriptStatus to = ScriptStatus::Pending;
  std::string reason;
  StepError error;
  std::string output;       // JSON
  bool nested = false;      // part of another run: it does not count for the server's limit
  std::string text_digest;  // as in ScriptCreated
  std::string run_client_id = {};

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "definition", self.definition);
    visit(3, "from", self.from);
    visit(4, "to", self.to);
    visit(5, "reason", self.reason);
    visit(6, "error", self.error);
    visit(7, "output", self.output);
    visit(8, "nested", self.nested);
    visit(9, "text_digest", self.text_digest);
    visit(10, "run_client_id", self.run_client_id);
  }
};

// The steps have ended; hooks and compensation may follow before the run ends.
enum class ScriptPhase : uint8_t { Steps = 0, Rollback = 1, Hooks = 2, Over = 3 };

struct ScriptPhased {
  RunId run;
  ScriptPhase phase = ScriptPhase::Steps;
  ScriptStatus outcome = ScriptStatus::Active;  // the final status of the run
  std::string reason;
  StepError error;
  std::vector<std::string> compensate;  // of a rollback: steps to undo, in this order

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "phase", self.phase);
    visit(3, "outcome", self.outcome);
    visit(4, "reason", self.reason);
    visit(5, "error", self.error);
    visit(6, "compensate", self.compensate);
  }
};

struct ScriptPaused {
  RunId run;
  bool paused = false;
  std::string reason;

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "paused", self.paused);
    visit(3, "reason", self.reason);
  }
};

struct ScopeOpened {
  RunId run;
  std::string scope;
  std::string owner;  // the enclosing step
  uint32_t list = 0;
  uint32_t steps = 0;
  uint32_t dormant = 0;  // how many of them are fallbacks
  bool iteration = false;
  uint32_t index = 0;  // of the iteration or branch
  std::string item;    // JSON
  uint32_t owner_position = 0;
  std::string run_client_id = {};

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "scope", self.scope);
    visit(10, "owner_position", self.owner_position);
    visit(3, "owner", self.owner);
    visit(4, "list", self.list);
    visit(5, "steps", self.steps);
    visit(6, "dormant", self.dormant);
    visit(7, "iteration", self.iteration);
    visit(8, "index", self.index);
    visit(9, "item", self.item);
    visit(11, "run_client_id", self.run_client_id);
  }
};

struct ScopeClosed {
  RunId run;
  std::string scope;
  bool failed = false;
  StepError error;
  bool iteration = false;
  uint32_t index = 0;
  std::string run_client_id = {};

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "scope", self.scope);
    visit(3, "failed", self.failed);
    visit(4, "error", self.error);
    visit(5, "iteration", self.iteration);
    visit(6, "index", self.index);
    visit(7, "run_client_id", self.run_client_id);
  }
};

// Fields of every step event.
struct StepEvent {
  RunId run;
  std::string step;
  uint32_t position = 0;  // in its list
  std::string run_client_id = {};

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "step", self.step);
    visit(3, "position", self.position);
    visit(4, "run_client_id", self.run_client_id);
  }
};

struct StepStarted : StepEvent {
  std::string type;
  uint32_t attempt = 0;
  uint32_t effect = 0;  // number of the requested effect; 0 = none
  int64_t due_ms = 0;
  DueKind due = DueKind::None;

  static void fields(auto& self, auto&& visit) {
    StepEvent::fields(self, visit);
    visit(10, "type", self.type);
    visit(11, "attempt", self.attempt);
    visit(12, "effect", self.effect);
    visit(13, "due_ms", self.due_ms);
    visit(14, "due", self.due);
  }
};

// It waits for a decision (an id) or a signal (a name).
struct StepSuspended : StepEvent {
  std::string decision;
  std::string signal;
  int64_t due_ms = 0;

  static void fields(auto& self, auto&& visit) {
    StepEvent::fields(self, visit);
    visit(10, "decision", self.decision);
    visit(11, "signal", self.signal);
    visit(12, "due_ms", self.due_ms);
  }
};

// The inner run of the step was suspended, or is active again.
struct ChildMoved : StepEvent {
  RunId child;
  bool suspended = false;

  static void fields(auto& self, auto&& visit) {
    StepEvent::fields(self, visit);
    visit(10, "child", self.child);
    visit(11, "suspended", self.suspended);
  }
};

struct StepRetrying : StepEvent {
  uint32_t attempt = 0;  // the one that failed
  uint32_t attempts_max = 0;
  StepError error;
  int64_t due_ms = 0;

  static void fields(auto& self, auto&& visit) {
    StepEvent::fields(self, visit);
    visit(10, "attempt", self.attempt);
    visit(11, "attempts_max", self.attempts_max);
    visit(12, "error", self.error);
    visit(13, "due_ms", self.due_ms);
  }
};

struct StepEnded : StepEvent {
  StepState state = StepState::Pending;
  std::string output;  // JSON
  StepError error;
  std::string reason;    // of a skip
  bool handled = false;  // it failed, and a fallback runs or the error is ignored
  bool dormant = false;  // it is a fallback: the list does not count its end
  int64_t duration_ms = 0;

  static void fields(auto& self, auto&& visit) {
    StepEvent::fields(self, visit);
    visit(10, "state", self.state);
    visit(11, "output", self.output);
    visit(12, "error", self.error);
    visit(13, "reason", self.reason);
    visit(14, "handled", self.handled);
    visit(15, "duration_ms", self.duration_ms);
    visit(16, "dormant", self.dormant);
  }
};

// An event about a step (or, with an empty step, about the run) under its public name, and the data
// that the step keeps of it.
struct StepNoted : StepEvent {
  std::string type;    // condition_evaluated, loop_completed, …
  std::string data;    // JSON object
  std::string choice;  // of a condition: the branch; of a race: the winner
  std::string items;   // of a loop: JSON list
  uint32_t count = 0;  // of a loop: items; of a parallel: branches

  static void fields(auto& self, auto&& visit) {
    StepEvent::fields(self, visit);
    visit(10, "type", self.type);
    visit(11, "data", self.data);
    visit(12, "choice", self.choice);
    visit(13, "items", self.items);
    visit(14, "count", self.count);
  }
};

struct VariableSet {
  RunId run;
  std::string key;
  std::string value;  // JSON
  std::string run_client_id = {};

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "key", self.key);
    visit(3, "value", self.value);
    visit(4, "run_client_id", self.run_client_id);
  }
};

struct SignalReceived {
  RunId run;
  std::string type;
  std::string step;
  std::string payload;  // JSON
  std::string agent_id;
  std::string reasoning;
  bool kept = false;  // no step waits for it yet
  std::string run_client_id = {};

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "type", self.type);
    visit(3, "step", self.step);
    visit(4, "payload", self.payload);
    visit(5, "agent_id", self.agent_id);
    visit(6, "reasoning", self.reasoning);
    visit(7, "kept", self.kept);
    visit(8, "run_client_id", self.run_client_id);
  }
};

// The oldest matching kept signal was given to a wait.
struct SignalTaken {
  RunId run;
  uint32_t place = 0;  // among the kept ones

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "place", self.place);
  }
};

struct StepPlace {
  std::string step;
  uint32_t position = 0;
  bool dormant = false;
  bool resumed = false;  // it continues: its inner lists were reopened
  // Of a resumed loop: the iteration after the kept ones; 0 = unchanged. Of a step that was stopped
  // while running: the number of its earlier attempts.
  uint32_t next = 0;
  int64_t due_ms = 0;  // of a resumed step: its timeout; 0 = none

  static void fields(auto& self, auto&& visit) {
    visit(1, "step", self.step);
    visit(2, "position", self.position);
    visit(3, "dormant", self.dormant);
    visit(4, "resumed", self.resumed);
    visit(5, "next", self.next);
    visit(6, "due_ms", self.due_ms);
  }
};

// A retry: resets steps and lists to their state before they began.
struct StepsReset {
  RunId run;
  std::vector<StepPlace> steps;
  std::vector<std::string> reopened;  // scopes that continue
  std::vector<std::string> dropped;   // scopes that are deleted with their contents
  std::string inputs;                 // JSON object, if they were edited

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "steps", self.steps);
    visit(3, "reopened", self.reopened);
    visit(4, "dropped", self.dropped);
    visit(5, "inputs", self.inputs);
  }
};

// The run has more work than one frame may hold, and continues in a later one.
struct ScriptYielded {
  RunId run;

  static void fields(auto& self, auto&& visit) { visit(1, "run", self.run); }
};

// Some of many evaluations (of a run's outputs, or of a decision's data) are done: the next frame
// continues after them.
struct PartsMade {
  RunId run;
  std::string step;                 // "" = the run's outputs
  std::vector<std::string> values;  // JSON; appended to the earlier ones

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "step", self.step);
    visit(3, "values", self.values);
  }
};

// These steps of a list may begin, regardless of how earlier ones end: the frame that found them
// ready had no room to begin them all.
struct StepsReady {
  RunId run;
  std::string scope;
  std::vector<uint32_t> positions;
  bool guarded = false;    // their conditions are true, too
  bool withdrawn = false;  // they wait for their dependencies again

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "scope", self.scope);
    visit(3, "positions", self.positions);
    visit(4, "guarded", self.guarded);
    visit(5, "withdrawn", self.withdrawn);
  }
};

// A rollback has undone this step, the first of the remaining ones.
struct StepUndone : StepEvent {};

// Steps were added to a live run: from now on it follows this text.
struct ScriptExtended {
  RunId run;
  std::string source;
  uint32_t steps = 0;    // in the root list, now
  uint32_t dormant = 0;  // of the new ones
  std::string data;      // JSON: the request
  std::string run_client_id = {};

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "source", self.source);
    visit(3, "steps", self.steps);
    visit(4, "dormant", self.dormant);
    visit(5, "data", self.data);
    visit(6, "run_client_id", self.run_client_id);
  }
};

}  // namespace pawl
