// ScriptRun: the progress of a run of a definition.
//
// The unit in memory and on disk is the scope: one list of steps that was entered (the root, a
// branch, an iteration), with a record per step. A closed scope leaves memory once its row is
// durable, so a loop of a hundred thousand iterations needs memory only for the active ones; closed
// records are read back when an expression or a reader needs them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "journal/script_events.h"
#include "kernel/scripts/open_lists.h"
#include "kernel/scripts/text.h"
#include "plan/script.h"

namespace pawl {

struct StepRecord {
  std::string id;  // local; empty until something happens to it
  StepState state = StepState::Pending;
  uint32_t attempt = 0;
  uint32_t effect = 0;  // open effect
  Text output;          // JSON
  StepError error;      // of its failure, of the last failed attempt, or ignored
  bool handled = false;
  std::string reason;
  int64_t started_ms = 0;
  int64_t finished_ms = 0;
  int64_t due_ms = 0;
  DueKind due = DueKind::None;
  uint64_t done_sequence = 0;  // order of ends, for undoing
  std::string decision;
  std::string signal;
  std::string choice;
  Text items;
  uint32_t count = 0;
  uint32_t next = 0;  // the first iteration or branch not entered
  uint32_t open = 0;  // its open scopes
  std::vector<std::string> failed_scopes;
  uint32_t round = 0;  // the run's round in which its first attempt began
  uint8_t ready = 0;   // waits only for a frame: 1 it may begin, 2 its condition is true, too

  static void fields(auto& self, auto&& visit) {
    visit(1, "state", self.state);
    visit(2, "attempt", self.attempt);
    visit(3, "effect", self.effect);
    visit(4, "output", self.output);
    visit(5, "error", self.error);
    visit(6, "handled", self.handled);
    visit(7, "reason", self.reason);
    visit(8, "started_ms", self.started_ms);
    visit(9, "finished_ms", self.finished_ms);
    visit(10, "due_ms", self.due_ms);
    visit(11, "due", self.due);
    visit(12, "done_sequence", self.done_sequence);
    visit(13, "decision", self.decision);
    visit(14, "signal", self.signal);
    visit(15, "choice", self.choice);
    visit(16, "items", self.items);
    visit(17, "count", self.count);
    visit(18, "next", self.next);
    visit(19, "open", self.open);
    visit(20, "failed_scopes", self.failed_scopes);
    visit(21, "id", self.id);
    visit(22, "round", self.round);
    visit(23, "ready", self.ready);
  }

  // In memory only: the output, parsed on first use by an expression.
  mutable std::shared_ptr<const Value> parsed;
  mutable std::shared_ptr<const Value> parsed_items;
};

struct Scope {
  std::string path;   // "" is the root
  std::string owner;  // the enclosing step; "" for the root and the hooks
  uint32_t owner_position = 0;
  uint32_t list = 0;
  bool iteration = false;
  uint32_t index = 0;
  Text item;  // JSON
  bool closed = false;
  bool failed = false;
  StepError error;
  uint32_t unfinished = 0;  // unfinished steps, without fallbacks
  std::vector<StepRecord> records;

  static void fields(auto& self, auto&& visit) {
    visit(1, "path", self.path);
    visit(2, "owner", self.owner);
    visit(3, "list", self.list);
    visit(4, "iteration", self.iteration);
    visit(5, "index", self.index);
    visit(6, "item", self.item);
    visit(7, "closed", self.closed);
    visit(8, "failed", self.failed);
    visit(9, "error", self.error);
    visit(10, "unfinished", self.unfinished);
    visit(11, "records", self.records);
    visit(12, "owner_position", self.owner_position);
  }

  const StepRecord* find(std::string_view id) const {
    for (const StepRecord& record : records)
      if (record.id == id) return &record;
    return nullptr;
  }

  // In memory only.
  bool dirty = false;
  uint32_t in_flight = 0;       // flushes written but not yet durable
  bool gone = false;            // undone by a retry; stays until its row is removed
  std::vector<uint64_t> parts;  // rows that hold its large texts
  // Per step: how many of its dependencies, from the first, are known to have ended. Valid until a
  // step is reset.
  mutable std::vector<uint32_t> dependencies_over;
};

struct KeptSignal {
  std::string type;
  std::string step;
  Text payload;
  std::string agent_id;

