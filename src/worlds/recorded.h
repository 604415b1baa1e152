// Reads inputs from the journal, to be decided once more: by a replay, or by a shadow run under
// another program.
#pragma once

#include "worlds/commands.h"
#include "worlds/record_view.h"

namespace pawl::worlds {

// Whether the frame's input is an event from outside.
bool is_outside_event(const FrameRecords& frame);
bool is_receipt(const FrameRecords& frame);

// The frame's stamp, from its records. For a frame without one: the time when it was written, and
// the logical time that its record names, or else the later of that time and `last_logical_ns`.
Stamp recorded_stamp(const FrameRecords& frame, int64_t last_logical_ns);

// Judged by this program: the refusals of judge_event().
Result<Event> recorded_event(const Program& program, const RecordView& record);
GivenReceipt recorded_receipt(const RecordView& record);

}  // namespace pawl::worlds
