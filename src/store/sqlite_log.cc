#include "store/sqlite_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "store/page_sum.h"
#include "store/raw_file.h"
#include "store/sqlite_connection.h"

namespace pawl {
namespace {

// SQLite writes no more than 128 KiB at once. Not the size of a page, which would be looked at.
constexpr sqlite3_int64 kChunkBytes = 60 << 10;

int rewrite(RawFile& log, sqlite3_int64 bytes) {
  sqlite3_file* file = log.file();
  std::vector<char> chunk(static_cast<size_t>(std::min(bytes, kChunkBytes)));
  for (sqlite3_int64 at = 0; at < bytes; at += kChunkBytes) {
    const int length = static_cast<int>(std::min(bytes - at, kChunkBytes));
    if (const int code = log.read(chunk.data(), length, at); code != SQLITE_OK) return code;
    if (const int code = file->pMethods->xWrite(file, chunk.data(), length, at);
        code != SQLITE_OK) {
      return code;
    }
  }
  return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

bool is_zero(const char* bytes, size_t count) {
  return std::all_of(bytes, bytes + count, [](char byte) { return byte == 0; });
}

// The first frame (from 1) that is damaged though it was durable; 0 if there is none. It was if a
// whole commit behind it has a whole frame that continues it; what torn commits have left of
// themselves behind the end of the log does not continue one another.
int find_damage(RawFile& log, sqlite3_int64 bytes, uint64_t& damaged) {
  damaged = 0;
  char head[kLogHeaderBytes];
  if (bytes < kLogHeaderBytes) return SQLITE_OK;
  if (const int code = log.read(head, kLogHeaderBytes, 0); code != SQLITE_OK) return code;
  const auto order = log_order(head);
  uint32_t page_bytes = 0;
  for (int i = 0; i < 4; ++i) page_bytes = page_bytes << 8 | static_cast<uint8_t>(head[8 + i]);
  // A header that is not whole: the log was never begun, or is not used again.
  if (!order || !is_page_size(page_bytes)) return SQLITE_OK;
  if (add_to_log_sum({}, {head, 24}, *order) != read_log_sum(head + 24)) return SQLITE_OK;

  LogSum before = read_log_sum(head + 24);
  uint64_t first_bad = 0;
  bool ends_commit = false;  // the frame before, behind the bad one
  std::vector<char> frame(kFrameHeaderBytes + page_bytes);
  const auto stride = static_cast<sqlite3_int64>(frame.size());
  for (uint64_t n = 1; kLogHeaderBytes + static_cast<sqlite3_int64>(n) * stride <= bytes; ++n) {
    const sqlite3_int64 at = kLogHeaderBytes + static_cast<sqlite3_int64>(n - 1) * stride;
    if (const int code = log.read(frame.data(), static_cast<int>(stride), at); code != SQLITE_OK)
      return code;
    const bool ours = std::memcmp(frame.data() + 8, head + 16, 8) == 0;  // not left from before
    const bool whole =
        ours && frame_is_whole(before, frame.data(), {frame.data() + kFrameHeaderBytes, page_bytes},
                               *order);
    before = read_log_sum(frame.data() + 16);
    if (!whole && first_bad == 0) first_bad = n;
    if (whole && ends_commit) {
      damaged = first_bad;
      return SQLITE_OK;
    }
    ends_commit = whole && first_bad != 0 && !is_zero(frame.data() + 4, 4);
  }
  return SQLITE_OK;
}

}  // namespace

Status settle_log(const char* vfs_name, const std::string& path) {
  const auto failed = [](int code) {
    return sqlite_error(code, "making the log durable", sqlite3_errstr(code));
  };
  sqlite3_vfs* vfs = sqlite3_vfs_find(vfs_name);
  int there = 0;
  int code = vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &there);
  if (code != SQLITE_OK) return failed(code);
  if (there == 0) return ok_status();
  // With the flag that creates, as SQLite itself opens it: its first sync then is the directory's.
  RawFile log(vfs, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL);
  sqlite3_int64 bytes = 0;
  code = log.code();
  if (code == SQLITE_OK) code = log.size(bytes);
  if (code == SQLITE_OK) code = rewrite(log, bytes);
  uint64_t damaged = 0;
  if (code == SQLITE_OK) code = find_damage(log, bytes, damaged);
  if (code != SQLITE_OK) return failed(code);
  if (damaged == 0) return ok_status();
  return sqlite_error(SQLITE_IOERR_DATA, "reading the log",
                      "frame " + std::to_string(damaged) + " of " + path + " is damaged");
}

}  // namespace pawl
