// Runs of definitions as /v1 shows them. Engine thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "wire/reply_room.h"

namespace pawl {

class State;
struct Run;

struct StepsPage {
  size_t from = 0;
  size_t count = 1000;
  std::string fields = {};  // the choice of ?fields=: other members are not rendered if they may be
                            // large
  size_t bytes_max = kReplyBytesMax;  // values together; SIZE_MAX: all, for callers in the process
};

std::string script_run_body(const State& state, const Run& run, const StepsPage& page);
// {"step": {…}} and {"name": …, "value": …}: single values that replies about large runs omit.
// NotFound if there is none of that name.
Result<std::string> script_step_body(const State& state, const Run& run, std::string_view step);
Result<std::string> script_variable_body(const Run& run, std::string_view name);
// One entry of a list: the run without its steps. Leaves the object open.
void begin_script_run(json::Writer& w, const State& state, const Run& run);

struct PlacedStatus {
  std::string scope;  // its path
  uint32_t list = 0;
  uint32_t position = 0;
  std::string_view status;
};
// The statuses of its steps, for a diagram; not all if it has very many.
std::vector<PlacedStatus> placed_statuses(const State& state, const Run& run);

}  // namespace pawl
