// Runs of definitions as /v1 shows them. Engine thread.
#pragma once

#include <string>

#include "base/json_writer.h"
#include "kernel/state.h"
#include "plan/diagram.h"

namespace pawl::api {

struct StepsPage {
  size_t from = 0;
  size_t count = 1000;
  std::string fields = {};  // what ?fields= chooses: the rest is not rendered if it may be large
};

std::string script_run_body(const State& state, const Run& run, const StepsPage& page);
// One entry of a list: the run without its steps. Leaves the object open.
void begin_script_run(json::Writer& w, const State& state, const Run& run);
plan::StepStatuses step_statuses(const State& state, const Run& run);

}  // namespace pawl::api
