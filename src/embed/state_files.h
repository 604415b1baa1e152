// StateFiles: the state of each instance as <directory>/<instance_id>.json, for people and programs
// that read files. The engine's log is what counts; nothing is read back from here.
//
// A file is written beside its place, synced and renamed, so a reader sees one state or the next.
// How far the files are up to date stands in <directory>/.exported: what a crash cut off is written
// after the restart. A file that could not be written is tried again with the next change.
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

  // Writes what changed up to now, and ends.
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
