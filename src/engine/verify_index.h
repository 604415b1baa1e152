// The stored index rows against the stored jobs: each job's row and its index rows are written
// together, so at every moment the ones follow from the others. A missing ready entry is a job that
// nobody will ever be given; one too many is a fetch that stumbles.
#pragma once

#include "engine/verify.h"

namespace pawl {

// Adds what it finds to the report. Corrupt when a job's row can not be read.
Status verify_index(Store& store, VerifyReport& report);

}  // namespace pawl
