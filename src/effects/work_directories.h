// WorkDirectories: the directory of a run, `<root>/<run id>`, from its first action that needs
// files until the run is deleted.
//
// It follows the journal: when a run is deleted (and that is durable), its directory is removed.
// Directories left by a crash are found at the start, when every directory is compared with the
// existing runs. The engine is asked before a directory is removed, since an id may be used again,
// and a run that has begun an action meanwhile keeps its directory. Only directories whose name is
// a run's id are touched; actions/discard.h removes them.
//
// Threads: its own thread removes a bounded number of entries at a time; open() from any; attach()
// and stop() as in EffectDispatcher.
#pragma once

#include <dirent.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "actions/discard.h"
#include "engine/engine.h"

namespace pawl {

struct WorkRoot {
  std::string path;        // absolute; "" = none: actions use the process's directory
  bool temporary = false;  // removed when the process ends
  // Whose runs, of how many that share the path: those of others are left alone.
  uint16_t partition = 0;
  uint16_t partitions = 1;

  // Beside the store; for a store in memory ("") a new temporary directory.
  static WorkRoot in(const std::string& data_dir);
};

class WorkDirectories {
 public:
  explicit WorkDirectories(WorkRoot root);
  WorkDirectories& operator=(WorkDirectories&&) = delete;
  ~WorkDirectories();

  const std::string& root() const { return root_.path; }
  // Creates the directory of an active run.
  std::string open(const RunId& run);

  void attach(EngineLoop& engine);
  void stop();

 private:
  using Record = std::shared_ptr<const std::string>;

  void close_root();
  bool is_ours(const RunId& run) const;
  void run();
  bool wait(bool busy);
  void note_forgotten();
  void list_some();
  void sort_out();
  void take(const std::vector<RunId>& gone);

  const WorkRoot root_;
  EngineLoop* engine_ = nullptr;
  uint64_t listener_ = 0;

  std::mutex mutex_;
  std::condition_variable wakes_;
  bool stopping_ = false;       // guarded by mutex_
  bool list_all_ = true;        // guarded by mutex_
  std::deque<Record> records_;  // guarded by mutex_: in which runs were deleted
  bool asking_ = false;         // guarded by mutex_: the engine is being asked which runs exist
  std::set<RunId> opened_;      // guarded by mutex_: since the question

  // Used by the thread only.
  actions::Discard discard_;
  std::unique_ptr<DIR, int (*)(DIR*)> listing_{nullptr, &::closedir};
  std::deque<RunId> doubtful_;  // have a directory, but perhaps no run
  bool refused_ = false;        // the engine could not answer
  std::thread thread_;
};

}  // namespace pawl
