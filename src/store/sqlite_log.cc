#include "store/sqlite_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "store/page_sum.h"
#include "store/raw_file.h"
#include "store/sqlite_connection.h"

namespace pawl {
namespace {

// SQLite writes no more than 128 KiB at once. Not the size of a page, since page writes are
// checked.
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

// --- damage

bool header_is_whole(const char* head) {
  const auto order = log_order(head);
  return order && add_to_log_sum({}, {head, 24}, *order) == read_log_sum(head + 24);
}

uint32_t page_bytes_of(const char* head) {
  uint32_t bytes = 0;
  for (int i = 0; i < 4; ++i) bytes = bytes << 8 | static_cast<uint8_t>(head[8 + i]);
  return bytes;
}

// Checks the frames of a log one after the other. A damaged frame was durable if a complete commit
// after it is followed by a valid frame that continues it; remains of torn commits after the end of
// the log do not continue each other.
class DamageSearch {
 public:
  explicit DamageSearch(const char* head)
      : head_(head), order_(*log_order(head)), before_(read_log_sum(head + 24)) {}

  // Whether the next frame continues the previous one, or the header.
  bool is_whole(const std::vector<char>& frame) {
    const char* bytes = frame.data();
    const bool ours = std::memcmp(bytes + 8, head_ + 16, 8) == 0;  // not from an earlier round
    const std::string_view page(bytes + kFrameHeaderBytes, frame.size() - kFrameHeaderBytes);
    const LogSum before = std::exchange(before_, read_log_sum(bytes + 16));
    return ours && frame_is_whole(before, bytes, page, order_);
  }

  // The number of a damaged frame, once it is sure; else 0.
  uint64_t check_frame(uint64_t number, const std::vector<char>& frame) {
    const bool whole = is_whole(frame);
    if (!whole && first_bad_ == 0) first_bad_ = number;
    if (whole && ends_commit_) return first_bad_;
    ends_commit_ = whole && first_bad_ != 0 && !is_zero(frame.data() + 4, 4);
    return 0;
  }

 private:
  const char* head_;
  LogOrder order_;
  LogSum before_;
  uint64_t first_bad_ = 0;
  bool ends_commit_ = false;  // the previous frame, after the damaged one
};

// An invalid header belongs to a log that was never begun or is no longer used, unless flipping one
// bit makes it valid and the first frame continues it. Bits of the checkpoint sequence number do
// not count: it changes first in a new round, and that header may be torn.
int check_bad_header(RawFile& log, sqlite3_int64 bytes, char* head, std::string& damaged) {
  constexpr uint32_t kRoundAt = 12, kRoundEnd = 16;
  for (uint32_t bit = 0; bit < kLogHeaderBytes * 8; ++bit) {
    if (bit / 8 >= kRoundAt && bit / 8 < kRoundEnd) continue;
    char& byte = head[bit / 8];
    const char before = byte;
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    const uint32_t page_bytes = page_bytes_of(head);
    if (header_is_whole(head) && is_page_size(page_bytes) &&
        kLogHeaderBytes + kFrameHeaderBytes + sqlite3_int64{page_bytes} <= bytes) {
      std::vector<char> frame(kFrameHeaderBytes + page_bytes);
      const int code = log.read(frame.data(), static_cast<int>(frame.size()), kLogHeaderBytes);
      if (code != SQLITE_OK) return code;
      if (DamageSearch(head).is_whole(frame)) damaged = "the header";
    }
    byte = before;
  }
  return SQLITE_OK;
}

// SQLite restarts its log with such a header, but reuses the old salts that it reads there: old
// frames would be taken for frames of the new log.
int discard(RawFile& log) {
  sqlite3_file* file = log.file();
  const int code = file->pMethods->xTruncate(file, 0);
  return code != SQLITE_OK ? code : file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

int judge_log(RawFile& log, sqlite3_int64 bytes, std::string& damaged) {
  char head[kLogHeaderBytes];
  if (bytes < kLogHeaderBytes) return SQLITE_OK;
  if (const int code = log.read(head, kLogHeaderBytes, 0); code != SQLITE_OK) return code;
  if (!header_is_whole(head)) {
    const int code = check_bad_header(log, bytes, head, damaged);
    return code == SQLITE_OK && damaged.empty() ? discard(log) : code;
  }
  if (!is_page_size(page_bytes_of(head))) return SQLITE_OK;
  DamageSearch search(head);
  std::vector<char> frame(kFrameHeaderBytes + page_bytes_of(head));
  const auto stride = static_cast<sqlite3_int64>(frame.size());
  sqlite3_int64 at = kLogHeaderBytes;
  for (uint64_t n = 1; at + stride <= bytes && damaged.empty(); ++n, at += stride) {
    const int code = log.read(frame.data(), static_cast<int>(stride), at);
    if (code != SQLITE_OK) return code;
    if (const uint64_t bad = search.check_frame(n, frame); bad != 0)
      damaged = "frame " + std::to_string(bad);
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
  // With the create flag, as SQLite itself opens it: its first sync then includes the directory.
  RawFile log(vfs, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL);
  sqlite3_int64 bytes = 0;
  code = log.code();
  if (code == SQLITE_OK) code = log.size(bytes);
  if (code == SQLITE_OK) code = rewrite(log, bytes);
  std::string damaged;
  if (code == SQLITE_OK) code = judge_log(log, bytes, damaged);
  if (code != SQLITE_OK) return failed(code);
  if (damaged.empty()) return ok_status();
  return sqlite_error(SQLITE_IOERR_DATA, "reading the log",
                      damaged + " of " + path + " is damaged");
}

}  // namespace pawl
