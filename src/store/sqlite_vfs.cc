#include "store/sqlite_vfs.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "base/check.h"

namespace pawl {
namespace {

// What SQLite allocates per open file: this, then the unix VFS's own file behind it.
struct ShimFile {
  sqlite3_file head;  // must come first: SQLite sees only this
  SqliteVfs* owner;
  DiskFile kind;
};
static_assert(sizeof(ShimFile) % 8 == 0, "the unix VFS's file behind it must be aligned");

ShimFile* shim(sqlite3_file* file) { return reinterpret_cast<ShimFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(shim(file) + 1); }
int fault_of(sqlite3_file* file, DiskOp op) {
  return shim(file)->owner->ask_fault(op, shim(file)->kind);
}

int file_close(sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); }

int file_read(sqlite3_file* file, void* into, int bytes, sqlite3_int64 at) {
  return real(file)->pMethods->xRead(real(file), into, bytes, at);
}

int file_write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
  if (const int fault = fault_of(file, DiskOp::Write); fault != SQLITE_OK) return fault;
  return real(file)->pMethods->xWrite(real(file), from, bytes, at);
}

int file_truncate(sqlite3_file* file, sqlite3_int64 bytes) {
  if (const int fault = fault_of(file, DiskOp::Truncate); fault != SQLITE_OK) return fault;
  return real(file)->pMethods->xTruncate(real(file), bytes);
}

int file_sync(sqlite3_file* file, int flags) {
  if (const int fault = fault_of(file, DiskOp::Sync); fault != SQLITE_OK) return fault;
  const auto start = std::chrono::steady_clock::now();
  const int code = real(file)->pMethods->xSync(real(file), flags);
  const auto taken = std::chrono::steady_clock::now() - start;
  shim(file)->owner->note_sync(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count()));
  return code;
}

int file_size(sqlite3_file* file, sqlite3_int64* bytes) {
  return real(file)->pMethods->xFileSize(real(file), bytes);
}
int file_lock(sqlite3_file* file, int level) {
  return real(file)->pMethods->xLock(real(file), level);
}
int file_unlock(sqlite3_file* file, int level) {
  return real(file)->pMethods->xUnlock(real(file), level);
}
int file_check_reserved(sqlite3_file* file, int* reserved) {
  return real(file)->pMethods->xCheckReservedLock(real(file), reserved);
}
int file_control(sqlite3_file* file, int op, void* argument) {
  return real(file)->pMethods->xFileControl(real(file), op, argument);
}
int file_sector_size(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
int file_characteristics(sqlite3_file* file) {
  return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
int file_shm_map(sqlite3_file* file, int page, int bytes, int extend, void volatile** at) {
  return real(file)->pMethods->xShmMap(real(file), page, bytes, extend, at);
}
int file_shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
void file_shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
int file_shm_unmap(sqlite3_file* file, int remove) {
  return real(file)->pMethods->xShmUnmap(real(file), remove);
}
int file_fetch(sqlite3_file* file, sqlite3_int64 at, int bytes, void** page) {
  return real(file)->pMethods->xFetch(real(file), at, bytes, page);
}
int file_unfetch(sqlite3_file* file, sqlite3_int64 at, void* page) {
  return real(file)->pMethods->xUnfetch(real(file), at, page);
}

constexpr sqlite3_io_methods kMethods = {.iVersion = 3,
                                         .xClose = file_close,
                                         .xRead = file_read,
                                         .xWrite = file_write,
                                         .xTruncate = file_truncate,
                                         .xSync = file_sync,
                                         .xFileSize = file_size,
                                         .xLock = file_lock,
                                         .xUnlock = file_unlock,
                                         .xCheckReservedLock = file_check_reserved,
                                         .xFileControl = file_control,
                                         .xSectorSize = file_sector_size,
                                         .xDeviceCharacteristics = file_characteristics,
                                         .xShmMap = file_shm_map,
                                         .xShmLock = file_shm_lock,
                                         .xShmBarrier = file_shm_barrier,
                                         .xShmUnmap = file_shm_unmap,
                                         .xFetch = file_fetch,
                                         .xUnfetch = file_unfetch};

SqliteVfs* owner_of(sqlite3_vfs* vfs) { return static_cast<SqliteVfs*>(vfs->pAppData); }

int vfs_open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  ShimFile* opened = new (file) ShimFile{};
  opened->owner = owner_of(vfs);
  opened->kind = (flags & SQLITE_OPEN_MAIN_DB) != 0 ? DiskFile::Database
                 : (flags & SQLITE_OPEN_WAL) != 0   ? DiskFile::Wal
                                                    : DiskFile::Other;
  sqlite3_vfs* base = opened->owner->base();
  const int code = base->xOpen(base, path, real(file), flags, flags_out);
  // SQLite closes a file whose methods are set, even after a failed open.
  if (real(file)->pMethods != nullptr) {
    PAWL_CHECK(real(file)->pMethods->iVersion >= 3);
    opened->head.pMethods = &kMethods;
  }
  return code;
}

int vfs_delete(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  sqlite3_vfs* base = owner_of(vfs)->base();
  return base->xDelete(base, path, sync_directory);
}
int vfs_access(sqlite3_vfs* vfs, const char* path, int flags, int* result) {
  sqlite3_vfs* base = owner_of(vfs)->base();
  return base->xAccess(base, path, flags, result);
}
int vfs_full_pathname(sqlite3_vfs* vfs, const char* path, int bytes, char* out) {
  sqlite3_vfs* base = owner_of(vfs)->base();
  return base->xFullPathname(base, path, bytes, out);
}
int vfs_randomness(sqlite3_vfs* vfs, int bytes, char* out) {
  sqlite3_vfs* base = owner_of(vfs)->base();
  return base->xRandomness(base, bytes, out);
}
int vfs_sleep(sqlite3_vfs* vfs, int microseconds) {
  sqlite3_vfs* base = owner_of(vfs)->base();
  return base->xSleep(base, microseconds);
}
int vfs_current_time(sqlite3_vfs* vfs, double* out) {
  sqlite3_vfs* base = owner_of(vfs)->base();
  return base->xCurrentTime(base, out);
}
int vfs_current_time_int64(sqlite3_vfs* vfs, sqlite3_int64* out) {
  sqlite3_vfs* base = owner_of(vfs)->base();
  return base->xCurrentTimeInt64(base, out);
}
int vfs_last_error(sqlite3_vfs* vfs, int bytes, char* out) {
  sqlite3_vfs* base = owner_of(vfs)->base();
  return base->xGetLastError(base, bytes, out);
}

std::string next_name() {
  static std::atomic<uint64_t> count{0};
  return "pawl-" + std::to_string(++count);
}

sqlite3_vfs* find_vfs(const std::string& name) {
  sqlite3_vfs* base = sqlite3_vfs_find(name.c_str());
  PAWL_CHECK(base != nullptr && base->iVersion >= 2);
  return base;
}

}  // namespace

