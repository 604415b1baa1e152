// EffectDispatcher: executes the effects of runs of definitions, and submits the answers.
//
// Actions go to the runner. Jobs and compositions are made by the kernel in the frame that starts
// their step; those it had no room for come here, and are made in a frame of their own. Parameters
// are filled in from the state as it was committed; secrets are opened here, live in memory only,
// and are blotted out of every answer. An answer is submitted until it is durable or the engine
// stops; in the latter case the engine requests the effect again after the restart, under the same
// idempotency key. The engine also requests open effects again when a failed store is back: an
// action that still runs by then is not started a second time.
//
// Threads: prepare() on the engine's, release on the committing one, answers from any.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "actions/action.h"
#include "actions/vault.h"
#include "effects/prepare_effect.h"
#include "effects/work_directories.h"
#include "engine/effects.h"
#include "engine/engine.h"

namespace pawl {

class EffectDispatcher : public EffectSink {
 public:
  // `work_root`: where runs get a directory each for their files.
  EffectDispatcher(actions::ActionRunner& runner, const actions::Vault* vault, WorkRoot work_root);
  ~EffectDispatcher() override;

  // Starts effects that were requested before.
  void attach(EngineLoop& engine);
  // Afterwards no answer is submitted. Call before the engine is destroyed.
  void stop();

  std::unique_ptr<PreparedEffects> prepare(const State& state, std::deque<EffectNote>& notes,
                                           int64_t now_ms, Meter& meter) override;
  bool takes_heavy() const override;

 private:
  class Prepared;
  class Answer;
  class Receipt;
  class MakeChild;
  struct Work;
  using Key = std::pair<RunId, uint32_t>;

  // What is answered at once goes to `answers`.
  void start(Work&& work, std::vector<TaskPtr>& answers);
  TaskPtr start_action(Work&& work);  // its answer, if it is there already; or null
  TaskPtr receipt(const Key& key, const ReadyEffect& effect, const actions::ActionOutcome& outcome);
  void submit(TaskPtr task);
  Status hand_over(std::unique_lock<std::mutex>& lock, const TaskPtr& task);
  void settled(const Key& key);
  void refused(TaskPtr answer, const Error& error);
  void run_backlog();
  std::string work_directory(const RunId& run, const std::string& action);

  actions::ActionRunner& runner_;
  const actions::Vault* vault_;
  WorkDirectories directories_;
  const std::shared_ptr<actions::ByteGate> asked_;  // parameters of actions that were begun

  std::mutex mutex_;
  std::condition_variable wakes_;
  EngineLoop* engine_ = nullptr;  // guarded by mutex_
  size_t submitting_ = 0;    // guarded by mutex_: threads that are inside the engine's submit()
  bool stopped_ = false;     // guarded by mutex_
  std::set<Key> under_way_;  // guarded by mutex_: begun, answer not durable yet
  std::map<Key, uint64_t> handles_;  // guarded by mutex_: of running actions
  std::set<std::string> probing_;    // guarded by mutex_: breakers that let one attempt through
  std::deque<TaskPtr> backlog_;      // guarded by mutex_: answers the engine had no room for
  std::thread backlog_thread_;
};

}  // namespace pawl
