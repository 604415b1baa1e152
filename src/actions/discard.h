// Discard: directories on their way out, however large and deep, a little at a time.
//
// take() moves a directory aside in one step, into `.gone` beside it: who needs the name again
// begins with nothing. step() removes entries of what lies there. A link is removed, never
// followed; a directory within another is moved up to `.gone` first, so that no depth costs more
// than two descriptors. What cannot be removed (something mounted there, another user's file) is
// left in `.gone`, told once in the log, and tried again by the next process.
//
// One thread at a time.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "actions/file_handle.h"
#include "base/result.h"

namespace pawl::actions {

class Discard {
 public:
  static constexpr const char* kPlace = ".gone";

  explicit Discard(std::string root);

  // Whether there is a directory of that name in the root: no link to one, and no path.
  bool has(const std::string& name) const;
  // NotFound unless has().
  Status take(const std::string& name);
  // Removes up to so many entries; true if there may be more.
  bool step(size_t entries_max);

 private:
  FileHandle open_root() const;
  Status open_place();
  bool open_next();
  bool remove_entry(const char* name);
  void close_current();
  std::string fresh_name();

  const std::string root_;
  const std::string prefix_;  // of names in .gone: another process's are not met
  uint64_t last_number_ = 0;
  FileHandle place_;                                                   // .gone
  std::unique_ptr<DIR, int (*)(DIR*)> current_{nullptr, &::closedir};  // in .gone, being emptied
  std::string current_name_;
  bool current_stuck_ = false;   // something in it stays
  bool current_shrank_ = false;  // something in it went
  std::set<std::string> stuck_;
};

}  // namespace pawl::actions
