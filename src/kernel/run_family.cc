#include "kernel/run_family.h"

#include "journal/events.h"
#include "kernel/run.h"

namespace pawl {

const RunFamily& family_of(const Run& run) {
  return run.kind == RunKind::Script ? script_family() : composition_family();
}

}  // namespace pawl
