// The output of a step, judged against the program before the gate (worlds/gate.h) sees its
// effects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worlds/gate.h"
#include "worlds/route.h"
#include "worlds/step_io.h"

namespace pawl::worlds {

struct JudgedEffect {
  SoundEffect sound;
  std::string params_hash;
  std::optional<std::string> requested_key;
};

struct JudgedStep {
  std::optional<std::string> state;  // canonical
  std::vector<JudgedEffect> effects;
  std::vector<JudgedEvent> events;
  Said said = Said::Nothing;
  std::string error;
};

// step.state_invalid, those of judge_effect(), effect.invalid_key, those of judge_emitted(); in
// this order, with step.output_limit where what was judged so far is too much.
std::optional<Fault> judge_step(const Program& program, const Module& module,
                                const StepOutput& output, bool needs_grants, JudgedStep& step);

}  // namespace pawl::worlds
