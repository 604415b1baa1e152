// Counts visits, one instance for each visitor.
#include "types.h"

void visits(pawl::Step& step) {
  Visits state = pawl::as<Visits>(step.state());
  ++state.count;
  state.last = {true, step.now_ns()};
  step.set_state(pawl::encode(state));
  step.complete();  // until the next visit
}
PAWL_WORKFLOW(visits)
