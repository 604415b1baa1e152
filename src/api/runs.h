// Runs of every kind in the form of /v1: shared by the calls that show and change them. Engine
// thread.
#pragma once

#include <string>

#include "base/result.h"

namespace pawl {
class State;
struct Run;
}  // namespace pawl

namespace pawl::api {

constexpr uint32_t kStepsShownUsual = 1000;

struct StepWindow {
  uint32_t from = 0;
  uint32_t count = kStepsShownUsual;
  std::string fields = {};  // as asked for by ?fields=
};

std::string run_body(const State& state, const Run& run, const StepWindow& window);
// NotFound for a run of another tenant too.
Result<const Run*> visible_run(const State& state, std::string_view text, std::string_view tenant);

}  // namespace pawl::api
