// ScriptFlow: how the run of a definition moves. One frame's work on one run: what an input brings
// about is worked off as a queue of places to look at, never by recursion, since one end may start
// thousands of steps.
//
// Every look reads the state and does what is due there, so looking twice does no harm: a frame may
// stop anywhere (ScriptYielded) and a later one looks again at everything that is open. Private to
// this folder; commands stand in commands.h.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/working_on.h"
#include "kernel/frame.h"
#include "kernel/json_fits.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/scope.h"

namespace pawl {

constexpr size_t kVariablesMax = 1'000;  // of one run

class ScriptFlow {
 public:
  ScriptFlow(Frame& frame, const RunId& id)
      : working_(id), frame_(frame), state_(frame.state()), id_(id) {}

  // --- inputs (commands.cc, signals.cc, retry.cc)
  void begin(bool end_is_seen);
  void effect_done(uint32_t effect, StepOutcome outcome);
  void child_moved(uint32_t effect, bool suspended);
  void due();
  void pause(bool now);
  void resume();
  void cancel(const std::string& reason, bool rollback);
  Status signal(const ScriptSignal& signal);
  Status resolve(const std::string& step, const DecisionAnswer& answer);
  Result<RetryPlan> retry(const std::string& from_step, const std::string& inputs, bool preview);
  Status extend(const std::string& canonical, const std::string& data);
  // See quarantine.h.
  void quarantine(const StepError& error, bool bare);
  Status release();

  // Works off everything that follows, as far as the frame goes, then says whether the run is
  // suspended or at work.
  void drain();

 private:
  // A step of an open list: where it stands, what it is, how far it is.
  struct At {
    std::string path;
    std::string scope;
    uint32_t position = 0;
    const plan::Step* step = nullptr;
  };
  enum class LookKind : uint8_t { List, Ended, Around, Finish };
  struct Look {
    LookKind kind = LookKind::List;
    std::string path;  // List: a scope. Ended: a step. Around: a step whose inner list has closed
  };
  enum class Ready : uint8_t { Wait, Run, Skip };
  // What has become of the step whose end makes others be looked at. Anything: who knows what has
  // changed since they were last looked at.
  enum class News : uint8_t { Anything, Success, Failure, Skip };

  const Run& run() const { return *state_.find_run(id_); }
  const ScriptRun& script() const { return *run().script; }
  bool is_nested() const { return !run().parent.run.is_nil(); }
  const plan::Script& plan() const { return *state_.plan_of(run()); }
  const Scope* scope(std::string_view path) const { return state_.find_scope(run(), path); }
  bool find(std::string_view path, At& at) const;
  At at(std::string_view scope_path, uint32_t position) const;
  const StepRecord& record(const At& at) const { return scope(at.scope)->records[at.position]; }
  template <class Event>
  Event event_for(const At& at) const {
    Event event;
    event.run = id_;
    event.step = at.path;
    event.position = at.position;
    return event;
  }
  ScriptScope scope_for(const At& at, std::string_view text) const;
  // The frame has done as much as one may: whoever has more to do says so and stops.
  bool full() const;
  size_t output_max() const { return state_.script_defaults().output_bytes_max; }
  // Whether the run may hold so much more.
  bool has_room_for(uint64_t bytes) const;
  std::string room_told(uint64_t bytes) const;
  void fail_too_large(const At& at, const std::string& what);
  void fail_no_room(const At& at, uint64_t bytes);
  StepError bounded(StepError error) const;
  // What was made of it so far, by this frame and those before.
  const std::vector<std::string>& made_of(std::string_view step) const;
  void keep_made(const std::string& step, std::vector<std::string> values);

  // --- lists (flow.cc)
  void look(LookKind kind, std::string path) { looks_.push_back({kind, std::move(path)}); }
  void look_at(const Look& look);
  void look_at_everything();
  void open_scope(const At* owner, const std::string& path, uint32_t list, bool iteration,
                  uint32_t index, const std::string& item);
  void start_ready(const std::string& path, News news);
  void after_end(const At& at);
  void try_start(const std::string& path, const std::vector<uint32_t>& positions, News news);
  void keep_ready(const std::string& path, const std::vector<std::pair<uint32_t, Ready>>& ready,
                  size_t from);
  bool must_wait(const Scope& in, uint32_t position, News news) const;
  // `callable`: may_be_called(), filled in when it is asked for.
  Ready readiness(const Scope& in, const plan::Step& step,
                  std::optional<std::vector<bool>>& callable) const;
  std::vector<bool> called_upon(const Scope& in) const;
  std::vector<bool> may_be_called(const Scope& in) const;
  void close_if_done(const std::string& path);
  const Text* last_text(const Scope& in) const;
  std::string last_output(const Scope& in) const;
  size_t last_bytes(const Scope& in) const;
  ScriptMoved moved(ScriptStatus to) const;
  void settle_status();
  void settle_as(ScriptStatus wanted);
  void leave_suspension();
  void released(std::string by);
  bool outside_moves_it() const;
  bool may_start_another() const;
  bool look_for_another();

