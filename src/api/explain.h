// Explain: why a run or a job has not finished, in terms a person can act on (I7).
//
// Every unfinished run waits for something that is in its state: a worker, a time, a lease, a
// paused queue, room under a limit, a nested run, a callback. Explain reads it from the state;
// nothing is recorded for it. Bounded: the first kWaitsShownMax waits and next steps are listed,
// the rest is counted.
//
// Thread: the engine thread (it reads the state).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/workers.h"
#include "base/uuid.h"

namespace pawl {
class State;
struct Job;
struct Run;
struct Scope;
struct StepRecord;
namespace plan {
struct Script;
struct Step;
}  // namespace plan
}  // namespace pawl

namespace pawl::api {

constexpr size_t kWaitsShownMax = 100;
constexpr size_t kNestedShownMax = 64;  // runs within runs

struct Wait {
  std::string step_id;  // "0", "build", "2.1.on_success"; empty for a job on its own
  std::string_view reason;
  std::optional<int64_t> since_ms = {};
  int64_t until_ms = 0;          // 0 = unknown
  std::string detail;            // one sentence
  std::string detail_json = {};  // an object in its place, for programs
  JobId job;                     // nil if no job is concerned
  RunId run = {};                // the inner run that waits; nil = the run itself
  std::string queue = {};
  std::string worker = {};
  std::string key = {};         // of a limit
  int64_t jobs_ahead = -1;      // in the queue; -1 = not counted
  int64_t worker_asked_ms = 0;  // when a worker last asked for the queue, 0 = never
};

struct NextStep {
  std::string step_id;
  std::string type;
  std::string after;  // the step before it
};

struct Explanation {
  std::vector<Wait> waits;
  size_t waits_total = 0;
  std::vector<NextStep> next;
  size_t next_total = 0;
};

class Explainer {
 public:
  Explainer(const State& state, const WorkerRegistry& workers, int64_t now_ms)
      : state_(state), workers_(workers), now_ms_(now_ms) {}

  Explanation run(const Run& run);
  Explanation job(const Job& job);

  // What the parts of a run of each family wait for (run_view.h).
  void add_composition(const Run& run, const std::string& prefix, size_t depth);
  void add_script(const Run& run, const std::string& prefix, size_t depth);
  void add_instance(const Run& run);

  // Tells whether somebody works on an open effect of an instance, which is in no state.
  using IsInflight = std::function<bool(const Run& run, const std::string& intent)>;
  void ask_for_effects(IsInflight is_inflight) { is_inflight_ = std::move(is_inflight); }

 private:
  void add_child(const Run& run, uint32_t index, const std::string& step_id, size_t depth);
  void add_callbacks(const Run& run, const std::string& prefix);
  void add_next(const Run& run, uint32_t index, const std::string& prefix);
  void add_job(const Job& job, const std::string& step_id);
  // Of definitions (explain_script.cc).
  void add_step(const Run& run, const plan::Step& step, const StepRecord& record,
                const std::string& id, size_t depth);
  void add_next_step(const plan::Script& plan, const pawl::Scope& scope, const plan::Step& step,
                     const std::string& id);
  void explain_available(const Job& job, Wait& wait);
  bool held_by_limit(const Job& job, Wait& wait) const;
  int64_t jobs_ahead(const Job& job);
  bool full() const { return out_.waits.size() >= kWaitsShownMax; }

  const State& state_;
  const WorkerRegistry& workers_;
  int64_t now_ms_;
  size_t walk_left_ = 10'000;     // ready jobs that may still be walked past
  size_t children_left_ = 1'000;  // may be read although nothing more is shown
  IsInflight is_inflight_;
  Explanation out_;
};

// The id of a child inside its run: for a dag's step its name, otherwise its index.
std::string step_id_of(const State& state, const Run& run, uint32_t index);

}  // namespace pawl::api
