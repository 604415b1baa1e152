// At the end of a frame every run that it touched is at rest: no consequence is missing, since the
// next frame would not know of it.
#include <algorithm>

#include "kernel/run.h"
#include "kernel/scripts/effect_request.h"
#include "sim/model.h"
#include "sim/run_model.h"

namespace pawl::sim {
namespace {}  // namespace

void RunModel::frame_over(uint64_t sequence) {
  sequence_ = sequence;
  if (!called_.empty()) broken("I4 callback", RunId(), "a callback was called without a job");
  for (const RunId& id : leased_) {
    const ModelRun* run = existing(id);
    if (run != nullptr && !run->started) broken("I5 run", id, "works without having begun");
  }
  for (const RunId& id : touched_)
    if (const ModelRun* run = existing(id)) check_at_rest(*run);
  touched_.clear();
  leased_.clear();
  retried_.clear();
  taken_up_.clear();
  took_turn_.clear();
  called_.clear();
}

void RunModel::check_at_rest(const ModelRun& run) {
  if (run.yielded_ms != 0 && !run.over()) return;  // a later frame, due at once, continues
  const RunId& id = run.birth.run;
  for (size_t i = 0; i < run.children.size(); ++i) {
    if (run.children[i] != ChildState::Started) continue;
    if (!is_alive(run, run.filled_by[i]))
      return broken("I4 fan-in", id, "a child has ended and was not counted");
    // After the end of a run only running jobs continue.
    const ModelJob* job = jobs_.existing(JobId(run.filled_by[i]));
    if (run.over() && (job == nullptr || job->state != JobState::Active))
      return broken("I5 run", id, "has ended, and a child still waits to be done");
  }
  check_callbacks(run);
  if (!run.over()) check_running(run);
}

void RunModel::check_callbacks(const ModelRun& run) {
  const RunId& id = run.birth.run;
  for (size_t role = 0; role < kCallbackRoles; ++role) {
    if (((run.fired & ~run.done) >> role & 1) == 0) continue;
    const ModelJob* job = jobs_.existing(run.callback_jobs[role]);
    if (job == nullptr || job->finished())
      return broken("I4 callback", id, "a callback has ended and was not counted");
    bool may_wait = !run.over() || static_cast<CallbackRole>(role) == CallbackRole::OnCancel;
    if (!may_wait && job->state != JobState::Active)
      return broken("I5 run", id, "has ended, and a callback still waits to be done");
  }
  bool wants_on_cancel = run.state == RunState::Cancelled &&
                         run.has_callback[static_cast<size_t>(CallbackRole::OnCancel)];
  if (wants_on_cancel && (run.fired & bit(CallbackRole::OnCancel)) == 0)
    broken("I4 callback", id, "was cancelled, and on_cancel was not called");
  if (!run.over() && run.fired != demanded_callbacks(run))
    broken("I4 callback", id, "the callbacks called are not those its outcome asks for");
}

// Some child is active that will advance it, and no child waits that could run.
void RunModel::check_running(const ModelRun& run) {
  const RunId& id = run.birth.run;
  uint32_t at_work = run.count(ChildState::Started);
  uint32_t waiting = run.count(ChildState::Waiting);
  bool calling = (run.fired & ~run.done) != 0;
  if (at_work == 0 && !calling) return broken("I7 run", id, "is running, and waits for nothing");
  switch (run.birth.kind) {
    case RunKind::Chain: {
      size_t first_open = run.good();
      bool in_order = at_work == 1 && run.bad() == 0 && first_open < run.children.size() &&
                      run.children[first_open] == ChildState::Started;
      if (!in_order) broken("I4 advance", id, "a chain is not at exactly one step");
      return;
    }
    case RunKind::Group:
    case RunKind::Batch:
      if (waiting != 0) broken("I4 advance", id, "a member was not started with the others");
      return;
    case RunKind::Dag:
      return check_dag(run);
    case RunKind::Map:
      if (run.birth.concurrency != 0 && at_work > run.birth.concurrency)
        broken("I4 advance", id, "a map has more at work than its concurrency");
      if (waiting != 0 && (run.birth.concurrency == 0 || at_work < run.birth.concurrency))
        broken("I4 advance", id, "a map has room, and an item waits");
      return;
    case RunKind::Script:  // moved by its own code
    case RunKind::Module:  // moved by its world
    case RunKind::None:
      return broken("I5 run", id, "is of no kind");
  }
}

void RunModel::check_dag(const ModelRun& run) {
  for (uint32_t i = 0; i < run.children.size(); ++i) {
    if (run.children[i] != ChildState::Waiting) continue;
    const std::vector<uint32_t>& before = run.plans.at(i).depends_on;
    bool hopeless = std::any_of(before.begin(), before.end(), [&](uint32_t b) {
      return run.children[b] == ChildState::Failed || run.children[b] == ChildState::Cancelled;
    });
    bool open = std::any_of(before.begin(), before.end(), [&](uint32_t b) {
      return run.children[b] == ChildState::Waiting || run.children[b] == ChildState::Started;
    });
    if (hopeless || !open)
      return broken("I4 advance", run.birth.run, "a step waits for what has already been decided");
  }
}

}  // namespace pawl::sim