  static void fields(auto& self, auto&& visit) {
    visit(1, "type", self.type);
    visit(2, "step", self.step);
    visit(3, "payload", self.payload);
    visit(4, "agent_id", self.agent_id);
  }
};

struct Variable {
  std::string key;
  Text value;  // JSON

  static void fields(auto& self, auto&& visit) {
    visit(1, "key", self.key);
    visit(2, "value", self.value);
  }
};

// The finished parts of a value that takes many evaluations.
struct MadeParts {
  std::string step;  // "" = the run's outputs
  std::vector<std::string> values;

  static void fields(auto& self, auto&& visit) {
    visit(1, "step", self.step);
    visit(2, "values", self.values);
  }
};

struct ScriptRun {
  std::string definition;
  std::string version;
  std::string source;       // canonical text if it is not a registered one
  std::string text_digest;  // of its original text, if its runs are counted by text
  Text inputs;
  std::string agent_id;
  int32_t priority = 0;
  ScriptStatus status = ScriptStatus::Pending;
  ScriptPhase phase = ScriptPhase::Steps;
  ScriptStatus outcome = ScriptStatus::Active;  // decided, while hooks or compensation still run
  std::string reason;
  StepError error;
  Text output;
  bool paused = false;
  int64_t paused_ms = 0;
  int64_t timeout_at_ms = 0;      // 0 = none
  int64_t yielded_ms = 0;         // it waits for its next turn since then
  uint64_t created_sequence = 0;  // position of its first event
  uint32_t next_effect = 1;
  uint32_t rounds = 0;  // how often steps were reset to be done again
  uint32_t busy = 0;    // steps that an effect or a timer will advance
  uint32_t held = 0;    // steps that wait for a person or a signal
  OpenLists live;       // paths of open scopes
  OpenEffects effects;
  std::vector<KeptSignal> signals;
  std::vector<Variable> variables;
  std::deque<std::string> compensate;  // still to undo, in this order
  std::vector<std::string> compensated;
  std::vector<MadeParts> made;

  static void fields(auto& self, auto&& visit) {
    visit(1, "definition", self.definition);
    visit(2, "version", self.version);
    visit(3, "source", self.source);
    visit(4, "inputs", self.inputs);
    visit(5, "agent_id", self.agent_id);
    visit(6, "priority", self.priority);
    visit(7, "status", self.status);
    visit(8, "phase", self.phase);
    visit(9, "outcome", self.outcome);
    visit(10, "reason", self.reason);
    visit(11, "error", self.error);
    visit(12, "output", self.output);
    visit(13, "paused", self.paused);
    visit(14, "paused_ms", self.paused_ms);
    visit(15, "timeout_at_ms", self.timeout_at_ms);
    visit(16, "next_effect", self.next_effect);
    visit(17, "busy", self.busy);
    visit(18, "held", self.held);
    visit(19, "live", self.live);
    visit(20, "effects", self.effects);
    visit(21, "signals", self.signals);
    visit(22, "variables", self.variables);
    visit(23, "compensate", self.compensate);
    visit(24, "compensated", self.compensated);
    visit(26, "yielded_ms", self.yielded_ms);
    visit(27, "created_sequence", self.created_sequence);
    visit(28, "rounds", self.rounds);
    visit(29, "text_digest", self.text_digest);
    visit(30, "made", self.made);
  }

  // In its row, but not part of the logical state: both are derived from its history.
  uint64_t held_bytes = 0;  // of all it holds, in memory or not (held_by())
  uint64_t next_part = 1;

  // In memory only.
  std::vector<uint64_t> parts;  // rows that hold its large texts, those of its lists not counted
  std::map<std::string, Scope, std::less<>> scopes;
  std::deque<std::vector<std::string>> flushing;  // scopes of each flush that is not yet durable
  size_t new_scopes = 0;                          // opened since the last flush
  std::set<std::pair<int64_t, std::string>> dues;
  std::shared_ptr<const plan::Script> plan;
  std::shared_ptr<const Value> parsed_inputs;

  const std::string* step_of_effect(uint32_t effect) const;
};

// Bytes that count towards the bound of a run.
uint64_t held_by(const StepError& error);
uint64_t held_by(const StepRecord& record);
uint64_t held_by(const Scope& scope);
uint64_t held_by(const KeptSignal& signal);
uint64_t held_by(const Variable& variable);
// Without its lists.
uint64_t held_by(const ScriptRun& script);

}  // namespace pawl
