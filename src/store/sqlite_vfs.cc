#include "store/sqlite_vfs.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/log.h"
#include "store/gathered_writes.h"
#include "store/page_rows.h"
#include "store/page_sum.h"
#include "store/vfs_calls.h"

namespace pawl {
namespace {

// What SQLite allocates per open file: this, then the unix VFS's own file behind it.
struct ShimFile {
  sqlite3_file head;  // must come first: SQLite sees only this
  SqliteVfs* owner;
  DiskFile kind;
  const char* path;          // SQLite's, until the file is closed
  GatheredWrites* gathered;  // of the log, else null; deleted when it is closed
};
constexpr uint64_t kNoFrame = UINT64_MAX;
static_assert(sizeof(ShimFile) % 8 == 0, "the unix VFS's file behind it must be aligned");

ShimFile* shim(sqlite3_file* file) { return reinterpret_cast<ShimFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(shim(file) + 1); }
int fault_of(sqlite3_file* file, DiskOp op) {
  return shim(file)->owner->ask_fault(op, shim(file)->kind);
}

// Every operation that reads the file calls this first.
int flush(sqlite3_file* file) {
  GatheredWrites* gathered = shim(file)->gathered;
  return gathered == nullptr ? SQLITE_OK : gathered->flush(real(file));
}

std::string file_name(sqlite3_file* file) {
  const std::string path = shim(file)->path == nullptr ? "" : shim(file)->path;
  return path.substr(path.rfind('/') + 1);
}

// --- pages of the database

// The number of the page that is read or written, or 0 if it is not exactly one page.
uint64_t page_at(sqlite3_file* file, int bytes, sqlite3_int64 at) {
  const DatabaseForm& form = shim(file)->owner->form();
  if (!form.sums || shim(file)->kind != DiskFile::Database) return 0;
  if (static_cast<uint32_t>(bytes) != form.page_bytes || at % bytes != 0) return 0;
  return static_cast<uint64_t>(at / bytes) + 1;
}

int check_page_read(sqlite3_file* file, uint64_t number, int code, char* page, uint32_t bytes) {
  const auto damaged = [&](const char* how) {
    return shim(file)->owner->note_damage("page " + std::to_string(number) + " of " +
                                          file_name(file) + how);
  };
  if (code == SQLITE_IOERR_SHORT_READ) return damaged(" is cut off");
  if (code != SQLITE_OK) return code;
  switch (check_page(page, bytes, number)) {
    case PageState::Whole:
      // If another program writes this page from the log, it must not carry an outdated sum.
      std::memset(page + bytes - kPageSumBytes, 0, kPageSumBytes);
      return SQLITE_OK;
    case PageState::Damaged:
      if (!shim(file)->owner->leave_to_reader(page, bytes, number)) return damaged(" is damaged");
      std::memset(page + bytes - kPageSumBytes, 0, kPageSumBytes);
      return SQLITE_OK;
    case PageState::Unsealed:
      return damaged(" has no checksum: wiped by the disk, or written by another program");
  }
  return SQLITE_IOERR_DATA;
}

int write_sealed(sqlite3_file* file, uint64_t number, const void* from, int bytes,
                 sqlite3_int64 at) {
  thread_local std::vector<char> copy;
  const char* page = static_cast<const char*>(from);
  copy.assign(page, page + bytes);
  put_page_sum(copy.data(), static_cast<uint32_t>(bytes), number);
  return real(file)->pMethods->xWrite(real(file), copy.data(), bytes, at);
}

// --- pages of the log

sqlite3_int64 frame_start(uint64_t frame, uint32_t page_bytes) {
  return static_cast<sqlite3_int64>(kLogHeaderBytes + frame * (kFrameHeaderBytes + page_bytes));
}

// The frame (from 0) of which `bytes` at `at` are the page.
uint64_t frame_at(sqlite3_file* file, int bytes, sqlite3_int64 at) {
  const uint32_t page_bytes = shim(file)->owner->form().page_bytes;
  if (shim(file)->kind != DiskFile::Wal || static_cast<uint32_t>(bytes) != page_bytes)
    return kNoFrame;
  const sqlite3_int64 offset = at - kLogHeaderBytes - kFrameHeaderBytes;
  const sqlite3_int64 stride = kFrameHeaderBytes + page_bytes;
  return offset < 0 || offset % stride != 0 ? kNoFrame : static_cast<uint64_t>(offset / stride);
}

uint32_t frame_sum(const void* page, int bytes) {
  return crc32c({static_cast<const char*>(page), static_cast<size_t>(bytes)});
}

// Another process that wrote the log left only SQLite's own sums: they are slower to check, and
// missing for the frames of the current commit.
int check_stored_sum(sqlite3_file* file, uint64_t frame, const void* page, int bytes) {
  const auto damaged = [&] {
    return shim(file)->owner->note_damage("frame " + std::to_string(frame + 1) + " of the log " +
                                          file_name(file) + " is damaged");
  };
  const auto read = [&](char* into, uint32_t count, sqlite3_int64 at) {
    return real(file)->pMethods->xRead(real(file), into, static_cast<int>(count), at);
  };
  const auto page_bytes = static_cast<uint32_t>(bytes);
  const sqlite3_int64 start = frame_start(frame, page_bytes);
  char magic[4], before[8], header[kFrameHeaderBytes];
  int code = read(magic, sizeof(magic), 0);
  if (code == SQLITE_OK)
    code = read(before, sizeof(before),
                frame == 0 ? kLogHeaderBytes - 8 : frame_start(frame - 1, page_bytes) + 16);
  if (code == SQLITE_OK) code = read(header, sizeof(header), start);
  if (code != SQLITE_OK) return code == SQLITE_IOERR_SHORT_READ ? damaged() : code;
  const auto order = log_order(magic);
  const std::string_view content(static_cast<const char*>(page), page_bytes);
  if (!order || !frame_is_whole(read_log_sum(before), header, content, *order)) return damaged();
  return SQLITE_OK;
}

// --- calls that go on to the unix VFS as they are

SqliteVfs* owner_of(sqlite3_vfs* vfs) { return static_cast<SqliteVfs*>(vfs->pAppData); }

template <auto kCall>
struct PassedOn;

template <class Answer, class... Given,
          Answer (*sqlite3_io_methods::*kCall)(sqlite3_file*, Given...)>
struct PassedOn<kCall> {
  static Answer call(sqlite3_file* file, Given... given) {
    return (real(file)->pMethods->*kCall)(real(file), given...);
  }
};

template <class Answer, class... Given, Answer (*sqlite3_vfs::*kCall)(sqlite3_vfs*, Given...)>
struct PassedOn<kCall> {
  static Answer call(sqlite3_vfs* vfs, Given... given) {
    sqlite3_vfs* base = owner_of(vfs)->base();
    return (base->*kCall)(base, given...);
  }
};

// ---

// Not mapped: pages in mapped memory could not be checked.
struct ShimCalls : UnmappedFile {
  // A commit counts only after its sync, so bytes that still wait here belong to no commit.
  static int close(sqlite3_file* file) {
    delete std::exchange(shim(file)->gathered, nullptr);
    return real(file)->pMethods->xClose(real(file));
  }

