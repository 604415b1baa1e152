// ScriptModel: an independent interpretation of the journal's events of runs of definitions.
//
// It uses only the compiled definition from the kernel, and the answers of the performers. Every
// event must be legal at its place (I5): a step begins after its dependencies, and ends by an
// answer to the waiting attempt (I3), by a timer, or with its inner list (I4). At the end of each
// frame every run it touched is at rest: no step waits that could begin, and every wait will be
// ended by something (I7).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "journal/events.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/stored_decision.h"
#include "plan/script.h"
#include "sim/model_runs.h"
#include "sim/run_model.h"

namespace pawl::sim {

class JournalModel;

constexpr bool is_end(ScriptStatus status) {
  return status == ScriptStatus::Completed || status == ScriptStatus::Failed ||
         status == ScriptStatus::Cancelled;
}

struct ModelStep {
  StepState state = StepState::Pending;
  uint32_t attempt = 0;
  uint32_t effect = 0;
  std::string output;
  StepError error;
  bool handled = false;
  std::string reason;
  int64_t started_ms = 0;
  int64_t due_ms = 0;
  DueKind due = DueKind::None;
  std::string decision;
  std::string signal;
  std::string choice;
  std::string items;
  uint32_t count = 0;
  uint32_t next = 0;           // the first iteration or branch not entered
  uint64_t done_sequence = 0;  // of its end
  uint64_t life = 0;           // restarts of the engine when its attempt began
  int ready = 0;               // 1: it may begin, whatever fails meanwhile; 2: its condition is
                               // true

  bool over() const {
    return state == StepState::Completed || state == StepState::Failed ||
           state == StepState::Skipped;
  }
  bool busy() const {
    return (effect != 0 && state != StepState::Suspended) || state == StepState::Retrying ||
           (state == StepState::Running && due == DueKind::Wait);
  }
};

struct ModelScope {
  std::string path;
  std::string owner;
  uint32_t owner_position = 0;
  uint32_t list = 0;
  bool iteration = false;
  uint32_t index = 0;
  bool closed = false;
  bool failed = false;
  uint64_t failed_in = 0;  // the frame
  StepError error;
  std::vector<ModelStep> steps;
};

struct ModelScript {
  ScriptCreated birth;
  std::shared_ptr<const plan::Script> plan;
  std::string text;
  std::optional<uint64_t> seed;  // of a determinate run: determines the performers' answers
  uint64_t born = 0;
  uint64_t version = 0;
  ScriptStatus status = ScriptStatus::Pending;
  ScriptPhase phase = ScriptPhase::Steps;
  ScriptStatus outcome = ScriptStatus::Active;
  StepError error;
  std::string output;
  bool began = false;
  bool forgotten = false;
  bool paused = false;
  int64_t paused_ms = 0;
  int64_t timeout_at_ms = 0;
  int64_t yielded_ms = 0;
  uint32_t first_effect = 0;  // 0: no effect requested yet
  uint32_t next_effect = 1;
  // Effect numbers of deleted runs with this id, which must not be used again.
  std::vector<std::pair<uint32_t, uint32_t>> numbers_before = {};
  uint32_t retries = 0;
  // Its end does not follow from the answers alone: a client stopped, skipped or repeated
  // something.
  bool disturbed = false;
  std::map<std::string, ModelScope> scopes;
  std::map<uint32_t, std::string> effects;             // open effects and their steps
  std::map<std::string, std::vector<uint32_t>> asked;  // all effects of a step
  std::vector<SignalReceived> signals;                 // kept
  std::set<std::string> got;                           // payloads of all its signals
  std::vector<std::string> compensate;
  std::vector<std::string> compensated;
  std::vector<std::string> left_over;  // of an abandoned rollback
  bool rollback_listed = false;
  bool taken_up = false;  // by a retry whose steps are not yet known

