// Script: a definition, compiled. Steps in lists, names resolved to places, durations to
// milliseconds, defaults filled in. The kernel runs it, diagrams draw it.
//
// Immutable once compiled, shared between all runs of one version. Expressions stay text: they are
// compiled once each by the cache of the expression engine. A step's place (its index in
// Script::steps) is stable for one text; records on disk name steps by their path, never by place.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "plan/action_kind.h"

namespace pawl::plan {

enum class StepType : uint8_t {
  Action,
  Condition,
  Loop,
  Parallel,
  Wait,
  Decision,  // reasoning, and PACE's decision with options
  Test,      // PACE's decision with a condition alone: {result: bool}
  Sequence,
  Job,          // one Open Job Spec job; an agent's task too
  Composition,  // chain, group or batch, as the Open Job Spec body says
  Subworkflow,
};

// How its dependencies must have ended.
enum class Trigger : uint8_t { NoneFailed, AllSuccess, AllDone, OneSuccess };

enum class Backoff : uint8_t { None, Constant, Linear, Exponential };

// Of `on_failure: retry` and `on_error: retry` without a policy.
constexpr uint32_t kUsualRetriesOnFailure = 2;
constexpr uint32_t kUsualRetriesOnError = 3;

struct RetryPolicy {
  uint32_t max = 0;  // further attempts after the first
  Backoff backoff = Backoff::None;
  int64_t delay_ms = 0;
  int64_t max_delay_ms = 0;          // 0 = no bound of its own
  uint32_t multiplier_milli = 2000;  // of Exponential, in thousandths
  bool by_default = false;           // `retry` without a policy: the server's settings apply

  bool operator==(const RetryPolicy&) const = default;
};

// What happens when the attempts are used up.
enum class OnError : uint8_t {
  Propagate,  // its list fails, and with it the enclosing step
  Ignore,     // completed without output; the error is kept as ignored_error
  Fail,       // the run fails at once, whatever the enclosing steps say
  Fallback,   // another step of the list runs instead and gives the output
  Skip,       // skipped; dependents run
  Rollback,   // the run fails, and completed steps are compensated
};

enum class LoopMode : uint8_t { ForEach, While, Until };
enum class ParallelMode : uint8_t { All, Race };
// What happens at a timeout. Continue: the step completes with {timed_out: true}.
enum class OnTimeout : uint8_t { Fail, Suspend, Cancel, Continue };

constexpr uint32_t kNoList = UINT32_MAX;
constexpr uint32_t kNoStep = UINT32_MAX;

struct Option {
  std::string id;
  std::string description;
};

struct Branch {
  std::string key;  // of a condition: the value that chooses it
  uint32_t list = kNoList;
};

struct Step {
  std::string id;     // local: unique in its list
  std::string label;  // for people; may be empty
  StepType type = StepType::Action;
  std::string type_name;  // as written: reasoning, agent, sequential, …
  uint32_t list = kNoList;
  uint32_t position = 0;  // in its list
  uint32_t line = 0;      // in the source, 0 if unknown

  std::vector<uint32_t>
      depends_on;  // positions in its list; order inside sub-lists is made explicit here
  std::vector<uint32_t> dependents;  // positions that name this one
  bool dormant = false;              // a fallback: starts only when it is needed
  Trigger trigger = Trigger::NoneFailed;
  std::string condition;   // CEL; empty = always
  int64_t timeout_ms = 0;  // of one attempt
  RetryPolicy retry;
  OnError on_error = OnError::Propagate;
  uint32_t fallback = kNoStep;    // position in its list
  uint32_t compensate = kNoList;  // the list that undoes it

  std::string action;  // Action: its name, and who does it
  ActionKind action_kind = ActionKind::Outside;
  Value params;  // Action: with templates. Job: args; Composition: the body; Subworkflow: inputs
  std::string params_text;  // params as JSON, where names of steps are searched for

  std::string expression;        // Condition, Test; Loop: while/until
  std::vector<Branch> branches;  // Condition by key, Parallel in order, Sequence one
  uint32_t otherwise = kNoList;  // Condition: default

  LoopMode loop_mode = LoopMode::ForEach;
  Value over;  // Loop: text (CEL, else jq) or a list
  uint32_t body = kNoList;
  uint32_t max_iterations = 0;  // 0 = none given
  uint32_t concurrency = 1;     // Loop: iterations at once; 0 = all

  ParallelMode parallel_mode = ParallelMode::All;

  int64_t duration_ms = 0;      // Wait
  std::string duration;         // Wait: a template that gives one, if it is no plain duration
  std::string until;            // Wait: RFC 3339 or a template that gives one
  std::string signal;           // Wait
  int64_t wait_timeout_ms = 0;  // Wait for a signal; Decision
  OnTimeout on_timeout = OnTimeout::Fail;

  std::string prompt;                                       // Decision
  std::vector<std::pair<std::string, std::string>> inject;  // Decision: name → path
  std::vector<Option> options;                              // Decision: empty = free form
  std::string fallback_choice;
  bool has_fallback_choice = false;
  std::string target_agent;

  std::string job_type;    // Job
  std::string queue;       // Job
  Value options_body;      // Job: further Open Job Spec options, as an object
  std::string definition;  // Subworkflow
  std::string version;
};

struct List {
  std::vector<uint32_t> steps;  // places, in written order
  uint32_t owner = kNoStep;     // the enclosing step; kNoStep for the root and the hooks
  std::vector<uint32_t> by_id;  // positions, in the order of their ids
};

struct Output {
  std::string name;
  Value value;  // template or literal
};

struct Script {
  std::string name;
  std::string version;
  std::string description;
  std::vector<Step> steps;
  std::vector<List> lists;
  uint32_t root = kNoList;
  uint32_t on_complete = kNoList;
  uint32_t on_error = kNoList;
  Value inputs;        // object: defaults for inputs that are not given
  Value input_schema;  // object or null
  int64_t timeout_ms = 0;
  OnTimeout on_timeout = OnTimeout::Fail;
  OnError on_failure = OnError::Propagate;  // Rollback: every unhandled failure rolls back
  std::vector<Output> outputs;
  Value metadata;
  bool text_mode = false;  // compat: "text": whole-value templates give strings
  int32_t priority = 0;
  uint32_t max_concurrent = 0;  // runs of this definition at once; 0 = no bound
  bool reject_at_limit = false;

  const Step& at(uint32_t list, uint32_t position) const {
    return steps[lists[list].steps[position]];
  }
  // The position of the step with this id in a list, or kNoStep.
  uint32_t find(uint32_t list, std::string_view id) const;
  // Orders by_id of a list whose steps have been read, which find() needs.
  void index(uint32_t list);
};

// Namespaces of sub-step ids: parent.<namespace>.child.
std::string iteration_name(uint32_t iteration);  // iter_0
std::string branch_name(uint32_t branch);        // branch_0
inline constexpr std::string_view kDefaultBranch = "default";
inline constexpr std::string_view kSequenceName = "seq";
inline constexpr std::string_view kCompensateName = "compensate";

}  // namespace pawl::plan
