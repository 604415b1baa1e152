// The inputs and outputs of a module's calls (docs/reference/module-abi.md). Outputs are judged
// strictly: a member that the contract does not have, or bytes that are not CBOR of our kind, fail
// the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worlds/fault.h"
#include "worlds/program.h"
#include "worlds/records.h"

namespace pawl::worlds {

constexpr size_t kStepEffectsMax = 64;
constexpr size_t kStepEventsMax = 256;
constexpr size_t kStepBytesMax = 1u << 20;  // state, ann, values and params together
constexpr size_t kRequestedKeySize = 32;
constexpr size_t kDetailMax = 4096;  // of what is journaled in a module's words

// --- workflows
struct StepCall {
  const Module& module;
  MaybeBytes state = {};
  std::string_view value = {};  // of abi.event: already in its arm
  MaybeBytes key = {};          // of the instance
  // The context, for modules that have one.
  int64_t now_ns = 0, logical_now_ns = 0;
  uint64_t seq = 0;  // journal_height
  std::string_view entropy = {};
  std::string_view event_hash = {}, manifest_hash = {};
};
std::string step_input(const StepCall& call);

struct OutEvent {
  std::string_view schema, value;
  MaybeBytes key = {};
};
struct OutEffect {
  std::string_view kind, params;
  MaybeBytes cap_slot = {};
  MaybeBytes requested_key = {};
};
enum class Said : uint8_t { Nothing, Completed, Failed };
// As it came, with views into the output.
struct StepOutput {
  MaybeBytes state = {};
  std::vector<OutEvent> events = {};
  std::vector<OutEffect> effects = {};
  MaybeBytes ann = {};
  Said said = Said::Nothing;
  MaybeBytes error = {};
};
// step.output_invalid, step.output_limit; nothing if it is sound.
std::optional<Fault> read_step_output(std::string_view bytes, StepOutput& output);

// --- pure modules
struct PureCall {
  const Module& module;
  std::string_view input = {};
  // The context, for modules that have one.
  int64_t logical_now_ns = 0;
  uint64_t seq = 0;
  std::string_view manifest_hash = {};
};
std::string pure_input(const PureCall& call);
// pure.output_invalid
std::optional<Fault> read_pure_output(std::string_view bytes, std::string_view& output);

constexpr std::string_view kTimeout = "step.timeout";

// The fault of a step whose call ended so; nullopt for Returned and Unavailable.
std::optional<Fault> fault_of_call(CallEnd end);

// What a request is refused with whose call ended as Unavailable.
Error no_runtime(const std::string& why);

// The longest prefix of at most `size` bytes that does not cut a character of UTF-8.
std::string_view cut_text(std::string_view text, size_t size);

}  // namespace pawl::worlds
