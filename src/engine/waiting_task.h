// WaitingTask: a task whose submitter blocks for the outcome. For the server's own threads, never
// for I/O threads.
#pragma once

#include <future>
#include <memory>

#include "base/function_ref.h"
#include "engine/engine.h"

namespace pawl {

class WaitingTask : public Task {
 public:
  void durable(Wakes&) final { settled_.set_value(ok_status()); }
  void refuse(const Error& error) final { settled_.set_value(error); }

  // Ok when its decision is durable.
  static Status run(EngineLoop& engine, const std::shared_ptr<WaitingTask>& task) {
    std::future<Status> settled = task->settled_.get_future();
    PAWL_TRY_DO(engine.submit(task));
    return settled.get();
  }

 private:
  std::promise<Status> settled_;
};

// Calls `act` on the engine's thread and blocks until what it decided is durable. only_reads: as
// Task says.
inline Status run_on_engine(EngineLoop& engine, FunctionRef<void(Frame&)> act, bool only_reads) {
  class Acting : public WaitingTask {
   public:
    Acting(FunctionRef<void(Frame&)> given, bool reads) : act_(given), only_reads_(reads) {}
    std::optional<Parking> decide(Frame& frame, bool) override {
      act_(frame);
      return std::nullopt;
    }
    bool only_reads() const override { return only_reads_; }

   private:
    FunctionRef<void(Frame&)> act_;  // it outlives the wait
    bool only_reads_;
  };
  return WaitingTask::run(engine, std::make_shared<Acting>(act, only_reads));
}

}  // namespace pawl