  static int read(sqlite3_file* file, void* into, int bytes, sqlite3_int64 at) {
    if (const int flushed = flush(file); flushed != SQLITE_OK) return flushed;
    const int code = real(file)->pMethods->xRead(real(file), into, bytes, at);
    if (const uint64_t page = page_at(file, bytes, at); page != 0)
      return check_page_read(file, page, code, static_cast<char*>(into),
                             static_cast<uint32_t>(bytes));
    const uint64_t frame = frame_at(file, bytes, at);
    if (frame == kNoFrame || code != SQLITE_OK) return code;
    if (shim(file)->owner->frame_reads_as_written(frame, frame_sum(into, bytes))) return SQLITE_OK;
    return check_stored_sum(file, frame, into, bytes);
  }

  static int write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
    if (const int fault = fault_of(file, DiskOp::Write); fault != SQLITE_OK) return fault;
    if (const uint64_t page = page_at(file, bytes, at); page != 0)
      return write_sealed(file, page, from, bytes, at);
    GatheredWrites* gathered = shim(file)->gathered;
    const int code = gathered != nullptr
                         ? gathered->write(real(file), from, bytes, at)
                         : real(file)->pMethods->xWrite(real(file), from, bytes, at);
    const uint64_t frame = frame_at(file, bytes, at);
    if (frame != kNoFrame && code == SQLITE_OK)
      shim(file)->owner->note_frame(frame, frame_sum(from, bytes));
    return code;
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 bytes) {
    if (const int fault = fault_of(file, DiskOp::Truncate); fault != SQLITE_OK) return fault;
    if (const int flushed = flush(file); flushed != SQLITE_OK) return flushed;
    return real(file)->pMethods->xTruncate(real(file), bytes);
  }

