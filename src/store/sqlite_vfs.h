// SqliteVfs: a thin layer over SQLite's own unix VFS (or another, a simulated disk) that counts and
// times every sync, can make a chosen write, truncate or sync fail, and detects pages that the disk
// has changed. One per store, so that counters and faults are per store.
//
// Every page of the database gets its checksum when written, and pages of the database and the log
// are checked when read (page_sum.h); a mismatch is SQLITE_IOERR_DATA, and damage() names the page.
// A changed byte of a page is let through, with a warning, where its reader detects it: see
// set_self_checked(), ReadingRecords and ReadingRows.
// Nothing is ever mapped into memory.
//
// Every connection opened through name() must be closed before the object is destroyed.
// Thread: any; `fault` is called from whichever thread does the I/O.
#pragma once

#include <sqlite3.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/database_form.h"
#include "store/sync_times.h"

namespace pawl {

enum class DiskOp : uint8_t { Write, Truncate, Sync };
enum class DiskFile : uint8_t { Database, Wal, Other };

// Returns SQLITE_OK to let the operation through, or the SQLite code it should fail with
// (SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC). The operation is then not done at all.
using DiskFault = std::function<int(DiskOp op, DiskFile file)>;

// sqlite3_file_control: copies damage() into the given std::string.
inline constexpr int kTellDamage = 0x5061776c;

using SelfChecked = std::function<bool(uint8_t space, std::string_view key)>;

// While it lives, this thread runs statements on table `journal` alone. Its records carry their own
// checksums, which their readers check, so a byte that was changed in one is let through.
class ReadingRecords {
 public:
  ReadingRecords() : before_(now_) { now_ = true; }
  ~ReadingRecords() { now_ = before_; }
  ReadingRecords(const ReadingRecords&) = delete;
  ReadingRecords& operator=(const ReadingRecords&) = delete;
  static bool now() { return now_; }

 private:
  static thread_local bool now_;
  const bool before_;
};

// While it lives, this thread reads or writes rows (not records). A byte that was changed in an
// overflow page is let through and noted here: SQLite reads these pages of rows that it only
// compares, too, so that a damaged row would be the end of its neighbours. Who gives out a value
// must ask whose page it was (store/judged_rows.h).
class ReadingRows {
 public:
  ReadingRows() : around_(now_) { now_ = this; }
  ~ReadingRows() { now_ = around_; }
  ReadingRows(const ReadingRows&) = delete;
  ReadingRows& operator=(const ReadingRows&) = delete;
  static ReadingRows* now() { return now_; }

  void note(uint64_t page) { changed_page_ = page; }
  // The page that was let through since the last call; 0: none.
  uint64_t take_changed_page() { return std::exchange(changed_page_, 0); }

 private:
  static thread_local ReadingRows* now_;
  ReadingRows* const around_;
  uint64_t changed_page_ = 0;
};

class SqliteVfs {
 public:
  // `base` names a registered VFS, which must outlive this one.
  explicit SqliteVfs(DiskFault fault, const std::string& base = "unix");
  ~SqliteVfs();
  SqliteVfs& operator=(SqliteVfs&&) = delete;

  // The form of the one database that is opened here. Call before its first connection; without it
  // no checksum is written or checked.
  void set_form(const DatabaseForm& form) { form_ = form; }
  const DatabaseForm& form() const { return form_; }
  // Rows whose values carry a checksum that their readers check; the records of the journal do,
  // too. If one byte of a page was changed and it stands in such a value, the page is handed out as
  // it is. Call before the first connection; without it nothing damaged is handed out.
  void set_self_checked(SelfChecked is) { self_checked_ = std::move(is); }
  bool is_self_checked(uint8_t space, std::string_view key) const {
    return self_checked_ && self_checked_(space, key);
  }

  const char* name() const { return name_.c_str(); }
  // The first damage that was found, or "".
  std::string damage() const;
  SyncStats sync_stats() const { return sync_times_.stats(); }

  // For the file methods in sqlite_vfs.cc.
  int ask_fault(DiskOp op, DiskFile file) const { return fault_ ? fault_(op, file) : SQLITE_OK; }
  void note_sync(std::chrono::nanoseconds taken) { sync_times_.add(taken); }
  int note_damage(std::string what);  // SQLITE_IOERR_DATA
  // Whether a damaged page is handed out all the same.
  bool leave_to_reader(const char* page, uint32_t bytes, uint64_t number);
  // The sums of written frames of the log, and the check of a frame that is read.
  void note_frame(uint64_t frame, uint32_t sum);
  bool frame_reads_as_written(uint64_t frame, uint32_t sum) const;
  sqlite3_vfs* base() const { return base_; }

 private:
  void tell_once(uint64_t page, std::string_view what);

  const std::string name_;
  const DiskFault fault_;
  sqlite3_vfs* const base_;
  sqlite3_vfs vfs_;
  DatabaseForm form_;
  SelfChecked self_checked_;
  mutable std::mutex frames_mutex_;
  std::vector<uint32_t> frames_;  // guarded by frames_mutex_; as many as the log ever had
  mutable std::mutex damage_mutex_;
  std::string damage_;       // guarded by damage_mutex_, as the next
  std::set<uint64_t> told_;  // pages whose damage was logged
  SyncTimes sync_times_;
};

}  // namespace pawl
