// Quarantine: a run or job that the server died of twice is ended before it is taken up a third
// time. It fails with the code QUARANTINED; nothing of it is evaluated, no hook and no compensation
// runs, and what it asked of the outside is not asked again. release_run() takes it up again.
//
// engine/crash_book.h says whom; nothing here knows why.
#pragma once

#include <string>

#include "kernel/frame.h"

namespace pawl {

constexpr std::string_view kQuarantined = "QUARANTINED";

struct QuarantineReason {
  std::string message;  // a sentence, for people
  uint32_t deaths = 0;
  int signal = 0;
  // Leave its steps as they are and its children to themselves: for one whose steps cannot even be
  // stopped without dying.
  bool bare = false;
};

// False if there is no such run or job, or if it is over already.
bool quarantine(Frame& frame, const Uuid& id, const QuarantineReason& reason);

// Its creation could not be read: it is made anew, without its text and inputs, so that it can be
// seen to have failed.
void quarantine_created(Frame& frame, const ScriptCreated& created, const QuarantineReason& reason);

bool is_quarantined(const Run& run);
// The sentence above; empty unless it is quarantined.
std::string quarantine_message(const Run& run);

// It goes on where it was stopped. Conflict unless it is quarantined, if it is part of another run,
// or if it never began and cannot.
Status release_run(Frame& frame, const RunId& id);

}  // namespace pawl