  bool over() const {
    return status == ScriptStatus::Completed || status == ScriptStatus::Failed ||
           status == ScriptStatus::Cancelled;
  }
  bool at_work() const { return status == ScriptStatus::Active && !forgotten; }
  int64_t due_ms() const;  // 0: no timer will move it
  const ModelStep* find(std::string_view step) const;
  // Counted by the same limit: the same name, or without a name the same text.
  bool like(const ModelScript& other) const {
    return birth.definition == other.birth.definition &&
           (!birth.definition.empty() || birth.source == other.birth.source);
  }
};

// A step of a run, found.
struct StepAt {
  ModelScript* run = nullptr;
  ModelScope* scope = nullptr;
  ModelStep* step = nullptr;
  const plan::Step* plan = nullptr;
  std::string path;
  int64_t time_ms = 0;
};

class ScriptModel : public ModelRuns<ModelScript> {
 public:
  using Key = std::pair<RunId, uint32_t>;

  ScriptModel(Verdict& verdict, const JournalModel& jobs)
      : ModelRuns(verdict, "script"), jobs_(jobs) {}

  bool is_open(const RunId& run, uint32_t effect) const;
  bool has_child(const RunId& run, uint32_t effect) const { return children_.count({run, effect}); }
  const std::map<std::string, StoredDecision>& decisions() const { return decisions_; }
  const std::map<std::string, std::string>& newest() const { return newest_; }
  int64_t first_due_ms() const;
  size_t at_work() const;  // of top-level runs
  bool is_first_in_line(const ModelScript& run) const;
  size_t at_work_like(const ModelScript& of) const;  // of runs under the same limit
  void one_step_at_a_time() { parallel_steps_ = false; }

  // A performer has given this answer; it may arrive at any time, or never.
  void answered(const RunId& run, uint32_t effect, const StepOutcome& outcome) {
    answers_[{run, effect}].push_back(outcome);
    ever_answered_[{run, effect}].push_back(outcome);
  }
  // The same runs are read once more, from their beginnings.
  void know_what_others_know(const ScriptModel& other) {
    answers_ = ever_answered_ = other.ever_answered_;
    seeds_ = other.seeds_;
  }
  // A definition whose undisturbed runs end as a plain interpreter predicts. Two seeds may draw the
  // same text; the first one determines the answers.
  void determinate(const std::string& canonical, uint64_t seed) { seeds_.emplace(canonical, seed); }

  // No run waits for admission that could begin. Call when everything is durable.
  void check_gates(uint64_t server_max);

  void document(const DocPut& event, const At& at);
  void child_created(const JobParent& parent, const Uuid& child, const At& at);
  bool is_forgotten(const RunForgotten& event, const At& at);  // false: no run of a definition
  void happened(const ScriptCreated& event, const At& at);
  void happened(const ScriptMoved& event, const At& at);
  void happened(const ScriptPhased& event, const At& at);
  void happened(const ScriptPaused& event, const At& at);
  void happened(const ScopeOpened& event, const At& at);
  void happened(const ScopeClosed& event, const At& at);
  void happened(const StepStarted& event, const At& at);
  void happened(const StepSuspended& event, const At& at);
  void happened(const ChildMoved& event, const At& at);
  void happened(const StepRetrying& event, const At& at);
  void happened(const StepEnded& event, const At& at);
  void happened(const StepNoted& event, const At& at);
  void happened(const VariableSet& event, const At& at);
  void happened(const SignalReceived& event, const At& at);
  void happened(const SignalTaken& event, const At& at);
  void happened(const StepsReset& event, const At& at);
  void happened(const ScriptExtended& event, const At& at);
  void happened(const ScriptYielded& event, const At& at);
  void happened(const PartsMade& event, const At& at);
  void happened(const StepsReady& event, const At& at);
  void happened(const StepUndone& event, const At& at);
  void job_moved(const RunId& parent) { touched_.insert(parent); }
  void frame_over(const At& at);

 private:
  enum class Ready : uint8_t { Wait, Run, Skip };
  // Why a step fails, and whether it may be retried. Either: unknown here.
  enum class Cause : uint8_t { None, Again, Final, Either };
  struct CutOff {
    RunId run;
    std::string step;
    std::string reason;
  };

