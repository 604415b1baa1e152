// Planted bugs in the journal: a record is decoded, some of its events are dropped, doubled or
// added, and it is encoded again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "journal/record.h"
#include "sim/loose_event.h"
#include "sim/model.h"

namespace pawl::sim {

// `change` sees the events of one frame after the other.
std::string rewrite_record(uint64_t number, std::string_view record,
                           FunctionRef<void(std::vector<LooseEvent>&)> change);

// Drops the last event of the record.
std::string without_last_event(uint64_t number, std::string_view record);
// A callback's guard is gone: it is called, and its job pushed, a second time.
std::string with_callbacks_twice(uint64_t number, std::string_view record);
// A failed attempt that will be tried again is counted as the member's failure.
std::string with_retries_counted(uint64_t number, std::string_view record,
                                 const JournalModel& model);
// The end of a cancelled member never reaches its run.
std::string without_cancelled_members(uint64_t number, std::string_view record);

}  // namespace pawl::sim
