// Unreadable: thrown by a read of the state that finds its place on the disk broken. An unreadable
// item is not a missing one, so no decision can be made without it: the exception ends the decision
// and is caught where the decision began (docs/adr/0007-unreadable.md).
#pragma once

#include "base/result.h"

namespace pawl {

struct Unreadable {
  Error error;
};

}  // namespace pawl
