// Frame: collects the events of one input. Deciding code reads state() and records facts with
// emit(); an emitted event is journaled and applied at once, so the rest of the decision sees it.
// There is no other way to change the state.
//
// A decision that fails must fail before its first emit (attempt() checks that): a frame is
// committed whole or not at all.
//
// A frame has an allowance for evaluations and written bytes (meter()). Runs that have used it up
// yield and continue in a later frame: so no input delays others for long, or makes a record that
// the store refuses.
//
// Thread: that of its state.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/uuid.h"
#include "journal/events.h"
#include "journal/record.h"
#include "kernel/meter.h"

namespace pawl {

class MutableState;
class State;
struct Cron;
struct Job;
struct Limit;
struct Queue;
struct Run;

class Frame {
 public:
  // With the allowance that the operator has set.
  Frame(MutableState& state, journal::RecordWriter& record, int64_t now_ms, uint64_t entropy);
  Frame(MutableState& state, journal::RecordWriter& record, int64_t now_ms, uint64_t entropy,
        uint64_t allowance);
  ~Frame() { record_.end_frame(); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const State& state() const { return readable_; }
  int64_t now_ms() const { return now_ms_; }
  uint64_t emitted() const { return record_.event_count() - first_; }
  Meter& meter() { return meter_; }
  const Meter& meter() const { return meter_; }

  // Runs a decision, a function of this frame that gives a Result or Status. What it emits stands,
  // so one that fails after its first emit is a bug of ours: the process ends before the half that
  // was decided can be committed, and nothing has happened.
  template <class Decision>
  auto attempt(Decision&& decision) {
    const uint64_t before = emitted();
    auto outcome = decision(*this);
    PAWL_CHECK(outcome.ok() || emitted() == before);
    return outcome;
  }

#define PAWL_EVENT(number, name) void emit(const name& event);
#include "journal/event_types.def"
#undef PAWL_EVENT
  void emit(ScriptMoved&& event);
  void emit(StepEnded&& event);

  // Notes for the state that are not events, since they change no answer.
  void note_cancelled_effect(const Run& run, uint32_t effect);
  void note_held_back(const Queue& queue, const Limit& limit);
  void note_cron_waits(const Cron& cron);
  void note_gate_seen(const std::string& gate);
  // All claims under this token are answered (messages/claims.h): a task may wait for them.
  void note_answered(const Uuid& token);

  // --- answers that come while a step's child is being made
  // Handled at once, an answer would begin further steps, which make further children: the stack
  // would grow with the length of a loop. So it waits until the outermost RunContext of this frame
  // has worked off its checks.
  class MakingChild {
   public:
    explicit MakingChild(Frame& frame) : frame_(frame) { ++frame_.children_in_making_; }
    ~MakingChild() { --frame_.children_in_making_; }
    MakingChild(const MakingChild&) = delete;
    MakingChild& operator=(const MakingChild&) = delete;

   private:
    Frame& frame_;
  };
  bool is_making_child() const { return children_in_making_ != 0; }
  void postpone(std::function<void()> answer) { postponed_.push_back(std::move(answer)); }
  // Only the outermost RunContext does anything here; the answers open contexts of their own.
  void take_postponed() {
    while (contexts == 1 && !postponed_.empty()) {
      std::function<void()> answer = std::move(postponed_.front());
      postponed_.pop_front();
      answer();
    }
  }
  uint32_t contexts = 0;  // how many of a RunContext exist now, one inside the other

  // Chance inside a decision: derived from the input's entropy, so the same input gives the same
  // values.
  uint64_t draw() { return mix64(entropy_ ^ mix64(++draws_)); }
  // The id of something that lives in this partition.
  Uuid fresh_id();

 private:
  template <class Given>
  void emit_named(Given&& event);
  template <class Given>
  void add(Given&& event);

  MutableState& state_;
  const State& readable_;  // the same
  journal::RecordWriter& record_;
  int64_t now_ms_;
  uint64_t entropy_;
  uint64_t draws_ = 0;
  uint64_t first_;
  Meter meter_;
  uint32_t children_in_making_ = 0;
  std::deque<std::function<void()>> postponed_;
};

// The common part of an event about this job, as it stands before the event.
JobEventHead event_head(const Job& job);

}  // namespace pawl
