// The write-ahead log that a process left behind when it did not close its store.
#pragma once

#include <string>

#include "base/result.h"

namespace pawl {

// Makes every byte of the log at `path` durable; nothing happens if there is none. Before the first
// connection is opened, by the holder of the directory.
//
// What a killed process wrote may be in the kernel's memory only, and once a sync of it has failed
// no later one brings it to the disk: the kernel takes those pages for clean. So the same bytes are
// written again, in place, and synced. Otherwise a store would show a commit, or even move half of
// it into the database, that a power cut then takes out of the log.
//
// Corrupt if a frame is damaged that was durable for sure. SQLite would take it for the end of the
// log, and drop what was acknowledged after it: that is right only for the commit during which the
// power went. Durable for sure is what two later commits stand behind, since each one begins after
// the sync of the one before. A log whose header was cut short holds nothing that SQLite would read,
// and is emptied.
Status settle_log(const char* vfs, const std::string& path);

}  // namespace pawl
