#include "rehearse/story.h"

#include "base/check.h"
#include "journal/events.h"
#include "journal/script_events.h"
#include "kernel/scripts/step_names.h"
#include "rehearse/span.h"

namespace pawl::rehearse {
namespace {

constexpr size_t kResultMax = 200;

std::string cut(const std::string& text) {
  if (text.size() <= kResultMax) return text;
  size_t end = kResultMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string said(const StepError& error) { return error.code + ": " + error.message; }

std::string result_of(const StepEnded& event) {
  std::string text(step_state_name(event.state));
  if (event.state == StepState::Completed && event.error.empty()) text += " " + event.output;
  if (event.state == StepState::Completed && !event.error.empty())
    text += " (ignored " + said(event.error) + ")";
  if (event.state == StepState::Failed) text += " " + said(event.error);
  if (event.state == StepState::Skipped && !event.reason.empty()) text += ": " + event.reason;
  return cut(text);
}

}  // namespace

std::string Story::prefix_of(const RunId& run) const {
  auto at = prefixes_.find(run);
  return at == prefixes_.end() ? "" : at->second;
}

void Story::read(uint64_t number, const std::string& record) {
  auto events = journal::read_record(number, record);
  PAWL_CHECK(events.ok());
  for (const journal::EventBytes& event : *events) tell(event);
}

void Story::started(const StepStarted& event, int64_t at_ms) {
  std::string path = prefix_of(event.run) + event.step;
  if (event.effect != 0) asked_[{event.run, event.effect}] = path;
  if (moments_.size() < kMomentsMax) {
    open_[path] = moments_.size();
    moments_.push_back({path, event.type, event.attempt, at_ms, -1, ""});
  }
  beginnings_.push_back({event.run, path, event.step, false, "", at_ms});
}

void Story::end(const std::string& path, uint32_t attempt, int64_t at_ms, std::string result) {
  auto at = open_.find(path);
  if (at == open_.end()) {
    if (moments_.size() < kMomentsMax)
      moments_.push_back({path, "", attempt, at_ms, at_ms, std::move(result)});
    return;
  }
  moments_[at->second].end_ms = at_ms;
  moments_[at->second].result = std::move(result);
  open_.erase(at);
}

void Story::tell(const journal::EventBytes& event) {
  int64_t at_ms = event.time_ms - start_ms_;
  auto read_as = [&](auto& into) { PAWL_CHECK(codec::decode(event.bytes, into)); };
  if (event.type == EventType::ScriptCreated) {
    ScriptCreated created;
    read_as(created);
    auto around = asked_.find({created.parent.run, effect_of(created.parent.place)});
    prefixes_[created.run] = around == asked_.end() ? "" : around->second + ".";
  } else if (event.type == EventType::JobCreated) {
    JobCreated made;
    read_as(made);
    if (prefixes_.count(made.parent.run) != 0)
      children_.push_back({made.parent.run, effect_of(made.parent.place)});
  } else if (event.type == EventType::RunCreated) {
    RunCreated made;
    read_as(made);
    if (prefixes_.count(made.parent.run) != 0)
      children_.push_back({made.parent.run, effect_of(made.parent.place)});
  } else if (event.type == EventType::StepStarted) {
    StepStarted begun;
    read_as(begun);
    started(begun, at_ms);
  } else if (event.type == EventType::StepSuspended) {
    StepSuspended held;
    read_as(held);
    beginnings_.push_back(
        {held.run, prefix_of(held.run) + held.step, held.step, true, held.decision, at_ms});
  } else if (event.type == EventType::StepRetrying) {
    StepRetrying again;
    read_as(again);
    end(prefix_of(again.run) + again.step, again.attempt, at_ms,
        cut("failed " + said(again.error)) + ", again at +" + span_text(again.due_ms - start_ms_));
  } else if (event.type == EventType::StepEnded) {
    StepEnded over;
    read_as(over);
    end(prefix_of(over.run) + over.step, 0, at_ms, result_of(over));
  }
}

}  // namespace pawl::rehearse
