// Action: an operation that the server performs for a step, and the registry of all actions.
//
// start() is called on any thread and returns at once; done is called exactly once, on any thread,
// possibly before start() returns (pure actions do that). cancel() asks a started action to end
// early: its done is still called, with CANCELLED. Everything is bounded in time and size; nothing
// is cut silently. Outcome codes are those of the language (VALIDATION_ERROR, TIMEOUT_ERROR,
// PERMISSION_DENIED, …); whether a failure may be tried again is part of the outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "actions/byte_gate.h"
#include "actions/process_limits.h"
#include "base/result.h"
#include "base/value.h"
#include "expr/template/secret.h"

namespace pawl::actions {

struct ActionRequest {
  std::string name;             // http.get
  Value params;                 // interpolated; object or null
  std::string idempotency_key;  // <run>/<step path>/<attempt>
  int64_t timeout_ms = 0;       // the rest of the step's timeout; 0 = the action's default
  Value names;                 // what expressions can see: {inputs, steps, context, workflow, loop}
  std::string work_directory;  // of the run; "" = none
  std::string run_id;
  std::string step_id;
  std::vector<expr::Secret> secrets;  // contained in the parameters
};

struct ActionOutcome {
  bool ok = false;
  Value output;
  std::string code;  // when it failed
  std::string message;
  Value details;
  bool retryable = false;

  static ActionOutcome success(Value output);
  static ActionOutcome failure(std::string code, std::string message, bool retryable);
};

using ActionDone = std::function<void(ActionOutcome)>;

struct ActionInfo {
  std::string name;
  std::string description;
  Value params_schema;  // JSON Schema of the parameters
  Value output_schema;
  bool pure = false;  // needs nothing outside the process and ends at once
  // Done by the engine, since it changes the run or creates a child run (workflow.*): listed here
  // for its schema, never started.
  bool by_engine = false;
};

// The target of an action, for circuit breakers: "http.get api.example.com", "fs.read". A longer
// one is cut and ends in its hash, since it is the key of a row.
constexpr size_t kBreakerKeyBytesMax = 255;
std::string breaker_key(std::string_view action, const Value& params);

struct FsPolicy {
  bool confined = true;               // to the work directory and the lists below
  std::vector<std::string> writable;  // directories
  std::vector<std::string> read_only;
  std::vector<std::string> deny;
  // The server's own directories. Whatever the lists say, an action may use only its run's
  // directory in them.
  std::vector<std::string> off_limits;
};

struct HttpPolicy {
  bool allow_private = false;
  std::vector<std::string>
      allow_hosts;  // exempt from the private check; "host", "host:port", "*.example.com"
  std::vector<std::string> deny_hosts;
};

struct ShellPolicy {
  bool enabled = false;
  std::vector<std::string> allow;  // commands; empty = any, once enabled
  // Names passed on from the server's environment; "*" = all. Never the server's own (PAWL_…). With
  // a list of commands, also the only names that a step's env may set ("*" does not count).
  std::vector<std::string> environment;
  std::string cwd;  // where commands run; "" = in the directory of the run
  ProcessLimits limits;
};

struct ActionPolicy {
  HttpPolicy http;
  FsPolicy fs;
  ShellPolicy shell;
  size_t output_bytes_max = 10u << 20;
  static ActionPolicy local();  // pawl run: the user's own definition, the user's own rights
};

class ActionRunner {
 public:
  explicit ActionRunner(ActionPolicy policy, uint32_t threads = 4);
  ~ActionRunner();  // ends running actions with CANCELLED
  ActionRunner& operator=(ActionRunner&&) = delete;

  // Returns a handle for cancel(), unique while the runner lives. If 10,000 wait for a thread
  // already, the outcome is ACTION_UNAVAILABLE.
  uint64_t start(ActionRequest request, ActionDone done);
  // A waiting action is answered before cancel() returns; a process is killed with its group and
  // answered when it has ended; a registered action cannot be interrupted and is answered when it
  // returns. A handle that was answered is ignored.
  void cancel(uint64_t handle);

  // Registers an action of the embedding program. Conflict if the name is taken.
  using Callable = std::function<ActionOutcome(const ActionRequest&)>;
  Status add(ActionInfo info, Callable callable);
  Status remove(std::string_view name);
  std::vector<ActionInfo> list() const;

  // Answers that wait for the engine are counted here; actions that need a thread or the network
  // begin only while the gate is open.
  static constexpr size_t kAnswerBytesMax = 64u << 20;
  const std::shared_ptr<ByteGate>& gate() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// A built-in action, without a runner: for validation and documentation. Null if there is none.
const ActionInfo* find_action(std::string_view name);
const std::vector<ActionInfo>& builtin_actions();

// Checks parameters and turns scalars into strings where a string is declared, text back into a
// number or a boolean where one is declared, and drops null for optional parameters. The error has
// the text of VALIDATION_ERROR. Unknown names are ignored unless the schema says
// additionalProperties: false.
Status check_params(const ActionInfo& info, Value& params);

// Names that the action does not know and will ignore: worth a warning when a definition is put.
std::vector<std::string> unknown_params(const ActionInfo& info, const Value& params);

}  // namespace pawl::actions
