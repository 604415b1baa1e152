// RunContext: one run of a definition while one frame works on it; shared by all step kinds and
// functions of this folder. It reads the run, emits events, and keeps the queue of checks.
//
// The consequences of an input are processed as a queue of checks (checks.h), never by recursion,
// since one end may start thousands of steps. Every check reads the state and does what is due, so
// checking twice does no harm: a frame may stop anywhere (cut_short, ScriptYielded), and a later
// one checks all open lists.
//
// The folder by idea: step_kind.h says what a step of each kind does, lists.h enters and leaves
// lists, step_end.h ends steps, run_end.h and rollback.h end the run, suspension.h says whether it
// is suspended. These, and the headers of single kinds, are private to this folder. Other code
// gives commands and receipts by commands.h and reads what a run holds by run.h, text.h,
// step_names.h, effect_request.h, admission.h and the stored_ headers.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/working_on.h"
#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/expression_names.h"
#include "kernel/scripts/json_fits.h"
#include "kernel/scripts/run.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::scripts {

constexpr size_t kVariablesMax = 1'000;  // of one run

// A step of an open list: its list, its position there, and its text in the definition.
struct At {
  std::string path;
  std::string scope;
  uint32_t position = 0;
  const plan::Step* step = nullptr;
};

enum class CheckKind : uint8_t {
  List,        // path: a list. Which of its steps may start?
  StepEnded,   // path: a step. Which steps waited for it?
  ChildEnded,  // path: a step. One of its lists has closed
  Resume,      // path: a step. The whole run is checked again
  Finish,      // the run has nothing left to do
};
struct Check {
  CheckKind kind = CheckKind::List;
  std::string path;
};

struct RunContext {
  // The run exists, and stays in memory while the frame works on it.
  RunContext(Frame& of_frame, const RunId& of_run)
      : working(of_run),
        frame(of_frame),
        state(of_frame.state()),
        id(of_run),
        entity_(state.find_run(of_run)) {
    PAWL_CHECK(entity_ != nullptr);
    ++frame.contexts;
  }
  ~RunContext() { --frame.contexts; }
  RunContext& operator=(RunContext&&) = delete;

  const Run& entity() const { return *entity_; }
  const ScriptRun& script() const { return *entity().script; }
  const plan::Script& plan() const { return *state.script_of(entity()); }
  bool is_nested() const { return !entity().parent.run.is_nil(); }
  const Scope* scope(std::string_view path) const { return state.find_scope(entity(), path); }
  bool find(std::string_view path, At& at) const;
  At at(std::string_view scope_path, uint32_t position) const;
  const StepRecord& record(const At& at) const { return scope(at.scope)->records[at.position]; }
  // The variables for an expression of this step.
  ExpressionNames names_for(const At& at, std::string_view text) const;

  template <class Event>
  Event event_for(const At& at) const {
    Event event;
    event.run = id;
    event.step = at.path;
    event.position = at.position;
    return event;
  }
  void note(const At& at, const std::string& type, const Value& data);
  void note_run(const std::string& type, const Value& data);
  void schedule_check(CheckKind kind, std::string path) {
    checks.push_back({kind, std::move(path)});
  }

  // --- bounds
  // The frame has used up its allowance: a function with more work sets cut_short and stops.
  bool full() const;
  size_t output_max() const { return state.script_defaults().output_bytes_max; }
  // Whether the run may hold this many more bytes.
  bool has_room_for(uint64_t bytes) const;
  std::string room_told(uint64_t bytes) const;
  StepError bounded(StepError error) const;
  // The parts of a step's texts made so far, in this and earlier frames.
  const std::vector<std::string>& made_of(std::string_view step) const;
  void keep_made(const std::string& step, std::vector<std::string> values);

  WorkingOn working;
  Frame& frame;
  const State& state;
  const RunId id;
  std::deque<Check> checks;
  uint64_t lists_checked_after = UINT64_MAX;  // events of the frame at the last check of all lists
  bool end_is_seen = false;                   // by the caller: no need to report it
  std::string released_by;                    // decision, signal, timer: what ends a suspension
  std::string paused_by = "paused";           // or the timeout
  bool cut_short = false;                     // work was left for a later frame

 private:
  const Run* const entity_;
};

// Checks that external data is not larger than an output may be, in bytes and in values. TooLarge.
Status judge_text(std::string_view what, std::string_view json, size_t bytes_max);

StepError step_error(std::string code, std::string message, std::string step = "");
Value error_json(const StepError& error);
StepOutcome failed_outcome(std::string code, std::string message, bool retryable);

}  // namespace pawl::scripts
