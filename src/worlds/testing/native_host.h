// NativeHost: a ModuleHost whose modules are functions of this program, for tests and simulations.
// The bytes of a module are any text, under whose hash its function is found; so a manifest brings
// it along as code like another.
//
// Needs no GoogleTest. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/module_host.h"
#include "worlds/records.h"

namespace pawl::worlds {

class NativeHost final : public ModuleHost {
 public:
  using Function = std::function<ModuleCall(std::string_view input)>;

  // Gives the hash of the code.
  std::string set(std::string_view code, Function function);

  // Code with no function is no module: module.invalid.
  Result<std::vector<Complaint>> judge(std::string_view code, Entry entry,
                                       uint32_t memory_pages) override;
  ModuleCall call(std::string_view wasm_hash, LoadCode load, Entry entry, std::string_view input,
                  const ModuleLimits& limits) override;

  bool available = true;
  uint64_t calls = 0;

 private:
  std::map<std::string, Function, std::less<>> functions_;  // by hash
};

// What a step is given, taken apart. Views into the input.
struct StepSeen {
  explicit StepSeen(std::string_view input);

  MaybeBytes state = {};
  std::string_view schema, value;
  MaybeBytes key = {}, context = {};
  std::string_view arm;        // of the value; "" if it is in none
  std::string_view arm_value;  // encoded
};

// What a step says, put together. Until a state is given there is none: the instance has completed.
class StepSaid {
 public:
  StepSaid& state(std::string canonical);
  StepSaid& event(std::string_view schema, std::string_view value, MaybeBytes key = {});
  StepSaid& effect(std::string_view kind, std::string_view params, std::string_view slot = {},
                   MaybeBytes requested_key = {});
  StepSaid& annotations(std::string bytes);
  StepSaid& status(std::string_view status, std::string_view error = {});

  std::string bytes() const;
  ModuleCall call() const { return {.end = CallEnd::Returned, .output = bytes(), .fuel = 100}; }

 private:
  std::optional<std::string> state_, ann_;
  std::vector<std::string> events_, effects_;
  std::string status_, error_;
};

}  // namespace pawl::worlds
