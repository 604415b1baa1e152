// The store without a disk: for tests and the simulator. The durable data is in a MemoryDisk that
// outlives the Store, so a crash is simulated by destroying the Store and opening another one on
// the same disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>

#include "store/store.h"

namespace pawl {

enum class CommitFault : uint8_t {
  Ok,
  FailBefore,  // nothing applied, the commit fails
  FailAfter,   // applied durably, but the commit fails: the caller cannot know
};

// Owned by the test. Set `fault` before the store is opened or between commits of the committing
// thread; it is called once per commit that would write, and per reopen(), with that commit's
// number (1, 2, … over the disk's life).
class MemoryDisk {
 public:
  std::function<CommitFault(uint64_t commit_no)> fault;

 private:
  friend class MemoryStore;

  std::shared_mutex mutex_;  // guards all below
  bool opened_ = false;
  uint64_t commit_no_ = 0;
  uint64_t bytes_ = 0;  // keys, values and records held
  std::map<uint8_t, std::map<std::string, std::string, std::less<>>> spaces_;
  std::map<uint64_t, std::string> journal_;
};

// Unavailable while another Store is open on the same disk, as with a real one.
Result<std::unique_ptr<Store>> open_memory(std::shared_ptr<MemoryDisk> disk);

}  // namespace pawl
