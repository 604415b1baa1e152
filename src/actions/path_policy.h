// Which files an action may touch, decided on the path that links really lead to.
//
// Confined: the run's work directory and the policy's lists, nothing else. Not confined: everything
// the server may touch. In both, what lies under `deny` is refused and what lies under `read_only`
// is not written. What is `sealed` (the data directory) is refused before all that, except for the
// run's own work directory: by its path, by its inode (bind mounts), by hard links to its files;
// and with it what /proc says of processes, which is another way to the same files and to memory. A
// path is judged twice, as written and as its links resolve (of a path that does not exist yet, the
// part that does); what is then opened is exactly the judged path, with no link in it
// (open_judged), so that a link put there in between is refused instead of followed.
//
// Any thread.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "actions/action.h"
#include "base/result.h"

namespace pawl::actions {

enum class Access { Read, Write };
// Whether a link at the very end is what is meant (delete, move), or what it points to.
enum class LastLink { Follow, Keep };

struct JudgedPath {
  std::string shown;  // absolute, as the caller wrote it
  std::string real;   // absolute, without links, "." and ".."

  std::string parent() const;
  std::string name() const;
};

class PathPolicy {
 public:
  PathPolicy(const FsPolicy& policy, std::string_view work_directory);

  // Forbidden when the policy refuses, and for what is no path (empty, NUL, too long).
  Result<JudgedPath> judge(std::string_view path, Access access,
                           LastLink last = LastLink::Follow) const;
  // For what is found while walking a tree: an absolute path without links.
  bool allows(std::string_view real, Access access) const;
  // Something below is protected, so the tree must not be moved or deleted as a whole; or it is one
  // of the roots that files are confined to.
  Status may_remove(const JudgedPath& path) const;
  // Whether a file is one of the server's own under another name (a hard link).
  bool is_sealed_file(const struct stat& info) const;

 private:
  bool denied(std::string_view path) const;
  bool sealed(std::string_view real) const;
  bool lies_in_sealed(const std::string& real) const;

  bool confined_;
  std::string work_directory_;
  std::string own_;                    // the work directory, as links resolve; "" = none
  std::vector<std::string> sealed_;    // as links resolve
  std::vector<std::string> writable_;  // as links resolve; the work directory among them
  std::vector<std::string> read_only_;
  std::vector<std::string> deny_;
};

// Opens a judged path from the root of the file system without following any link; -1 and errno as
// openat2 does (ELOOP: somebody put a link there).
int open_judged(const std::string& real, int flags, unsigned mode = 0);

// An absolute path without ".", ".." and double slashes, by text alone.
std::string normal_path(std::string_view path);
// Where a path leads once every link in its existing part is followed. Forbidden for loops of links
// and for ".." behind something that does not exist.
Result<std::string> real_path(std::string_view absolute, LastLink last);
bool is_inside(std::string_view path, std::string_view directory);  // or the directory itself

}  // namespace pawl::actions
