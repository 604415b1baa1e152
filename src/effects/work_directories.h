// WorkDirectories: where the files of a run are, `<root>/<run id>`, from its first action that
// needs them until the run is forgotten.
//
// It follows the journal: when a run is forgotten (and that is durable) its directory goes. What a
// crash left is found at the start, when every directory is held against the runs there are. Before
// a directory is taken the engine is asked, since an id may be used again, and a run that has begun
// an action meanwhile keeps its own. Nothing but a directory whose name is a run's id is touched;
// how it is removed: actions/discard.h.
//
// Threads: one of its own removes, a bounded number of entries at a time; open() from any; attach()
// and stop() as the EffectDispatcher's.
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
  std::string path;        // absolute; "" = none: actions work where the process does
  bool temporary = false;  // goes with the process, as its runs do

  // Beside the store; for one in memory ("") a new place in the system's directory for such.
  static WorkRoot in(const std::string& data_dir);
};

class WorkDirectories {
 public:
  explicit WorkDirectories(WorkRoot root);
  WorkDirectories(const WorkDirectories&) = delete;
  WorkDirectories& operator=(const WorkDirectories&) = delete;
  ~WorkDirectories();

  const std::string& root() const { return root_.path; }
  // Makes the directory of a run that is at work.
  std::string open(const RunId& run);

  void attach(EngineLoop& engine);
  void stop();

 private:
  class Ask;
  using Record = std::shared_ptr<const std::string>;

  void close_root();
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
  std::deque<Record> records_;  // guarded by mutex_: in which runs were forgotten
  bool asking_ = false;         // guarded by mutex_: the engine, which runs there are
  std::set<RunId> opened_;      // guarded by mutex_: since it was asked

  // The thread's own.
  actions::Discard discard_;
  std::unique_ptr<DIR, int (*)(DIR*)> listing_{nullptr, &::closedir};
  std::deque<RunId> doubtful_;  // have a directory, and perhaps no run
  bool refused_ = false;        // the engine could not tell now
  std::thread thread_;
};

}  // namespace pawl
