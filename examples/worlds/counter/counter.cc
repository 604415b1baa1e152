// Adds up what it is sent.
#include "pawl_module.h"

void counter(pawl::Step& step) {
  const uint64_t count = step.state()["count"].nat_or(0);
  step.set_state(pawl::record("count", count + step.event()["by"].nat()));
  step.complete();  // nothing is left to do; the next event runs it again
}
PAWL_WORKFLOW(counter)
