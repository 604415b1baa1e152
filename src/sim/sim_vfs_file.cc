// The methods of an open file of a SimVfs.
#include <algorithm>
#include <cstring>

#include "sim/sim_vfs.h"
#include "store/vfs_calls.h"

namespace pawl::sim {
namespace {

constexpr int kReportedSectorBytes = 4096;  // reported to SQLite

SimHandle& handle_of(sqlite3_file* file) { return *reinterpret_cast<SimHandle*>(file); }

int highest_of_others(const SimHandle& handle) {
  int highest = SQLITE_LOCK_NONE;
  for (const SimHandle* other : handle.inode->handles)
    if (other != &handle) highest = std::max(highest, other->lock);
  return highest;
}

struct SimCalls : UnmappedFile {
  static int close(sqlite3_file* file) {
    SimHandle& handle = handle_of(file);
    std::erase(handle.inode->handles, &handle);
    if (!handle.delete_on_close.empty()) handle.owner->remove(handle.delete_on_close);
    handle.~SimHandle();
    return SQLITE_OK;
  }

  static int read(sqlite3_file* file, void* into, int bytes, sqlite3_int64 at) {
    SimHandle& handle = handle_of(file);
    if (handle.owner->next(DiskAction::Read) != DiskTrouble::None) return SQLITE_IOERR_READ;
    const size_t got = handle.inode->file.read(static_cast<uint64_t>(at), static_cast<char*>(into),
                                               static_cast<size_t>(bytes));
    if (got == static_cast<size_t>(bytes)) return SQLITE_OK;
    std::memset(static_cast<char*>(into) + got, 0, static_cast<size_t>(bytes) - got);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
    SimHandle& handle = handle_of(file);
    SimVfs& owner = *handle.owner;
    const std::string_view all(static_cast<const char*>(from), static_cast<size_t>(bytes));
    const DiskTrouble trouble = owner.next(DiskAction::Write);
    if (trouble == DiskTrouble::None) {
      handle.inode->file.write(static_cast<uint64_t>(at), all);
      return SQLITE_OK;
    }
    if (trouble == DiskTrouble::ShortWrite)
      handle.inode->file.write(static_cast<uint64_t>(at),
                               all.substr(0, owner.random().below(all.size())));
    return trouble == DiskTrouble::Full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 bytes) {
    SimHandle& handle = handle_of(file);
    if (handle.owner->next(DiskAction::Truncate) != DiskTrouble::None) return SQLITE_IOERR_TRUNCATE;
    handle.inode->file.truncate(static_cast<uint64_t>(bytes));
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* file, int) {
    SimHandle& handle = handle_of(file);
    SimVfs& owner = *handle.owner;
    const DiskTrouble trouble = owner.next(handle.is_log ? DiskAction::WalSync : DiskAction::Sync);
    const Plants& plants = owner.plants();
    if (trouble == DiskTrouble::Stop) return SQLITE_IOERR_FSYNC;
    if (trouble == DiskTrouble::SyncFails) {
      handle.inode->file.fail_sync(owner.random());
      return SQLITE_IOERR_FSYNC;
    }
    if (trouble == DiskTrouble::SyncLies) {
      handle.inode->file.lie();
      return SQLITE_OK;
    }
    if (plants.log_never_synced && handle.is_log) return SQLITE_OK;
    if (plants.database_never_synced && handle.is_database) return SQLITE_OK;
    handle.inode->file.sync();
    if (handle.sync_directory && !plants.directory_never_synced) owner.sync_directory();
    handle.sync_directory = false;
    return SQLITE_OK;
  }

  static int size(sqlite3_file* file, sqlite3_int64* bytes) {
    *bytes = static_cast<sqlite3_int64>(handle_of(file).inode->file.size());
    return SQLITE_OK;
  }

  // --- locks between the connections of one store

  static int lock(sqlite3_file* file, int level) {
    SimHandle& handle = handle_of(file);
    if (handle.owner->faults().stopped()) return SQLITE_IOERR_LOCK;
    if (handle.lock >= level) return SQLITE_OK;
    const int others = highest_of_others(handle);
    if (level == SQLITE_LOCK_SHARED && others >= SQLITE_LOCK_PENDING) return SQLITE_BUSY;
    if (level >= SQLITE_LOCK_RESERVED && others >= SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
    if (level == SQLITE_LOCK_EXCLUSIVE && others >= SQLITE_LOCK_SHARED) {
      handle.lock = SQLITE_LOCK_PENDING;
      return SQLITE_BUSY;
    }
    handle.lock = level;
    return SQLITE_OK;
  }

  static int unlock(sqlite3_file* file, int level) {
    SimHandle& handle = handle_of(file);
    handle.lock = std::min(handle.lock, level);
    return SQLITE_OK;
  }

  static int check_reserved(sqlite3_file* file, int* reserved) {
    const SimHandle& handle = handle_of(file);
    const int highest = std::max(handle.lock, highest_of_others(handle));
    *reserved = highest >= SQLITE_LOCK_RESERVED ? 1 : 0;
    return SQLITE_OK;
  }

  static int control(sqlite3_file* file, int op, void*) {
    if (op == SQLITE_FCNTL_CKPT_START) handle_of(file).owner->note_checkpoint(true);
    if (op == SQLITE_FCNTL_CKPT_DONE) handle_of(file).owner->note_checkpoint(false);
    return SQLITE_NOTFOUND;
  }
  static int sector_size(sqlite3_file*) { return kReportedSectorBytes; }
  static int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  // --- shared memory: the log's index, lost in a crash

  static int shm_map(sqlite3_file* file, int region, int bytes, int extend, void volatile** at) {
    SimHandle& handle = handle_of(file);
    handle.shm_mapped = true;
    auto& regions = handle.inode->shared_memory;
    *at = nullptr;
    const auto wanted = static_cast<size_t>(region) + 1;
    if (regions.size() < wanted && extend == 0) return SQLITE_OK;
    while (regions.size() < wanted)
      regions.push_back(std::make_unique<char[]>(static_cast<size_t>(bytes)));
    *at = regions[wanted - 1].get();
    return SQLITE_OK;
  }

  static int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    SimHandle& handle = handle_of(file);
    const unsigned mask = ((1u << count) - 1) << offset;
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      handle.shm_shared &= ~mask;
      handle.shm_exclusive &= ~mask;
      return SQLITE_OK;
    }
    if (handle.owner->faults().stopped()) return SQLITE_IOERR_SHMLOCK;
    const bool shared = (flags & SQLITE_SHM_SHARED) != 0;
    for (const SimHandle* other : handle.inode->handles) {
      if (other == &handle) continue;
      const unsigned held = other->shm_exclusive | (shared ? 0 : other->shm_shared);
      if ((held & mask) != 0) return SQLITE_BUSY;
    }
    (shared ? handle.shm_shared : handle.shm_exclusive) |= mask;
    return SQLITE_OK;
  }

  static void shm_barrier(sqlite3_file*) {}

  static int shm_unmap(sqlite3_file* file, int) {
    SimHandle& handle = handle_of(file);
    handle.shm_mapped = false;
    handle.shm_shared = handle.shm_exclusive = 0;
    const auto& handles = handle.inode->handles;
    if (std::none_of(handles.begin(), handles.end(), [](auto* each) { return each->shm_mapped; }))
      handle.inode->shared_memory.clear();
    return SQLITE_OK;
  }
};

}  // namespace

const sqlite3_io_methods kSimFileMethods = methods_of<SimCalls>();

}  // namespace pawl::sim
