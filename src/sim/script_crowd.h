// ScriptCrowd: clients that put definitions, run them, change runs and decide; and performers, who
// execute effects and answer late, twice or never.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/chance.h"
#include "sim/script_task.h"
#include "sim/stage.h"

namespace pawl::sim {

class ScriptCrowd {
 public:
  // How the rest of the crowd sends, and where its workers look for jobs.
  struct Ways {
    std::function<void(const std::string&, const std::function<std::shared_ptr<SimTask>()>&)> send;
    std::vector<std::string> queues;
  };
  ScriptCrowd(Stage& world, SimRandom& random, Verdict& verdict, Ways ways)
      : world_(world), random_(random), verdict_(verdict), ways_(std::move(ways)) {}

  void client_acts();
  void performer_acts();
  // The end: gives every run what it waits for.
  void work_off();

 private:
  void put_definition();
  void put_schedule();
  void start();
  void meddle(ScriptOp op);
  void send_signal();
  void decide();
  void extend();
  void answer(Work& work, bool calm);
  StepOutcome draw_outcome(const Work& work, bool calm);
  void give_what_is_missing(const RunId& id, const ModelScript& run);
  // An existing run; mostly one that has (or has not) ended.
  RunId draw_run(bool over);
  std::shared_ptr<ScriptTask> task(ScriptOp op, const RunId& run);
  void send(ScriptOp op, const RunId& run, const std::function<void(ScriptTask&)>& fill);

  Stage& world_;
  SimRandom& random_;
  Verdict& verdict_;
  Ways ways_;
  uint64_t serial_ = 0;
  std::vector<std::string> inline_texts_;  // of runs without a registered definition
};

}  // namespace pawl::sim
