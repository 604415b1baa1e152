#include "base/plant.h"

#include <cstdio>
#include <cstdlib>

namespace pawl {

void plant(std::string_view where) {
  planted = where == "action"       ? Plant::Action
            : where == "evaluation" ? Plant::Evaluation
            : where == "apply"      ? Plant::Apply
                                    : Plant::None;
}

void die_of_plant() {
  std::fputs("pawl: aborting as PAWL_PLANT_ABORT asks\n", stderr);
  std::abort();
}

}  // namespace pawl
