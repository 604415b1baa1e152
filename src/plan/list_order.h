// The order of a list: the dependencies of each step, which steps are only fallbacks, and whether
// the list can end.
#pragma once

#include <string>
#include <vector>

#include "plan/findings.h"
#include "plan/script.h"

namespace pawl::plan {

// The neighbours that a step names.
struct Draft {
  std::string depends_field;  // the spelling that was used
  std::vector<std::string> depends_on;
  std::string fallback;
};

// Settles depends_on, dependents, fallback and dormant of every step of the list. `in_order`: a
// step that names nothing waits for the one before it. `entries`: where each step was written.
void settle_order(Script& script, uint32_t list, bool in_order, const std::vector<Draft>& drafts,
                  const std::vector<Cursor>& entries, Findings& findings);

}  // namespace pawl::plan
