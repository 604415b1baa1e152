// Quarantine: a run or job that killed the server twice is ended before it is resumed a third time.
// It fails with the code QUARANTINED; nothing of it is evaluated, no hook and no compensation runs,
// and its open effects are not requested again. release_run() resumes it.
//
// engine/crash_book.h names the suspects.
#pragma once

#include <string>

#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Frame;
struct Run;

constexpr std::string_view kQuarantined = "QUARANTINED";

struct QuarantineReason {
  std::string message;  // a sentence, for people
  uint32_t deaths = 0;
  int signal = 0;
  // Leaves its steps and children unchanged: for a run whose steps cannot even be stopped without
  // killing the server.
  bool bare = false;
};

// False if there is no such run or job, or if it has already ended.
bool quarantine(Frame& frame, const Uuid& id, const QuarantineReason& reason);

// Its creation event was skipped: it is created again, without its text and inputs, so that its
// failure is visible.
void quarantine_created(Frame& frame, const ScriptCreated& created, const QuarantineReason& reason);

bool is_quarantined(const Run& run);
// The sentence above; empty unless it is quarantined.
std::string quarantine_message(const Run& run);

// Resumes it where it was stopped. Conflict unless it is quarantined, if it is part of another run,
// or if it cannot begin.
Status release_run(Frame& frame, const RunId& id);

}  // namespace pawl
