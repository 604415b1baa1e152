#include "sim/sim_vfs.h"

#include <atomic>
#include <cstring>
#include <new>
#include <set>

#include "store/page_sum.h"
#include "store/vfs_calls.h"

namespace pawl::sim {
namespace {

constexpr int kPathMax = 200;
constexpr size_t kRotMin = 512;

uint32_t big_endian(const std::string& bytes, size_t at, size_t count) {
  uint32_t number = 0;
  for (size_t i = 0; i < count; ++i) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

// The end of the commits of a log that at least three later commits follow.
size_t end_of_old_commits(const std::string& log) {
  if (log.size() < kLogHeaderBytes) return 0;
  const size_t stride = kFrameHeaderBytes + big_endian(log, 8, 4);
  std::vector<size_t> ends;
  for (size_t at = kLogHeaderBytes; at + stride <= log.size(); at += stride) {
    if (log.compare(at + 8, 8, log, 16, 8) != 0) break;  // the salts differ: from an earlier round
    if (big_endian(log, at + 4, 4) != 0) ends.push_back(at + stride);
  }
  return ends.size() < 4 ? 0 : ends[ends.size() - 4];
}

// Planted: gives the damaged page at `at` a valid sum.
void sum_again(std::string& database, size_t at) {
  const uint32_t page_bytes = big_endian(database, 16, 2);
  if (!is_page_size(page_bytes)) return;
  const size_t page = at / page_bytes;
  if ((page + 1) * page_bytes <= database.size())
    put_page_sum(database.data() + page * page_bytes, page_bytes, page + 1);
}

SimVfs& owner_of(sqlite3_vfs* vfs) { return *static_cast<SimVfs*>(vfs->pAppData); }

struct VfsCalls {
  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags,
                  int* flags_out) {
    SimVfs& owner = owner_of(vfs);
    SimHandle* handle = new (file) SimHandle{};
    handle->owner = &owner;
    handle->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    handle->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    if (path != nullptr) handle->inode = owner.find(path);
    if (!handle->inode) {
      if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
      if (owner.next(DiskAction::Create) != DiskTrouble::None) return SQLITE_CANTOPEN;
      handle->inode = path == nullptr ? std::make_shared<SimInode>() : owner.create(path);
    }
    // As in SQLite's VFS: also if the file exists, since its creator may have died before the sync.
    handle->sync_directory = (flags & SQLITE_OPEN_CREATE) != 0 &&
                             (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    if ((flags & SQLITE_OPEN_DELETEONCLOSE) != 0 && path != nullptr) handle->delete_on_close = path;
    handle->inode->handles.push_back(handle);
    handle->head.pMethods = &kSimFileMethods;
    if (flags_out != nullptr) *flags_out = flags;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
    SimVfs& owner = owner_of(vfs);
    if (owner.next(DiskAction::Delete) != DiskTrouble::None) return SQLITE_IOERR_DELETE;
    if (!owner.remove(path)) return SQLITE_IOERR_DELETE_NOENT;
    if (sync_directory != 0) owner.sync_directory();
    return SQLITE_OK;
  }

  // As on a real disk, an empty file counts as missing.
  static int access(sqlite3_vfs* vfs, const char* path, int flags, int* result) {
    auto inode = owner_of(vfs).find(path);
    *result = inode && (flags != SQLITE_ACCESS_EXISTS || inode->file.size() > 0) ? 1 : 0;
    return SQLITE_OK;
  }

  static int full_pathname(sqlite3_vfs*, const char* path, int bytes, char* out) {
    if (std::strlen(path) >= static_cast<size_t>(bytes)) return SQLITE_CANTOPEN;
    std::strcpy(out, path);
    return SQLITE_OK;
  }

  static int randomness(sqlite3_vfs* vfs, int bytes, char* out) {
    for (int i = 0; i < bytes; ++i) out[i] = static_cast<char>(owner_of(vfs).random().next());
    return bytes;
  }

  static int sleep(sqlite3_vfs*, int microseconds) { return microseconds; }

  // SQLite uses the time only to seed its random numbers, which are seeded already.
  static int current_time(sqlite3_vfs*, double* out) {
    *out = 2461041.5;
    return SQLITE_OK;
  }
  static int current_time_int64(sqlite3_vfs*, sqlite3_int64* out) {
    *out = 212633985600000;
    return SQLITE_OK;
  }
  static int last_error(sqlite3_vfs*, int, char*) { return 0; }
};

std::string next_name() {
  static std::atomic<uint64_t> count{0};
  return "pawl-sim-" + std::to_string(++count);
}

}  // namespace

SimVfs::SimVfs(uint64_t seed, Verdict& verdict, const Plants& plants, PassTime pass_time)
    : name_(next_name()),
      random_(seed),
      verdict_(verdict),
      plants_(plants),
      pass_time_(std::move(pass_time)) {
  register_vfs<VfsCalls>(vfs_, name_, this, sizeof(SimHandle), kPathMax);
  // The salts of the log come from SQLite's random numbers, one generator per process.
  PAWL_CHECK(sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, static_cast<int>(seed | 1),
                                  static_cast<sqlite3*>(nullptr)) == SQLITE_OK);
}

SimVfs::~SimVfs() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 0, static_cast<sqlite3*>(nullptr));
}

