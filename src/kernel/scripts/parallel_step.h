// Shared by the two kinds with parallel branches: all of them count, or the first (a race).
#pragma once

#include "kernel/scripts/lists_step.h"

namespace pawl::scripts {

class BranchesKind : public ListsKind {
 protected:
  ~BranchesKind() = default;
  void enter(RunContext& run, const At& at) const final;
};

const Scope* branch_list(const RunContext& run, const At& at, uint32_t index);
void complete_with_all(RunContext& run, const At& at);

}  // namespace pawl::scripts
