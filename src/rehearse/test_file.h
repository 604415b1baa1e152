// TestFile: the input of `pawl test`: a definition, mocks for external calls, actions of people and
// their times, and the expected outcome.
//
// Reading reports every fault at once with path and line, as the reader of definitions does, and
// refuses unknown keys. Mock keys are looked up in the definitions: a mock for a missing step would
// silently never answer. Pure except for the loader of definitions. docs/guide/testing.md is the
// language.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actions/secret_binding.h"
#include "base/value.h"
#include "plan/definition.h"

namespace pawl::rehearse {

// One answer of a mock.
struct Answer {
  std::string when;  // CEL; "" = always. Answers with the same text are one sequence
  bool hangs = false;
  bool fails = false;
  Value result;  // with templates over params, step, attempt, call, execution, idempotency_key
  std::string code;
  std::string message;
  Value details;
  bool retryable = false;
  int64_t takes_ms = 0;
  std::optional<bool> unsafe;  // whether doing it twice does harm; nothing: decided by the action
};

struct Mock {
  std::string key;  // a step's id, its full path with * for any part, or an action's name
  std::vector<Answer> answers;
};

// An action of a person on the run, on the virtual clock.
struct Event {
  enum class Kind : uint8_t { Decide, Signal, Cancel, Pause, Resume };
  Kind kind = Kind::Signal;
  std::string place;  // events[2], for messages
  std::string after;  // relative to the time when this step begins to wait; "" = to the start
  int64_t at_ms = 0;
  std::string step;    // Decide; Signal: "" = any step that waits for it
  std::string choice;  // Decide
  std::string data;    // Decide: JSON
  std::string by;      // Decide, Signal
  std::string reason;  // Decide, Cancel
  std::string name;    // Signal
  std::string payload;
  bool rollback = false;  // Cancel
  bool now = false;       // Pause
};

struct Elapsed {
  std::optional<int64_t> exactly_ms;
  std::optional<int64_t> at_least_ms;
  std::optional<int64_t> at_most_ms;
};

struct Expect {
  std::string status;  // never empty once read
  std::optional<Value> outputs;
  std::optional<Value> error;
  Value::Object steps;
  Value::Object calls;
  std::vector<std::string> order;
  Elapsed elapsed;
  std::vector<std::string> cel;
};

struct CaseSecret {
  std::string name;
  std::string value;
  actions::SecretBinding binding;
};

struct Case {
  std::string name;
  uint32_t line = 0;
  Value::Object inputs;
  std::vector<CaseSecret> secrets;
  std::vector<Mock> mocks;  // the case's own, then those of defaults
  std::vector<Event> events;
  std::vector<std::string> real;  // actions that really run
  int64_t starts_at_ms = 0;       // Unix
  int64_t until_ms = 0;           // check it then, ended or not; 0 = at its end
  Expect expect;
};

struct TestFile {
  std::shared_ptr<const plan::Script> script;  // the one that is tested
  std::vector<std::shared_ptr<const plan::Script>> others;
  std::vector<Case> cases;
};

struct TestFileRead {
  TestFile file;
  std::vector<plan::Fault> errors;
  bool valid() const { return errors.empty(); }
};

// The text of a definition, by its path in the test file.
using Loader = std::function<Result<std::string>(const std::string& path)>;

inline constexpr size_t kCasesMax = 1'000;
inline constexpr int64_t kUsualStartMs = 1'767'225'600'000;  // 2026-01-01T00:00:00Z

TestFileRead read_test_file(std::string_view text, const Loader& load);

// Whether a key of mocks, steps or calls means this step: its full path, the same with * for any
// part, or its own id in any list.
bool names_step(std::string_view key, std::string_view path);

}  // namespace pawl::rehearse