  static int sync(sqlite3_file* file, int flags) {
    if (const int fault = fault_of(file, DiskOp::Sync); fault != SQLITE_OK) {
      if (shim(file)->gathered != nullptr) shim(file)->gathered->forget();
      return fault;
    }
    if (const int flushed = flush(file); flushed != SQLITE_OK) return flushed;
    const auto start = std::chrono::steady_clock::now();
    const int code = real(file)->pMethods->xSync(real(file), flags);
    const auto taken = std::chrono::steady_clock::now() - start;
    shim(file)->owner->note_sync(taken);
    return code;
  }

  static int size(sqlite3_file* file, sqlite3_int64* bytes) {
    if (const int flushed = flush(file); flushed != SQLITE_OK) return flushed;
    return real(file)->pMethods->xFileSize(real(file), bytes);
  }
  static int control(sqlite3_file* file, int op, void* argument) {
    if (op == kTellDamage) {
      *static_cast<std::string*>(argument) = shim(file)->owner->damage();
      return SQLITE_OK;
    }
    return real(file)->pMethods->xFileControl(real(file), op, argument);
  }

  // NOLINTBEGIN(readability-identifier-naming): methods_of() takes them as functions
  static constexpr auto lock = PassedOn<&sqlite3_io_methods::xLock>::call;
  static constexpr auto unlock = PassedOn<&sqlite3_io_methods::xUnlock>::call;
  static constexpr auto check_reserved = PassedOn<&sqlite3_io_methods::xCheckReservedLock>::call;
  static constexpr auto sector_size = PassedOn<&sqlite3_io_methods::xSectorSize>::call;
  static constexpr auto characteristics =
      PassedOn<&sqlite3_io_methods::xDeviceCharacteristics>::call;
  static constexpr auto shm_map = PassedOn<&sqlite3_io_methods::xShmMap>::call;
  static constexpr auto shm_lock = PassedOn<&sqlite3_io_methods::xShmLock>::call;
  static constexpr auto shm_barrier = PassedOn<&sqlite3_io_methods::xShmBarrier>::call;
  static constexpr auto shm_unmap = PassedOn<&sqlite3_io_methods::xShmUnmap>::call;
  // NOLINTEND(readability-identifier-naming)
};

constexpr sqlite3_io_methods kMethods = methods_of<ShimCalls>();

struct VfsCalls {
  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags,
                  int* flags_out) {
    ShimFile* opened = new (file) ShimFile{};
    opened->owner = owner_of(vfs);
    opened->kind = (flags & SQLITE_OPEN_MAIN_DB) != 0 ? DiskFile::Database
                   : (flags & SQLITE_OPEN_WAL) != 0   ? DiskFile::Wal
                                                      : DiskFile::Other;
    opened->path = path;
    sqlite3_vfs* base = opened->owner->base();
    const int code = base->xOpen(base, path, real(file), flags, flags_out);
    // SQLite closes a file whose methods are set, even after a failed open.
    if (real(file)->pMethods != nullptr) {
      PAWL_CHECK(real(file)->pMethods->iVersion >= 3);
      opened->head.pMethods = &kMethods;
      if (opened->kind == DiskFile::Wal) opened->gathered = new GatheredWrites;
    }
    return code;
  }