SqliteVfs::SqliteVfs(DiskFault fault, const std::string& base)
    : name_(next_name()), fault_(std::move(fault)), base_(find_vfs(base)), vfs_{} {
  vfs_.iVersion = 2;
  vfs_.szOsFile = static_cast<int>(sizeof(ShimFile)) + base_->szOsFile;
  vfs_.mxPathname = base_->mxPathname;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = vfs_open;
  vfs_.xDelete = vfs_delete;
  vfs_.xAccess = vfs_access;
  vfs_.xFullPathname = vfs_full_pathname;
  vfs_.xRandomness = vfs_randomness;
  vfs_.xSleep = vfs_sleep;
  vfs_.xCurrentTime = vfs_current_time;
  vfs_.xGetLastError = vfs_last_error;
  vfs_.xCurrentTimeInt64 = vfs_current_time_int64;
  PAWL_CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
}

SqliteVfs::~SqliteVfs() { sqlite3_vfs_unregister(&vfs_); }

void SqliteVfs::note_sync(uint64_t ns) {
  const uint64_t index = syncs_.fetch_add(1, std::memory_order_relaxed);
  sync_ns_.fetch_add(ns, std::memory_order_relaxed);
  recent_[index % kSyncWindow].store(ns, std::memory_order_relaxed);
}

SyncStats SqliteVfs::sync_stats() const {
  SyncStats stats;
  stats.count = syncs_.load(std::memory_order_relaxed);
  stats.ns_total = sync_ns_.load(std::memory_order_relaxed);
  if (stats.count == 0) return stats;
  std::vector<uint64_t> window(static_cast<size_t>(std::min<uint64_t>(stats.count, kSyncWindow)));
  for (size_t i = 0; i < window.size(); ++i) window[i] = recent_[i].load(std::memory_order_relaxed);
  std::sort(window.begin(), window.end());
  stats.ns_p50 = window[window.size() / 2];
  stats.ns_p99 = window[window.size() * 99 / 100];
  return stats;
}

}  // namespace pawl
