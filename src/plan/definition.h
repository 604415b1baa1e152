// Definition: workflow definitions as people write them, JSON or YAML, in the known dialects, and
// their faults.
//
// Reading never stops at the first fault: every one is reported, with its path
// (steps[2].retry.max), its line where the source has lines, a code, and a hint where one helps.
// Faults are data, not failures of the call. Pure; any thread; bounded by DefinitionLimits.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "plan/script.h"

namespace pawl::plan {

struct Fault {
  std::string path;  // "" for the whole definition
  std::string code;  // required, unknown_field, type, value, duplicate, cycle, unknown_step, …
  std::string message;
  std::string hint;   // may be empty
  uint32_t line = 0;  // 1-based; 0 if the source has no lines
};

struct DefinitionLimits {
  size_t bytes_max = 4u << 20;  // YAML: a quarter of it at most
  uint32_t steps_max = 10'000;
  uint32_t depth_max = 16;  // of nested lists
  // The budget for compiling all its expressions, patterns and schemas (expr/budget.h).
  uint64_t compile_steps_max = 4'000'000;
};

class Cursor;
class Findings;

// Checks the parameters that a step gives its action; no cursor if it gives none. Passed in, since
// this module does not know the parameters of actions.
using ParamsJudge = void (*)(std::string_view action, const Cursor& step, const Cursor* params,
                             Findings& findings);

struct ReadOptions {
  bool lenient = false;  // unknown fields and parameters warn instead of failing
  // Known action names; null: not checked. An unknown one is an error with the nearest known name.
  const std::vector<std::string>* actions = nullptr;
  ParamsJudge params = nullptr;  // null: not checked
  // The number of leading steps that were accepted before; their parameters are not checked again.
  uint32_t steps_accepted = 0;
  DefinitionLimits limits;
};

struct ReadResult {
  std::shared_ptr<const Script> script;  // null if there are errors
  std::string canonical;                 // the definition in canonical names, compact JSON
  std::vector<Fault> errors;
  std::vector<Fault> warnings;
  bool valid() const { return script != nullptr; }
};

// JSON if the text begins with '{', YAML otherwise. A file wrapper ({name, description,
// input_schema, definition}) is understood too.
ReadResult read_definition(std::string_view text, const ReadOptions& options = {});
// A string is text, although a Value could be made of it.
inline ReadResult read_definition(const std::string& text, const ReadOptions& options = {}) {
  return read_definition(std::string_view(text), options);
}
inline ReadResult read_definition(const char* text, const ReadOptions& options = {}) {
  return read_definition(std::string_view(text), options);
}
// The same for a parsed value; faults have no lines.
ReadResult read_definition(const Value& definition, const ReadOptions& options = {});
// Compiles a `canonical` text that was accepted before. Corrupt if it is not one.
Result<std::shared_ptr<const Script>> compile_canonical(std::string_view canonical);
// The same text as a value, to be changed. It may be nested deeper than other JSON.
Result<Value> parse_canonical(std::string_view canonical);

// The JSON Schema (2020-12) of the language, for editors and for GET /v1/definitions/schema.
const Value& definition_schema();

}  // namespace pawl::plan