  // --- script_model.cc
  std::shared_ptr<const plan::Script> compiled(const std::string& canonical);
  void check_end(ModelScript& run, const ScriptMoved& event);
  void check_phase(ModelScript& run, const ScriptPhased& event, const At& at);
  void check_compensation(ModelScript& run, const ScriptPhased& event);
  static std::vector<std::string> to_undo(const ModelScript& run);
  static std::string outputs_of(const ModelScript& run);

  // --- script_steps.cc
  bool locate(const RunId& run, const std::string& path, const At& at, StepAt& out);
  void check_owner(const StepAt& owner, const ScopeOpened& event);
  void check_iteration(const StepAt& owner, const ScopeOpened& event);
  void check_start(const StepAt& at, const StepStarted& event);
  void check_skip(const StepAt& at, const std::string& reason);
  void check_race(const StepAt& at, const StepNoted& event);
  static void set_due(ModelStep& step, int64_t due_ms, DueKind due) {
    step.due_ms = due_ms;
    step.due = due;
  }

  // --- script_causes.cc
  void check_completion(const StepAt& at, const std::string& output);
  void check_signal_taken(const StepAt& at, const std::string& output);
  void check_decision(const StepAt& at, const std::string& output);
  bool check_answer(const StepAt& at, const std::string& output);
  Cause cause_of(const StepAt& at, const StepError& error) const;
  Cause cause_inside(const StepAt& at, const StepError& error) const;
  Cause cause_by_answer(const StepAt& at, const StepError& error) const;
  Cause cause_by_refusal(const StepAt& at, const StepError& error) const;
  Cause cause_by_child(const StepAt& at, const StepError& error) const;
  const ModelScript* child_script(const StepAt& at) const;
  static std::string composite_output(const StepAt& at);
  static uint32_t retries_of(const StepAt& at);

  // --- script_rest.cc
  Ready readiness(const ModelScript& run, const ModelScope& scope, const plan::Step& step,
                  bool list_failed) const;
  Ready readiness(const ModelScript& run, const ModelScope& scope, const plan::Step& step) const {
    return readiness(run, scope, step, scope.failed);
  }
  static bool called_upon(const ModelScript& run, const ModelScope& scope, uint32_t position);
  void check_at_rest(ModelScript& run);
  void check_list(const ModelScript& run, const ModelScope& scope, bool moves);
  void check_waiting(const ModelScript& run, const ModelScope& scope, uint32_t position);
  void check_status(const ModelScript& run);
  void check_cut_off(const CutOff& cut);
  void check_parent(const ModelScript& run);

  const JournalModel& jobs_;
  std::map<Key, Uuid> children_;
  std::map<Key, std::vector<StepOutcome>> answers_;
  std::map<Key, std::vector<StepOutcome>> ever_answered_;  // also for runs that are forgotten
  std::map<std::string, std::string> definitions_;         // name, version → canonical text
  std::map<std::string, std::string> newest_;              // name → version
  std::map<std::string, StoredDecision> decisions_;
  std::map<std::string, std::shared_ptr<const plan::Script>> plans_;
  std::map<std::string, uint64_t> seeds_;
  bool parallel_steps_ = true;
  uint64_t frame_ = 1;

  // Of the frame that is being read.
  std::set<RunId> retried_;
  std::vector<CutOff> cut_off_;
  std::vector<SignalReceived> received_;   // those with an immediate effect
  std::vector<SignalReceived> delivered_;  // to be delivered to a wait
};

// The effective record of a step: its fallback's, if that ran.
const ModelStep& effective_step(const plan::Script& plan, const ModelScope& scope,
                                uint32_t position);
// The output of the last step of a list.
std::string last_output(const plan::Script& plan, const ModelScope& scope);
bool same_json(std::string_view a, std::string_view b);

// An independent evaluation of the few expressions in the crowd's definitions.
struct Guess {
  enum Kind : uint8_t { Unknown, Error, True, False, Number } kind = Unknown;
  int64_t number = 0;
};
Guess guess(const ModelScript& run, const std::string& scope, const std::string& text,
            int64_t iteration);

}  // namespace pawl::sim
