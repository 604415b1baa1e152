// DirectoryLock: one process (and one store in it) per data directory. The operating system drops
// the lock when the holder dies, so there is never a stale lock to remove by hand.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace pawl {

class DirectoryLock {
 public:
  // Creates the directory (not its parents) if needed. Unavailable, naming the holder's pid, while
  // another holds it; StoreFailed if the directory cannot be used.
  static Result<DirectoryLock> acquire(const std::string& directory);

  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&&) = delete;

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace pawl
