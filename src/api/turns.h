// Turns: lists wait here and not in the engine's queue, which serves in order of arrival. Only a
// few are in the engine at a time, so other tasks wait for at most those few, however many lists
// were requested.
//
// Thread: any. enter() is called by the I/O thread of the request, leave() by the answering thread.
#pragma once

#include <deque>
#include <functional>
#include <mutex>

#include "engine/engine.h"

namespace pawl::api {

class Turns {
 public:
  static constexpr size_t kAtOnce = 2;
  static constexpr size_t kWaitingMax = 4'096;

  explicit Turns(EngineLoop& engine) : engine_(engine) {}
  Turns& operator=(Turns&&) = delete;

  struct Visit {
    TaskPtr task;
    std::function<void(const Error&)> turn_away;  // instead of refuse(): it was never submitted
  };

  // True: submit it now. False: it is submitted when its turn comes, or was turned away. A
  // submitted task must leave() once, when it is answered or refused.
  bool enter(Visit visit);
  void leave();

  size_t waiting() const;

 private:
  EngineLoop& engine_;
  mutable std::mutex mutex_;
  std::deque<Visit> waiting_;  // guarded by mutex_
  size_t at_work_ = 0;         // guarded by mutex_
};

}  // namespace pawl::api
