// Combines consecutive writes to a file into one.
//
// SQLite writes each page of its log as two pieces that begin in the middle of the disk's pages: a
// commit of 20 MB is 10,000 calls, and most pages are touched twice. A commit need not be in the
// file before it is synced, and no reader looks for it there earlier.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <string>

namespace pawl {

class GatheredWrites {
 public:
  // May write the gathered bytes and fail; they are then dropped, and SQLite fails the commit.
  int write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at);
  // Call before anything that reads the file or makes it durable.
  int flush(sqlite3_file* file);
  // Drops bytes of a failed commit: their place in the file may be reused.
  void forget() { waiting_.clear(); }

 private:
  // SQLite's own VFS writes less than 128 KiB in one call.
  static constexpr size_t kGatheredMax = 96u << 10;

  std::string waiting_;
  sqlite3_int64 at_ = 0;  // their offset in the file
};

}  // namespace pawl
