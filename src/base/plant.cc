#include "base/plant.h"

#include <cstdio>
#include <cstdlib>

namespace pawl {

void plant(std::string_view where) {
  planted = where == "action"       ? Plant::Action
            : where == "evaluation" ? Plant::Evaluation
            : where == "apply"      ? Plant::Apply
            : where == "module"     ? Plant::Module
                                    : Plant::None;
}

Bug bug_named(std::string_view name) {
#define PAWL_BUG(bug, text) \
  if (name == text) return Bug::bug;
#include "base/bugs.def"
#undef PAWL_BUG
  return Bug::None;
}

void die_of_plant() {
  std::fputs("pawl: aborting as PAWL_PLANT_ABORT asks\n", stderr);
  std::abort();
}

}  // namespace pawl
