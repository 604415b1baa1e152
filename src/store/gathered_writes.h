// Writes that follow each other in a file, made as one.
//
// SQLite writes each page of its log as two pieces that begin in the middle of the disk's pages: a
// commit of 20 MB is 10,000 calls, and most pages are touched twice. Nothing of a commit has to be
// in the file before the commit is synced, nor has anybody else looked for it there.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <string>

namespace pawl {

class GatheredWrites {
 public:
  // What was gathered may be written by this call, and fail; then it is given up, as is what SQLite
  // wanted it for.
  int write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at);
  // Before anything that looks at the file, or makes it durable.
  int flush(sqlite3_file* file);
  // It was for a commit that has failed: by now the place may be another's.
  void forget() { waiting_.clear(); }

 private:
  // SQLite's own file takes less than 128 KiB in one call.
  static constexpr size_t kGatheredMax = 96u << 10;

  std::string waiting_;
  sqlite3_int64 at_ = 0;  // where it belongs
};

}  // namespace pawl
