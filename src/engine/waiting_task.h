// WaitingTask: a task whose submitter blocks for the outcome. For the server's own threads, never
// for I/O threads.
#pragma once

#include <future>
#include <memory>

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

}  // namespace pawl
