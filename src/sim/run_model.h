// RunModel: an independent interpretation of run events in the durable journal.
//
// It uses nothing of the kernel but the plan that a run was created with. Every run event must be
// legal at its place (I5), and at the end of each frame every run it touched must be at rest: all
// consequences of the ends of its children have happened, once (I4). So a running run always has an
// active child or callback that will advance it (I7).
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "journal/events.h"
#include "plan/ojs/plan_node.h"
#include "sim/model_runs.h"

namespace pawl::sim {

class JournalModel;

// The reason that clients give when they cancel a run; no other cause gives it.
constexpr std::string_view kAskedFor = "asked for";

constexpr uint32_t bit(CallbackRole role) { return 1u << static_cast<uint32_t>(role); }

// The earlier of two times, 0 = never.
constexpr int64_t sooner(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return a + b;
  return a < b ? a : b;
}

struct ModelRun {
  RunCreated birth;
  std::map<uint32_t, PlanNode> plans;  // of its children, as far as the journal has them
  std::array<bool, kCallbackRoles> has_callback{};
  RunState state = RunState::Running;
  uint64_t born = 0;
  uint64_t version = 0;
  uint32_t generation = 0;
  uint64_t lives = 0;       // restarts of the engine when it was created
  uint64_t fired_life = 0;  // and when its callbacks fired
  bool started = false;
  bool forgotten = false;
  int64_t yielded_ms = 0;
  int64_t deadline_ms = 0;
  std::vector<ChildState> children;
  std::vector<Uuid> filled_by;  // the last job or nested run at each place
  uint32_t fired = 0;           // bits per CallbackRole, of this generation
  uint32_t done = 0;
  uint32_t failed = 0;
  uint32_t spared = 0;  // callbacks that completed before a retry with nothing else to do
  std::array<JobId, kCallbackRoles> callback_jobs;

  bool over() const { return state != RunState::Running; }
  uint32_t count(ChildState state) const;
  uint32_t good() const { return count(ChildState::Completed) + count(ChildState::Skipped); }
  uint32_t bad() const { return count(ChildState::Failed) + count(ChildState::Cancelled); }
  bool all_done() const { return good() + bad() == children.size(); }
};

class RunModel : public ModelRuns<ModelRun> {
 public:
  RunModel(Verdict& verdict, JournalModel& jobs) : ModelRuns(verdict, "run"), jobs_(jobs) {}

  int64_t first_due_ms() const;  // 0: none

  // Whether this job at this place may be retried after a failure.
  bool may_try_again(const JobParent& parent, const JobId& job) const;
  // Whether a retry in this frame restarts the child at this place.
  bool is_restarted(const JobParent& parent, const JobId& job) const;

  void job_created(const JobCreated& event, const At& at);
  void job_moved(const JobParent& parent);
  void job_leased(const JobParent& parent, const JobId& job);
  void happened(const RunCreated& event, const At& at);
  void happened(const RunStarted& event, const At& at);
  void happened(const RunChildDone& event, const At& at);
  void happened(const RunCallbackFired& event, const At& at);
  void happened(const RunFinished& event, const At& at);
  void happened(const RunRetried& event, const At& at);
  void happened(const RunYielded& event, const At& at);
  void happened(const RunForgotten& event, const At& at);
  // Ignores runs of definitions.
  void happened(const auto&, const At&) {}
  void frame_over(uint64_t sequence);

 private:
  void take_place(const JobParent& parent, const Uuid& child, const At& at);
  bool may_start(const ModelRun& run, uint32_t index) const;
  // False for children of a deleted run with the same id.
  bool is_in_place(const ModelRun& run, uint32_t index, const Uuid& child) const;
  void take_up_again(ModelRun& run, uint32_t index);
  void check_counts(const ModelRun& run, const RunEventHead& event);
  bool is_alive(const ModelRun& run, const Uuid& child) const;
  void callback_done(ModelRun& run, const RunChildDone& event);
  void check_outcome(const ModelRun& run, const RunChildDone& event);
  void check_never_started(const ModelRun& run, const RunChildDone& event);
  bool ended_by_itself(const ModelRun& run, RunState state) const;
  uint32_t demanded_callbacks(const ModelRun& run) const;

  void check_at_rest(const ModelRun& run);
  void check_running(const ModelRun& run);
  void check_dag(const ModelRun& run);
  void check_callbacks(const ModelRun& run);

  JournalModel& jobs_;

  // Of the current frame.
  std::set<RunId> leased_;
  std::set<RunId> retried_;
  std::set<std::pair<RunId, uint32_t>> taken_up_;  // places that were restarted
  std::set<RunId> took_turn_;                      // had yielded before
  std::set<JobId> called_;                         // callbacks fired, their jobs not yet created
};

}  // namespace pawl::sim
