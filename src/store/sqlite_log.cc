#include "store/sqlite_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "store/sqlite_connection.h"

namespace pawl {
namespace {

constexpr sqlite3_int64 kChunkBytes = 64 << 10;  // SQLite writes no more than 128 KiB at once

int rewrite(sqlite3_file* file) {
  sqlite3_int64 bytes = 0;
  if (const int code = file->pMethods->xFileSize(file, &bytes); code != SQLITE_OK) return code;
  std::vector<char> chunk(static_cast<size_t>(std::min(bytes, kChunkBytes)));
  for (sqlite3_int64 at = 0; at < bytes; at += kChunkBytes) {
    const int length = static_cast<int>(std::min(bytes - at, kChunkBytes));
    if (const int code = file->pMethods->xRead(file, chunk.data(), length, at); code != SQLITE_OK) {
      return code;
    }
    if (const int code = file->pMethods->xWrite(file, chunk.data(), length, at);
        code != SQLITE_OK) {
      return code;
    }
  }
  return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

}  // namespace

Status settle_log(const char* vfs_name, const std::string& path) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(vfs_name);
  int there = 0;
  int code = vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &there);
  if (code == SQLITE_OK && there == 0) return ok_status();
  std::vector<std::max_align_t> memory(
      static_cast<size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* file = reinterpret_cast<sqlite3_file*>(memory.data());
  // With the flag that creates, as SQLite itself opens it: its first sync then is the directory's.
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL;
  if (code == SQLITE_OK) code = vfs->xOpen(vfs, path.c_str(), file, kFlags, nullptr);
  if (code == SQLITE_OK) code = rewrite(file);
  if (file->pMethods != nullptr) file->pMethods->xClose(file);
  if (code == SQLITE_OK) return ok_status();
  return sqlite_error(code, "making the log durable", sqlite3_errstr(code));
}

}  // namespace pawl
