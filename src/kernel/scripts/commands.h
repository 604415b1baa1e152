// Commands and receipts for runs of definitions.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Frame;
class Meter;
class SecretSource;
class State;
struct Doc;
struct EffectNote;
struct EffectRequest;
struct RetryPreview;
struct RetryRequest;
struct Run;
struct StepOutcome;
struct StoredDefinition;

// The run, if it is the run of a definition; null for another kind too.
const Run* find_script(const State& state, const RunId& id);

struct StartScript {
  RunId id;  // nil: generated
  std::string client_id;
  std::string definition;
  std::string version;  // "" = the newest
  std::string source;   // canonical text of an inline definition
  std::string inputs;   // JSON object or ""
  std::string agent_id;
  JobParent parent;
  std::string tenant;
  std::string meta;
  int32_t priority = 0;
  bool end_is_seen = false;  // the caller checks whether it ended at once
};
// NotFound: the definition; InvalidContent: the inputs do not fit its schema; Duplicate: the id.
Result<RunId> start_script(Frame& frame, const StartScript& command);
// Enters the steps of a created and admitted run.
void begin_script(Frame& frame, const RunId& run, bool end_is_seen);

// The receipt of an effect: from an action, or the end of a step's job or child run. A receipt that
// no step waits for changes nothing (I3).
void effect_done(Frame& frame, const RunId& run, uint32_t effect, StepOutcome outcome);

// The newest version that is not removed, or the one named. Null if there is none.
const Doc* find_definition(const State& state, std::string_view name, std::string_view version,
                           StoredDefinition& stored);

Status pause_script(Frame& frame, const RunId& run, bool now);
Status resume_script(Frame& frame, const RunId& run);
Status cancel_script(Frame& frame, const RunId& run, const std::string& reason, bool rollback);

struct ScriptSignal {
  std::string type;
  std::string step;
  std::string payload;  // JSON
  std::string agent_id;
  std::string reasoning;
};
Status signal_script(Frame& frame, const RunId& run, const ScriptSignal& signal);

struct DecisionAnswer {
  std::string choice;
  std::string data;  // JSON
  std::string reasoning;
  std::string resolved_by;
};
Status resolve_decision(Frame& frame, const std::string& decision, const DecisionAnswer& answer);

// From the failed steps, or from a step and all its dependents.
Result<RetryPreview> retry_script(Frame& frame, const RunId& run, const RetryRequest& request);
// Adds steps to the root list of a live run. `canonical`: its whole new text.
Status extend_script(Frame& frame, const RunId& run, const std::string& canonical,
                     const std::string& data);

// The child run of this step was suspended, or is active again.
void child_moved(Frame& frame, const JobParent& place, bool suspended);
// A timer of the run is due.
void script_due(Frame& frame, const RunId& run);

// --- effects

// With parameters if it is an action. The error is a failed outcome (refusal_code()) to be reported
// like any other.
Result<EffectRequest> effect_request(const State& state, const EffectNote& note,
                                     const SecretSource& secrets, int64_t now_ms,
                                     Meter* meter = nullptr);
// With parameters of any kind, but without secrets: for what the frame does itself, a computation,
// a job or a composition, whether or not that is there. A job's parameters are an object of its
// type, queue, args and options.
Result<EffectRequest> request_in_frame(const State& state, const RunId& run, uint32_t effect,
                                       int64_t now_ms, Meter* meter = nullptr);
// Makes the job or composition that fills the step's place, if it is still waited for and not there
// yet. The frame that starts the step does so itself unless it is full.
void make_step_child(Frame& frame, const RunId& run, uint32_t effect);

}  // namespace pawl
