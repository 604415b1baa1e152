// Inputs as the journal has them, to be decided once more: by a replay, or by a shadow under
// another program.
#pragma once

#include "worlds/commands.h"
#include "worlds/record_view.h"

namespace pawl::worlds {

// Whether the frame's input is an event from outside.
bool is_outside_event(const FrameRecords& frame);
bool is_receipt(const FrameRecords& frame);

// The frame's stamp: from its records, or what a frame without one needs of it.
Stamp recorded_stamp(const FrameRecords& frame, int64_t last_logical_ns);

// Judged by this program: the refusals of judge_event().
Result<Event> recorded_event(const Program& program, const RecordView& record);
GivenReceipt recorded_receipt(const RecordView& record);

}  // namespace pawl::worlds