  // NOLINTBEGIN(readability-identifier-naming): register_vfs() takes them as functions
  static constexpr auto remove = PassedOn<&sqlite3_vfs::xDelete>::call;
  static constexpr auto access = PassedOn<&sqlite3_vfs::xAccess>::call;
  static constexpr auto full_pathname = PassedOn<&sqlite3_vfs::xFullPathname>::call;
  static constexpr auto randomness = PassedOn<&sqlite3_vfs::xRandomness>::call;
  static constexpr auto sleep = PassedOn<&sqlite3_vfs::xSleep>::call;
  static constexpr auto current_time = PassedOn<&sqlite3_vfs::xCurrentTime>::call;
  static constexpr auto current_time_int64 = PassedOn<&sqlite3_vfs::xCurrentTimeInt64>::call;
  static constexpr auto last_error = PassedOn<&sqlite3_vfs::xGetLastError>::call;
  // NOLINTEND(readability-identifier-naming)
};

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

thread_local bool ReadingRecords::now_ = false;
thread_local ReadingRows* ReadingRows::now_ = nullptr;

SqliteVfs::SqliteVfs(DiskFault fault, const std::string& base)
    : name_(next_name()), fault_(std::move(fault)), base_(find_vfs(base)), vfs_{} {
  const int file_bytes = static_cast<int>(sizeof(ShimFile)) + base_->szOsFile;
  register_vfs<VfsCalls>(vfs_, name_, this, file_bytes, base_->mxPathname);
}

SqliteVfs::~SqliteVfs() { sqlite3_vfs_unregister(&vfs_); }

int SqliteVfs::note_damage(std::string what) {
  std::lock_guard lock(damage_mutex_);
  if (damage_.empty()) damage_ = std::move(what);
  return SQLITE_IOERR_DATA;
}

bool SqliteVfs::leave_to_reader(const char* page, uint32_t bytes, uint64_t number) {
  const std::string_view content(page, bytes - kPageSumBytes);
  if (!self_checked_) return false;
  const auto at = find_changed_byte(page, bytes, number);
  if (!at) return false;
  if (is_unused(content, *at)) {
    tell_once(number, "the disk changed a byte of the database that holds nothing");
    return true;
  }
  const auto row = row_with_value_at(content, *at);
  bool leaves = (row && self_checked_(row->space, row->key)) ||
                (ReadingRecords::now() && is_in_record(content, *at));
  if (is_in_overflow(content, *at)) {
    if (ReadingRows* rows = ReadingRows::now()) rows->note(number);
    leaves = ReadingRows::now() != nullptr || ReadingRecords::now();
  }
  if (leaves)
    tell_once(number,
              "the disk changed a page of the database; what it holds is checked when it is read");
  return leaves;
}

void SqliteVfs::tell_once(uint64_t page, std::string_view what) {
  constexpr size_t kPagesToldMax = 1'000;
  {
    std::lock_guard lock(damage_mutex_);
    if (told_.size() >= kPagesToldMax || !told_.insert(page).second) return;
  }
  log::error(what, {{"page", std::to_string(page)}});
}

void SqliteVfs::note_frame(uint64_t frame, uint32_t sum) {
  std::lock_guard lock(frames_mutex_);
  if (frames_.size() <= frame) frames_.resize(frame + 1);
  frames_[frame] = sum;
}

bool SqliteVfs::frame_reads_as_written(uint64_t frame, uint32_t sum) const {
  std::lock_guard lock(frames_mutex_);
  return frame < frames_.size() && frames_[frame] == sum;
}

std::string SqliteVfs::damage() const {
  std::lock_guard lock(damage_mutex_);
  return damage_;
}

}  // namespace pawl
