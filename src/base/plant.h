// Plants: make the process abort at a chosen place when it meets a certain text, so that tests can
// check its next start. For tests only: an operator sets PAWL_PLANT_ABORT, which is
// read once when the server starts; without it nothing here does anything.
#pragma once

#include <string_view>

namespace pawl {

enum class Plant : unsigned char { None, Action, Evaluation, Apply };

constexpr std::string_view kPlantText = "pawl-planted-abort";

inline Plant planted = Plant::None;  // set before threads start

// action, evaluation or apply; anything else plants nothing.
void plant(std::string_view where);

[[noreturn]] void die_of_plant();

// Ends the process if this place was chosen and the text holds kPlantText.
inline void abort_if_planted(Plant here, std::string_view text) {
  if (planted == here && text.find(kPlantText) != std::string_view::npos) die_of_plant();
}

}  // namespace pawl
