#include "sim/script_plants.h"

#include <utility>

#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_decision.h"
#include "sim/record_rewrite.h"
#include "sim/script_model.h"

namespace pawl::sim {
namespace {

// A changed copy of the event.
template <class Event, class Change>
void repeat_each(LooseFrame& frame, Change&& change) {
  for (size_t i = 0; i < frame.size(); ++i) {
    Event event;
    if (!read(frame[i], event) || !change(event)) continue;
    frame.insert(frame.begin() + static_cast<ptrdiff_t>(++i), loose(event));
  }
}

template <class Event, class Match>
void swallow_if(LooseFrame& frame, Match&& matches) {
  for (LooseEvent& each : frame) {
    Event event;
    if (read(each, event) && matches(event)) each = nothing_happened();
  }
}

void begin_too_early(LooseFrame& frame) {
  StepEnded ended;
  StepStarted started;
  for (size_t i = 0; i + 1 < frame.size(); ++i) {
    if (!read(frame[i], ended) || !read(frame[i + 1], started)) continue;
    bool beside = split_step(ended.step).first == split_step(started.step).first;
    if (beside && started.attempt == 1) std::swap(frame[i], frame[i + 1]);
  }
}

void lose_ends_of_children(LooseFrame& frame) {
  RunId child;
  for (LooseEvent& each : frame) {
    ScriptMoved moved;
    StepEnded ended;
    if (read(each, moved) && moved.nested && is_end(moved.to)) child = moved.run;
    if (!child.is_nil() && read(each, ended) && ended.run != child) each = nothing_happened();
  }
}

void spoil_steps(const Plants& plants, LooseFrame& frame) {
  if (plants.answer_altered)
    change_each<StepEnded>(frame, [](StepEnded& event) {
      if (event.state != StepState::Completed || event.handled) return false;
      event.output = R"({"n":-1})";
      return true;
    });
  if (plants.step_ends_twice)
    repeat_each<StepEnded>(frame,
                           [](StepEnded& event) { return event.state == StepState::Completed; });
  if (plants.step_too_early) begin_too_early(frame);
  if (plants.step_retry_counted_twice)
    change_each<StepRetrying>(frame, [](StepRetrying& event) {
      ++event.attempt;
      return true;
    });
  if (plants.step_timer_lost)
    change_each<StepStarted>(frame, [](StepStarted& event) {
      bool timed = event.due != DueKind::None;
      event.due = DueKind::None;
      event.due_ms = 0;
      return timed;
    });
  if (plants.resumed_step_untimed)
    change_each<StepsReset>(frame, [](StepsReset& event) {
      bool timed = false;
      for (StepPlace& place : event.steps) timed = std::exchange(place.due_ms, 0) != 0 || timed;
      return timed;
    });
  if (plants.iteration_left_out)
    change_each<ScopeOpened>(frame, [](ScopeOpened& event) {
      if (!event.iteration || event.index == 0) return false;
      ++event.index;
      return true;
    });
}

}  // namespace

std::string spoil_scripts(const Plants& plants, uint64_t number, std::string record) {
  if (!(plants.answer_altered || plants.step_ends_twice || plants.step_too_early ||
        plants.step_retry_counted_twice || plants.step_timer_lost || plants.resumed_step_untimed ||
        plants.iteration_left_out || plants.race_of_two_winners || plants.decision_taken_twice ||
        plants.kept_signal_lost || plants.undone_twice || plants.child_end_lost ||
        plants.child_suspension_lost || plants.cancelled_goes_on || plants.suspension_unsaid))
    return record;
  return rewrite_record(number, record, [&](LooseFrame& frame) {
    spoil_steps(plants, frame);
    if (plants.race_of_two_winners)
      repeat_each<StepNoted>(frame, [](StepNoted& event) {
        bool race = event.type == "parallel_completed" && !event.choice.empty();
        event.choice = event.choice == "0" ? "1" : "0";
        return race;
      });
    if (plants.decision_taken_twice)
      repeat_each<DocPut>(frame, [](DocPut& event) {
        StoredDecision decision;
        return event.kind == DocKind::Decision && codec::decode(event.value, decision) &&
               decision.status == "resolved";
      });
    if (plants.kept_signal_lost)
      change_each<SignalReceived>(
          frame, [](SignalReceived& event) { return std::exchange(event.kept, false); });
    if (plants.undone_twice)
      change_each<ScriptPhased>(frame, [](ScriptPhased& event) {
        if (event.compensate.empty()) return false;
        event.compensate.insert(event.compensate.begin(), event.compensate.front());
        return true;
      });
    if (plants.child_end_lost) lose_ends_of_children(frame);
    if (plants.child_suspension_lost)
      swallow_if<ChildMoved>(frame, [](ChildMoved& event) { return event.suspended; });
    if (plants.cancelled_goes_on)
      swallow_if<ScriptMoved>(
          frame, [](ScriptMoved& event) { return event.to == ScriptStatus::Cancelled; });
    if (plants.suspension_unsaid)
      swallow_if<ScriptMoved>(
          frame, [](ScriptMoved& event) { return event.to == ScriptStatus::Suspended; });
  });
}

}  // namespace pawl::sim
