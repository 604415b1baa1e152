#include "kernel/scripts/context.h"

#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

constexpr uint64_t kEventsPerFrameMax = 5'000;

}  // namespace

StepError step_error(std::string code, std::string message, std::string step) {
  return {std::move(code), std::move(message), "", std::move(step)};
}

StepOutcome failed_outcome(std::string code, std::string message, bool retryable) {
  StepOutcome outcome;
  outcome.error = step_error(std::move(code), std::move(message));
  outcome.retryable = retryable;
  return outcome;
}

Value error_json(const StepError& error) {
  Value::Object object;
  object.set("code", error.code);
  object.set("message", error.message);
  if (!error.step.empty()) object.set("step_id", error.step);
  return object;
}

At RunContext::at(std::string_view scope_path, uint32_t position) const {
  At at;
  at.scope = scope_path;
  at.position = position;
  at.step = &plan().at(scope(scope_path)->list, position);
  at.path = join_path(scope_path, at.step->id);
  return at;
}

bool RunContext::find(std::string_view path, At& out) const {
  auto [list, step] = split_step(path);
  const Scope* in = scope(list);
  if (in == nullptr) return false;
  uint32_t position = plan().find(in->list, step);
  if (position >= in->records.size()) return false;
  out = at(list, position);
  return true;
}

ExpressionNames RunContext::names_for(const At& at, std::string_view text) const {
  ExpressionNames names(state, entity(), at.scope, text, frame.now_ms());
  names.metered(frame.meter());
  if (script().phase != ScriptPhase::Steps) names.with_error(script().error);
  return names;
}

void RunContext::note(const At& at, const std::string& type, const Value& data) {
  auto event = event_for<StepNoted>(at);
  event.type = type;
  event.data = data.json();
  frame.emit(event);
}

void RunContext::note_run(const std::string& type, const Value& data) {
  StepNoted event;
  event.run = id;
  event.type = type;
  event.data = data.json();
  frame.emit(event);
}

// --- bounds

Status judge_text(std::string_view what, std::string_view json, size_t bytes_max) {
  if (json.size() > bytes_max)
    return Error{ErrorCode::TooLarge,
                 std::string(what) + " must be at most " + std::to_string(bytes_max) + " bytes"};
  if (json_values(json, kValuesMax) > kValuesMax)
    return Error{ErrorCode::TooLarge, std::string(what) + " must hold at most " +
                                          std::to_string(kValuesMax) + " values"};
  return ok_status();
}

bool RunContext::full() const {
  return frame.meter().spent() || frame.emitted() > kEventsPerFrameMax;
}

// Hooks and compensation may exceed the bound a little, to clean up.
bool RunContext::has_room_for(uint64_t bytes) const {
  uint64_t most = state.script_defaults().run_bytes_max;
  if (script().phase != ScriptPhase::Steps) most += most / 4;
  return script().held_bytes + bytes <= most;
}

std::string RunContext::room_told(uint64_t bytes) const {
  return "the run holds " + std::to_string(script().held_bytes) + " bytes, and " +
         std::to_string(bytes) + " more would pass its bound of " +
         std::to_string(state.script_defaults().run_bytes_max);
}

// Cuts an error's message and details that are too large, with a note.
StepError RunContext::bounded(StepError error) const {
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

const std::vector<std::string>& RunContext::made_of(std::string_view step) const {
  static const std::vector<std::string> kNone;
  for (const MadeParts& made : script().made)
    if (made.step == step) return made.values;
  return kNone;
}

void RunContext::keep_made(const std::string& step, std::vector<std::string> values) {
  cut_short = true;
  if (!values.empty()) frame.emit(PartsMade{id, step, std::move(values)});
}

}  // namespace pawl::scripts
