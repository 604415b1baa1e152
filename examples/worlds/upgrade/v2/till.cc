// Points for what was bought: one for every fifty cents, and a slip that is printed. Version 2: points are twice as many, states stay.
#include "pawl_module.h"

using namespace pawl;

void till(Step& step) {
  constexpr uint64_t kCentsPerPoint = 50;
  uint64_t points = step.state()["points"].nat_or(0);
  uint64_t printed = step.state()["printed"].nat_or(0);
  if (step.tag() == "Buy") {
    points += step.value()["cents"].nat() / kCentsPerPoint;
    step.effect("till.print", record("text", concat("you have ", points, " points")));
  } else {
    printed += Receipt(step.value()).ok() ? 1 : 0;
    step.complete();
  }
  step.set_state(record("points", points, "printed", printed));
}
PAWL_WORKFLOW(till)
