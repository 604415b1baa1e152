// The code of the simulated modules: native functions in the place of WASM, behind the host that
// worlds know.
//
// A module does what the script of its event says, one letter an act, so that the crowd draws
// programs by drawing texts; on receipts it does what follows from the receipt's bytes. Steps are
// pure functions of code and input.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/module_host.h"

namespace pawl::sim {

constexpr uint64_t kModulePrograms = 8;

// A manifest with its nodes, as the body of a request. Programs differ in their code's version, in
// the order of their subscriptions, and in one subscription.
std::string module_program(uint64_t number);

// What the checkers know of the programs, beside the texts above.
struct ModuleRoute {
  std::string schema, module;
  bool keyed = false;
};
std::vector<ModuleRoute> module_routes(uint64_t number);
struct ModuleShape {
  std::string event;  // its schema
  bool keyed = false, has_context = false;
};
ModuleShape module_shape(std::string_view module);
// A step of a module, as it runs in a world of this program.
worlds::ModuleCall run_module(uint64_t number, std::string_view module, std::string_view input);
std::vector<std::string> module_effects(std::string_view module);
bool hears_denials(std::string_view module);
std::string module_version(uint64_t number, std::string_view module);  // the hash of its code

constexpr std::string_view kActLetters = "xxxxgpptttbBjjrddddqqz";
constexpr std::string_view kBadLetters = "fTLOSuv6E";

class NativeModules : public worlds::ModuleHost {
 public:
  struct Call {
    std::string module;
    std::string value;  // of the event, in its arm
  };

  Result<std::vector<Complaint>> judge(std::string_view code, worlds::Entry entry,
                                       uint32_t memory_pages) override;
  worlds::ModuleCall call(std::string_view hash, worlds::LoadCode load, worlds::Entry entry,
                          std::string_view input, const worlds::ModuleLimits& limits) override;

  // The next call of a live step runs out of real time, or finds no runtime.
  enum class Trouble : uint8_t { None, Timeout, Unavailable };
  Trouble next = Trouble::None;
  bool is_replay = false;   // then no trouble comes
  std::vector<Call> calls;  // of steps, since somebody cleared it
  uint64_t steps = 0;
  void forget_code() { code_.clear(); }  // a new process

 private:
  std::map<std::string, std::string, std::less<>> code_;  // by hash
};

}  // namespace pawl::sim
