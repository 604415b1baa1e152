// WorldTestFile: the input of `pawl worlds test`: golden steps of modules, and scripts for a whole
// world. docs/guide/testing-worlds.md is the language.
//
// Reading reports every fault at once with path and line and refuses unknown keys; what a schema
// says of a value is judged when the case runs. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "plan/definition.h"

namespace pawl::rehearse {

// One call of a module, with nothing around it.
struct StepCase {
  std::string name;
  uint32_t line = 0;
  std::string request;  // the body of a step test, JSON
  Value::Object expect;
};

struct ScriptStep {
  enum class Kind : uint8_t {
    Event,
    Receipt,
    Advance,
    Clock,
    Restart,
    Snapshot,
    Apply,
    Terminate,
    Retry,
    Expect
  };
  Kind kind = Kind::Event;
  std::string place;  // worlds[0].script[2], for messages
  Value body;         // what the key of its kind holds
  int64_t ns = 0;     // Advance: by; Clock: to
  std::string refused;    // the code that it must be refused with; "" = it must not be
  std::string outcome;    // Receipt: "" = settled
  bool duplicate = false; // Event
};

struct ScriptCase {
  std::string name;
  uint32_t line = 0;
  int64_t now_ns = 0;
  std::string seed;
  std::vector<ScriptStep> script;
};

struct WorldTestFile {
  std::string world;  // its folder, relative to the file's
  std::vector<StepCase> steps;
  std::vector<ScriptCase> worlds;
};

struct WorldTestFileRead {
  WorldTestFile file;
  std::vector<plan::Fault> errors;
  bool valid() const { return errors.empty(); }
};

WorldTestFileRead read_world_test_file(std::string_view text);

}  // namespace pawl::rehearse
