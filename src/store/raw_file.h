// RawFile: one file of a VFS without a connection of SQLite's above it.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <string>
#include <vector>

namespace pawl {

class RawFile {
 public:
  // `flags` as for sqlite3_vfs.xOpen. The path must live as long. code() says whether it is open.
  RawFile(sqlite3_vfs* vfs, const std::string& path, int flags)
      : memory_(static_cast<size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1),
        code_(vfs->xOpen(vfs, path.c_str(), file(), flags, nullptr)) {}
  ~RawFile() {
    if (file()->pMethods != nullptr) file()->pMethods->xClose(file());
  }
  RawFile& operator=(RawFile&&) = delete;

  int code() const { return code_; }
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory_.data()); }

  int size(sqlite3_int64& bytes) { return file()->pMethods->xFileSize(file(), &bytes); }
  int read(void* into, int bytes, sqlite3_int64 at) {
    return file()->pMethods->xRead(file(), into, bytes, at);
  }

 private:
  std::vector<std::max_align_t> memory_;
  int code_;
};

}  // namespace pawl
