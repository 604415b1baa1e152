// Plants: make the process abort at a chosen place when it meets a certain text, so that tests can
// check its next start. For tests only: an operator sets PAWL_PLANT_ABORT, which is
// read once when the server starts; without it nothing here does anything.
#pragma once

#include <string_view>

namespace pawl {

enum class Plant : unsigned char { None, Action, Evaluation, Apply, Module };

constexpr std::string_view kPlantText = "pawl-planted-abort";

inline Plant planted = Plant::None;  // set before threads start

// action, evaluation, apply or module; anything else plants nothing.
void plant(std::string_view where);

[[noreturn]] void die_of_plant();

// Ends the process if this place was chosen and the text holds kPlantText.
inline void abort_if_planted(Plant here, std::string_view text) {
  if (planted == here && text.find(kPlantText) != std::string_view::npos) die_of_plant();
}

// A bug for the simulator's checkers to find, behind a flag that only it sets: never on a server.
enum class Bug : unsigned char {
  None,
#define PAWL_BUG(name, text) name,
#include "base/bugs.def"
#undef PAWL_BUG
};

inline Bug planted_bug = Bug::None;

inline bool has_bug(Bug bug) { return planted_bug == bug; }
// The bug of this name in sim/plants.def; None: the simulator itself implements it.
Bug bug_named(std::string_view name);

}  // namespace pawl