std::shared_ptr<SimInode> SimVfs::find(const std::string& path) const {
  auto at = live_.find(path);
  return at == live_.end() ? nullptr : at->second;
}

std::shared_ptr<SimInode> SimVfs::create(const std::string& path) {
  return live_[path] = std::make_shared<SimInode>();
}

DiskTrouble SimVfs::next(DiskAction action) {
  const bool stopped = faults_.stopped();
  const DiskTrouble trouble = faults_.next(action);
  switch (trouble) {
    case DiskTrouble::None:
      break;
    case DiskTrouble::WriteFails:
      verdict_.reach(Probe::DiskWriteFailed);
      break;
    case DiskTrouble::ShortWrite:
      verdict_.reach(Probe::DiskWriteShort);
      break;
    case DiskTrouble::Full:
      verdict_.reach(Probe::DiskFull);
      break;
    case DiskTrouble::SyncFails:
      verdict_.reach(Probe::DiskSyncFailed);
      if (action == DiskAction::Sync) verdict_.reach(Probe::DiskCheckpointFailed);
      break;
    case DiskTrouble::SyncSlow:
      verdict_.reach(Probe::DiskSyncSlow);
      pass_time_(random_.between(1, 30'000));
      break;
    case DiskTrouble::SyncLies:
      verdict_.reach(Probe::DiskSyncLied);
      break;
    case DiskTrouble::ReadFails:
      verdict_.reach(Probe::DiskReadFailed);
      break;
    case DiskTrouble::Stop:
      if (!stopped && (in_checkpoint_ || action == DiskAction::Sync))
        verdict_.reach(Probe::CrashInCheckpoint);
      break;
  }
  return trouble;
}

std::string SimVfs::rot(const std::string& database) {
  const auto content = [](const SimInode* inode) {
    std::string bytes(inode == nullptr || inode->file.unsynced() ? 0 : inode->file.size(), '\0');
    if (!bytes.empty()) inode->file.read(0, bytes.data(), bytes.size());
    return bytes;
  };
  const auto pages = find(database);
  const auto log = find(database + "-wal");
  std::string in_log = content(log.get());
  in_log.resize(end_of_old_commits(in_log));
  const bool hit_log = !in_log.empty() && !plants_.rot_believed && random_.percent(50);
  std::string bytes = hit_log ? in_log : content(pages.get());
  if (bytes.size() < kRotMin) return "";
  const uint64_t first_bit = (hit_log ? kLogHeaderBytes : 0) * 8;
  const uint64_t bit = first_bit + random_.below(bytes.size() * 8 - first_bit);
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  if (plants_.rot_believed) sum_again(bytes, bit / 8);
  (hit_log ? log : pages)->file.rot(bytes);
  return "bit " + std::to_string(bit) + (hit_log ? " of the log" : " of the database");
}

void SimVfs::note(const CrashLosses& losses) {
  if (losses.lost) verdict_.reach(Probe::DiskWriteLost);
  if (losses.torn) verdict_.reach(Probe::DiskWriteTorn);
  if (losses.reordered) verdict_.reach(Probe::DiskWritesReordered);
}

CrashLosses SimVfs::power_cut(Survival survival) {
  std::set<SimInode*> inodes;
  for (const Directory* directory : {&live_, &durable_})
    for (const auto& [path, inode] : *directory) {
      PAWL_CHECK(inode->handles.empty());
      inodes.insert(inode.get());
    }
  // Not in the order of addresses, which differ from run to run.
  CrashLosses all;
  for (const Directory* directory : {&live_, &durable_}) {
    for (const auto& [path, inode] : *directory) {
      if (inodes.erase(inode.get()) == 0) continue;
      const CrashLosses losses = inode->file.crash(survival, random_);
      note(losses);
      all.lost |= losses.lost;
      all.torn |= losses.torn;
      all.reordered |= losses.reordered;
      all.lied |= losses.lied;
    }
  }
  cut_directory(survival);
  in_checkpoint_ = false;
  faults_.new_life();
  return all;
}

void SimVfs::cut_directory(Survival survival) {
  if (survival == Survival::Killed) return;
  Directory after;
  std::set<std::string> paths;
  for (const auto& [path, inode] : live_) paths.insert(path);
  for (const auto& [path, inode] : durable_) paths.insert(path);
  for (const std::string& path : paths) {
    const auto live = live_.find(path);
    const auto durable = durable_.find(path);
    const bool same =
        live != live_.end() && durable != durable_.end() && live->second == durable->second;
    const bool keep_live =
        same || survival == Survival::All || (survival != Survival::None && random_.percent(50));
    const Directory& from = keep_live ? live_ : durable_;
    const auto at = from.find(path);
    if (at != from.end()) after.insert(*at);
    if (!keep_live)
      verdict_.reach(durable == durable_.end() ? Probe::DiskFileVanished : Probe::DiskDeleteUndone);
  }
  live_ = after;
  durable_ = std::move(after);
}

}  // namespace pawl::sim
