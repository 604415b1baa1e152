// Discard: removes directories of any size and depth, a little at a time.
//
// take() moves a directory into `.gone` beside it in one step, so that its name can be reused at
// once. step() removes entries in `.gone`. A link is removed, never followed; a nested directory is
// moved up to `.gone` first, so that any depth needs only two descriptors. Entries that cannot be
// removed (a mount, another user's file) stay in `.gone`, are logged once, and are tried again by
// the next process.
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

  // Whether the root has a directory of that name: not a link, and not a path.
  bool has(const std::string& name) const;
  // NotFound unless has().
  Status take(const std::string& name);
  // Removes at most this many entries; true if there may be more.
  bool step(size_t entries_max);

 private:
  FileHandle open_root() const;
  Status open_place();
  bool open_next();
  bool remove_entry(const char* name);
  void close_current();
  std::string fresh_name();

  const std::string root_;
  const std::string prefix_;  // of names in .gone, so that they do not clash with another process's
  uint64_t last_number_ = 0;
  FileHandle place_;                                                   // .gone
  std::unique_ptr<DIR, int (*)(DIR*)> current_{nullptr, &::closedir};  // in .gone, being emptied
  std::string current_name_;
  bool current_stuck_ = false;   // some entry cannot be removed
  bool current_shrank_ = false;  // some entry was removed
  std::set<std::string> stuck_;
};

}  // namespace pawl::actions
