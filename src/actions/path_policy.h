// Which files an action may use, decided on the path after resolving links.
//
// Confined: only the run's work directory and the policy's lists. Not confined: all files the
// server may use. In both, paths under `deny` are refused and paths under `read_only` are not
// written. `off_limits` directories (the data directory) are refused first, except for the run's
// own work directory: by path, by inode (bind mounts), and by hard links to their files; so is
// /proc/<pid>, which also leads to these files and to memory. A path is checked twice, as written
// and with its links resolved (for a path that does not exist yet, its existing part); exactly the
// checked path is then opened, without following links (open_judged), so that a link created in
// between is refused.
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
// Whether a link at the end of the path is meant itself (delete, move), or its target.
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

  // Forbidden when the policy refuses, and for an invalid path (empty, NUL, too long).
  Result<JudgedPath> judge(std::string_view path, Access access,
                           LastLink last = LastLink::Follow) const;
  // For entries found while walking a tree: an absolute path without links.
  bool allows(std::string_view real, Access access) const;
  // Refuses a tree with a protected entry, which must not be moved or deleted as a whole, and the
  // roots of confinement.
  Status may_remove(const JudgedPath& path) const;
  // Whether a file is one of the server's own under another name (a hard link).
  bool is_off_limits_file(const struct stat& info) const;

 private:
  bool denied(std::string_view path) const;
  bool off_limits(std::string_view real) const;
  bool holds_off_limits(const std::string& real) const;

  bool confined_;
  std::string work_directory_;
  std::string own_;                      // the work directory, as links resolve; "" = none
  std::vector<std::string> off_limits_;  // links resolved
  std::vector<std::string> writable_;    // links resolved; the work directory among them
  std::vector<std::string> read_only_;
  std::vector<std::string> deny_;
};

// Opens a checked path from the root of the file system without following any link; -1 and errno as
// openat2 does (ELOOP: there is a link now).
int open_judged(const std::string& real, int flags, unsigned mode = 0);

// An absolute path without ".", ".." and double slashes, by text alone.
std::string normal_path(std::string_view path);
// Where a path leads once every link in its existing part is followed. Forbidden for loops of links
// and for ".." behind something that does not exist.
Result<std::string> real_path(std::string_view absolute, LastLink last);
bool is_inside(std::string_view path, std::string_view directory);  // or the directory itself

}  // namespace pawl::actions
