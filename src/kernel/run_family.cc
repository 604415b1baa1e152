#include "kernel/run_family.h"

#include "journal/events.h"
#include "kernel/run.h"

namespace pawl {

const RunFamily& family_of(const Run& run) {
  if (run.kind == RunKind::Script) return script_family();
  return run.kind == RunKind::Module ? module_family() : composition_family();
}

}  // namespace pawl
