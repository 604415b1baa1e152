// Compares the stored index rows with the stored jobs: each job's row and its index rows are
// written together, so they always match. A job without its ready entry would never be fetched; a
// surplus entry would break a fetch.
#pragma once

#include "engine/verify.h"

namespace pawl {

// Adds differences to the report. Corrupt when a job's row cannot be read.
Status verify_index(Store& store, VerifyReport& report);

}  // namespace pawl
