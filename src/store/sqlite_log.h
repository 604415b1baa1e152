// The write-ahead log that a process left behind when it did not close its store.
#pragma once

#include <string>

#include "base/result.h"

namespace pawl {

// Makes every byte of the log at `path` durable; nothing happens if there is none. Before the first
// connection is opened, by the holder of the directory.
//
// The writes of a killed process may be only in the operating system's memory, and after a failed
// sync no later sync writes them: the system treats those pages as clean. So the same bytes are
// written again, in place, and synced. Otherwise a store could show a commit, or even move half of
// it into the database, that a power cut then removes from the log.
//
// Corrupt if a frame is damaged that was certainly durable. SQLite would treat it as the end of the
// log, and drop later acknowledged commits: that is right only for a commit interrupted by a power
// cut. A frame was certainly durable if two later commits follow it, since each one begins after
// the sync of the previous one. A log with a torn header holds nothing that SQLite would read, and
// is emptied.
Status settle_log(const char* vfs, const std::string& path);

}  // namespace pawl
