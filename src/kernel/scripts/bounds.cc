// How much a run may do in one frame, put together, and hold.
#include "kernel/scripts/flow.h"

namespace pawl {
namespace {

constexpr uint64_t kEventsPerFrameMax = 5'000;

}  // namespace

Status judge_text(std::string_view what, std::string_view json, size_t bytes_max) {
  if (json.size() > bytes_max)
    return Error{ErrorCode::TooLarge,
                 std::string(what) + " must be at most " + std::to_string(bytes_max) + " bytes"};
  if (json_values(json, kValuesMax) > kValuesMax)
    return Error{ErrorCode::TooLarge, std::string(what) + " must hold at most " +
                                          std::to_string(kValuesMax) + " values"};
  return ok_status();
}

bool ScriptFlow::full() const {
  return frame_.meter().spent() || frame_.emitted() > kEventsPerFrameMax;
}

// What cleans up after a run that has reached its bound may hold a little more.
bool ScriptFlow::has_room_for(uint64_t bytes) const {
  uint64_t most = state_.script_defaults().run_bytes_max;
  if (script().phase != ScriptPhase::Steps) most += most / 4;
  return script().held_bytes + bytes <= most;
}

std::string ScriptFlow::room_told(uint64_t bytes) const {
  return "the run holds " + std::to_string(script().held_bytes) + " bytes, and " +
         std::to_string(bytes) + " more would pass its bound of " +
         std::to_string(state_.script_defaults().run_bytes_max);
}

void ScriptFlow::fail_too_large(const At& at, const std::string& what) {
  fail(at,
       step_error("NON_RETRYABLE", what + " is larger than " + std::to_string(output_max()) +
                                       " bytes, the limit of an output"),
       false);
}

void ScriptFlow::fail_no_room(const At& at, uint64_t bytes) {
  fail(at, step_error("RUN_TOO_LARGE", room_told(bytes)), false);
}

// An error tells what happened; what is too large for that is left out, and it says so.
StepError ScriptFlow::bounded(StepError error) const {
  constexpr size_t kMessageMax = 64u << 10;
  constexpr size_t kDetailsMax = 1u << 20;
  constexpr size_t kShortMax = 1u << 10;
  bool room = has_room_for(held_by(error));
  size_t longest = room ? kMessageMax : kShortMax;
  if (error.details.size() > (room ? kDetailsMax : 0)) {
    error.message += " (" + std::to_string(error.details.size()) + " bytes of details left out)";
    error.details.clear();
  }
  if (error.message.size() > longest) {
    size_t end = longest;
    while (end > 0 && (static_cast<uint8_t>(error.message[end]) & 0xc0) == 0x80) --end;
    size_t left_out = error.message.size() - end;
    error.message.resize(end);
    error.message += "… (" + std::to_string(left_out) + " bytes left out)";
  }
  return error;
}

const std::vector<std::string>& ScriptFlow::made_of(std::string_view step) const {
  static const std::vector<std::string> kNone;
  for (const MadeParts& made : script().made)
    if (made.step == step) return made.values;
  return kNone;
}

void ScriptFlow::keep_made(const std::string& step, std::vector<std::string> values) {
  cut_short_ = true;
  if (!values.empty()) frame_.emit(PartsMade{id_, step, std::move(values)});
}

}  // namespace pawl