  // --- steps (steps.cc)
  void start_step(const At& at);
  void begin_attempt(const At& at, uint32_t attempt);
  void begin_composite(const At& at);
  uint32_t next_effect() const;
  StepStarted started(const At& at, uint32_t attempt, bool asks_outside) const;

  // --- ends (ends.cc)
  void complete(const At& at, std::string output);
  void skip_step(const At& at, const std::string& reason);
  void fail(const At& at, StepError error, bool retryable);
  void fail_for_good(const At& at, const StepError& error);
  plan::OnError strategy_for(const At& at) const;
  void stop_step(const At& at, const std::string& reason);
  void stop_scope(const std::string& path, const std::string& reason);
  std::vector<std::string> open_lists_of(const At& at) const;
  void stop_effect(uint32_t effect);
  void drop_scopes_of(const std::string& step);
  void drop_scope(const std::string& path);
  void abort(ScriptStatus outcome, const StepError& error, const std::string& reason,
             bool rollback);
  void steps_over(ScriptStatus outcome, const StepError& error, const std::string& reason,
                  bool rollback);
  bool start_rollback();
  void next_compensation();
  void compensation_closed(const std::string& path);
  void run_hook_or_finish();
  void finish();
  Result<std::string> outputs();
  Result<std::string> own_outputs();
  Result<std::string> last_outputs() const;
  void note(const At& at, const std::string& type, const Value& data);
  void note_run(const std::string& type, const Value& data);

  // --- composites (composites.cc)
  void begin_condition(const At& at);
  void begin_test(const At& at);
  void begin_loop(const At& at);
  void begin_parallel(const At& at);
  void begin_sequence(const At& at);
  void around(const At& at);
  void around_branch(const At& at);
  void around_loop(const At& at);
  void around_parallel(const At& at);
  void finish_loop(const At& at);
  std::optional<std::vector<std::string>> few_outputs(const At& at, uint32_t count) const;
  std::string iteration_output(const At& at, uint32_t index) const;
  bool open_iteration(const At& at);
  bool loop_goes_on(const At& at, bool& failed);
  Result<Value> loop_items(const At& at) const;

  // --- waits (waits.cc)
  void begin_wait(const At& at);
  void begin_decision(const At& at);
  bool decision_texts(const At& at, std::vector<std::string>& texts);
  void step_due(const At& at);
  void pause_for_timeout();
  void stop_what_is_at_work();
  void deadline_passed(const At& at);
  void decided(const At& at, const DecisionAnswer& answer, const std::string& status);
  void close_decision(const StepRecord& record, const std::string& status,
                      const std::string& answer);
  bool take_kept_signal(const At& at, const std::string& name);
  void signal_arrived(const At& at, const std::string& type, const std::string& payload);
  void wait_over(const At& at, Value output);

  // --- signals (signals.cc)
  std::string full_path(const std::string& step) const;
  void deliver(const ScriptSignal& signal, SignalReceived& event);
  Status decide_by_signal(const ScriptSignal& signal, const SignalReceived& event);
  Status retry_by_signal(const ScriptSignal& signal, const SignalReceived& event);
  Status skip_and_retry(const At& at, const SignalReceived& event);
  Status may_resolve(const std::string& step, const DecisionAnswer& answer) const;

  // --- retries (retry.cc)
  struct Reset;
  void reset_incomplete(const std::string& path, Reset& reset) const;
  void keep_around(const At& from, Reset& reset) const;
  bool done_anew(const At& at) const;
  void reset_from(const At& at, Reset& reset) const;
  static void prune(Reset& reset);
  bool is_of_the_steps(const At& at) const;
  std::vector<std::string> lists_of_the_end() const;
  void go_on(const Reset& reset, const std::string& inputs);
  void come_back();
  void retry_rollback(bool leave_out);

  // --- children and actions of the engine (children.cc)
  void begin_subworkflow(const At& at, uint32_t effect);
  void start_child(const At& at, StartScript command);
  void note_child(const At& at, bool suspended);
  void begin_action(const At& at, uint32_t attempt);
  std::optional<StepOutcome> computed(const At& at, uint32_t effect);
  bool is_engine_action(std::string_view name) const;
  void run_engine_action(const At& at, uint32_t attempt);
  StepOutcome engine_action(const At& at, const Value& params);
  StepOutcome change_context(const Value& params);
  void effect_over(const At& at, StepOutcome outcome);

  WorkingOn working_;
  Frame& frame_;
  const State& state_;
  RunId id_;
  std::deque<Look> looks_;
  uint64_t looked_after_ = UINT64_MAX;  // events of the frame when another was last looked for
  bool end_is_seen_ = false;            // by whoever began it: no need to report it
  std::string released_by_;             // decision, signal, timer: what ends a suspension
  std::string paused_by_ = "paused";    // or the timeout
  bool cut_short_ = false;              // something was left for a later frame
};

// What comes from outside is no larger than an output may be, in bytes and in values. TooLarge.
Status judge_text(std::string_view what, std::string_view json, size_t bytes_max);

StepError step_error(std::string code, std::string message, std::string step = "");
StepOutcome outcome_of_script(const ScriptRun& script);
StepOutcome failed_outcome(std::string code, std::string message, bool retryable);

}  // namespace pawl
