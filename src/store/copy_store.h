// Copies a store into an empty one, of whatever kind: rows and records as they are, numbers and
// all.
#pragma once

#include "base/function_ref.h"
#include "store/store.h"

namespace pawl {

struct Copied {
  uint64_t rows = 0;
  uint64_t records = 0;
};

// True if nothing was ever written to it.
Result<bool> is_empty(Store& store);

// Conflict if `to` is not empty. A failure leaves a part behind. No engine uses either meanwhile.
Result<Copied> copy_store(Store& from, Store& to, FunctionRef<void(const Copied&)> progress);

}  // namespace pawl
