// Data of a running job besides its state: a checkpoint to resume from, and its progress.
#pragma once

#include <string>

#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Frame;

struct SaveCheckpoint {
  JobId job;
  std::string state;  // JSON text
};
Result<uint64_t> save_checkpoint(
    Frame& frame, const SaveCheckpoint& command);  // the checkpoint's sequence, from 1
Status delete_checkpoint(Frame& frame, const JobId& job);

struct ReportProgress {
  JobId job;
  std::string progress;  // JSON number text, 0..1
  std::string message;
  std::string data;
};
Status report_progress(Frame& frame, const ReportProgress& command);

}  // namespace pawl
