// SimVfs: a file system in memory, as SQLite sees one: files, a directory, locks and shared memory.
// It survives simulated crashes, and fails as DiskFaults says.
//
// A crash is: stop() (or an armed fault), destroy all users of open files, power_cut(). Surviving
// unsynced writes are drawn at random; a new file may vanish and a deleted one reappear until the
// directory is synced (with the first sync of a new log or rollback journal, or by the deletion
// itself).
//
// Thread: one. Several may exist, one after the other or in turns.
#pragma once

#include <sqlite3.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/disk_faults.h"
#include "sim/plants.h"
#include "sim/sim_disk_file.h"
#include "sim/verdict.h"

namespace pawl::sim {

struct SimHandle;

// The file behind a name in the directory.
struct SimInode {
  SimDiskFile file;
  std::vector<SimHandle*> handles;
  std::vector<std::unique_ptr<char[]>> shared_memory;
};

class SimVfs {
 public:
  using PassTime = std::function<void(int64_t ms)>;

  SimVfs(uint64_t seed, Verdict& verdict, const Plants& plants, PassTime pass_time);
  ~SimVfs();
  SimVfs& operator=(SimVfs&&) = delete;

  const char* name() const { return name_.c_str(); }
  DiskFaults& faults() { return faults_; }
  void begin_step(uint64_t seed) { random_.restart(seed); }

  // Flips one bit of the database or of its log at a place where a store must detect it: not in the
  // log's header, nor in its last commits, which a crash could have torn as well. Returns the
  // place, or "" if there is none.
  std::string rot(const std::string& database);

  // All files must be closed. The disk works again afterwards.
  CrashLosses power_cut(Survival survival);

  // --- for the methods in sim_vfs.cc and sim_vfs_file.cc
  std::shared_ptr<SimInode> find(const std::string& path) const;
  std::shared_ptr<SimInode> create(const std::string& path);
  bool remove(const std::string& path) { return live_.erase(path) > 0; }
  void sync_directory() { durable_ = live_; }
  DiskTrouble next(DiskAction action);
  void note_checkpoint(bool begins) { in_checkpoint_ = begins; }
  SimRandom& random() { return random_; }
  const Plants& plants() const { return plants_; }

 private:
  using Directory = std::map<std::string, std::shared_ptr<SimInode>>;
  void cut_directory(Survival survival);
  void note(const CrashLosses& losses);

  const std::string name_;
  SimRandom random_;
  Verdict& verdict_;
  const Plants plants_;
  const PassTime pass_time_;
  sqlite3_vfs vfs_{};
  DiskFaults faults_;
  Directory live_;
  Directory durable_;
  bool in_checkpoint_ = false;
};

// The methods of an open file (sim_vfs_file.cc). `inode` null: a file without a name.
struct SimHandle {
  sqlite3_file head;  // must come first: SQLite sees only this
  SimVfs* owner;
  std::shared_ptr<SimInode> inode;
  std::string delete_on_close;
  bool is_log;
  bool is_database;
  bool sync_directory;  // with its first sync
  int lock;
  unsigned shm_shared;
  unsigned shm_exclusive;
  bool shm_mapped;
};
extern const sqlite3_io_methods kSimFileMethods;

}  // namespace pawl::sim
