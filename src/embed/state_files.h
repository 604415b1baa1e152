// StateFiles: the state of each instance as <directory>/<instance_id>.json, for people and programs
// that read files. The engine's log is authoritative; these files are never read.
//
// A temporary file is written, synced and renamed, so a reader sees one state or the next.
// <directory>/.exported holds the position up to which files are current: after a crash the rest is
// written at the restart. A file that could not be written is tried again with the next change.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "embed/journal_follower.h"
#include "runtime/runtime.h"

namespace pawl::embed {

class StateFiles {
 public:
  StateFiles(Runtime& runtime, std::string directory);

  // Writes all changes, and ends.
  void finish() { follower_->finish(); }

 private:
  void take(const JournalFollower::Page& page);
  void add_all();
  void write_pending();
  EventPosition read_position() const;

  Runtime& runtime_;
  std::string directory_;
  std::set<std::string> pending_;  // of the follower's thread: ids of runs
  std::unique_ptr<JournalFollower> follower_;
};

// Whether an instance id can be the name of its file.
bool is_file_name(std::string_view id);

}  // namespace pawl::embed
