// SqliteVfs: a thin layer over SQLite's own unix VFS (or another, a simulated disk) that counts and times every sync, and can make
// a chosen write, truncate or sync fail. One per store, so that counters and faults are the store's
// own.
//
// Every connection opened through name() must be closed before the object goes.
// Thread: any; `fault` is called from whichever thread does the I/O.
#pragma once

#include <sqlite3.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace pawl {

enum class DiskOp : uint8_t { Write, Truncate, Sync };
enum class DiskFile : uint8_t { Database, Wal, Other };

// Returns SQLITE_OK to let the operation through, or the SQLite code it should fail with
// (SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC). The operation is then not done at all.
using DiskFault = std::function<int(DiskOp op, DiskFile file)>;

struct SyncStats {
  uint64_t count = 0;
  uint64_t ns_total = 0;
  uint64_t ns_p50 = 0;  // over the last kSyncWindow
  uint64_t ns_p99 = 0;
};

class SqliteVfs {
 public:
  static constexpr size_t kSyncWindow = 1024;

  // `base` names a registered VFS, which must outlive this one.
  explicit SqliteVfs(DiskFault fault, const std::string& base = "unix");
  ~SqliteVfs();
  SqliteVfs(const SqliteVfs&) = delete;
  SqliteVfs& operator=(const SqliteVfs&) = delete;

  const char* name() const { return name_.c_str(); }
  SyncStats sync_stats() const;

  // For the file methods in sqlite_vfs.cc.
  int ask_fault(DiskOp op, DiskFile file) const { return fault_ ? fault_(op, file) : SQLITE_OK; }
  void note_sync(uint64_t ns);
  sqlite3_vfs* base() const { return base_; }

 private:
  const std::string name_;
  const DiskFault fault_;
  sqlite3_vfs* const base_;
  sqlite3_vfs vfs_;
  std::atomic<uint64_t> syncs_{0};
  std::atomic<uint64_t> sync_ns_{0};
  std::array<std::atomic<uint64_t>, kSyncWindow> recent_{};
};

}  // namespace pawl
