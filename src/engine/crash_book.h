// CrashBook: records in a small mapped file beside the store what killed earlier processes. A
// safety net below all checks: a run or job whose work has killed the server twice in a row is not
// resumed a third time (kernel/quarantine.h), a world takes no writes (worldhost/crashed_worlds.h),
// and all others are served.
//
// Every watched thread has a slot in the file (base/working_on.h) and writes there which run, job
// or world it works on: plain stores into shared memory, which the operating system keeps when the
// process is gone. A handler of fatal signals marks the slot of the dying thread, or of the command
// that sent the signal, so blame is exact. A death without a mark (SIGKILL, the machine's OOM
// killer) is blamed on work that had run for more than a second, as seen by a watching thread, but
// never on an action that may wait for a service or on a world, whose replay takes as long as its
// journal; and on a command, if it was the only one and had begun within the last second, since it
// may have sent the signal. Any other kill -9 blames no run. A clean shutdown clears the book.
//
// The book is only a hint: it is never synced, and if it is missing, damaged or not writable, no
// run is blamed.
//
// Threads: open() and close() from the one that starts and ends the server, settled() from any.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.h"

namespace pawl {

// A run, job or world whose work has killed the server at least twice in a row.
struct Suspect {
  Uuid id;
  uint32_t deaths = 0;
  int signal = 0;              // of the last death; 0 if it was not seen
  std::string doing;           // for people: "a decision", "an effect", "reading the journal"
  uint64_t fold_sequence = 0;  // the event that could not be applied; 0 if it was something else
};

class CrashBook {
 public:
  static constexpr uint32_t kDeathsMax = 2;  // after this many it is not tried again

  // Reads what the last process left and begins this one's page. Never fails: see above.
  static std::unique_ptr<CrashBook> open(const std::string& path);
  ~CrashBook();  // a clean shutdown: clears all blame
  CrashBook& operator=(CrashBook&&) = delete;

  // Runs and jobs that are not quarantined yet.
  std::vector<Suspect> suspects() const;
  // Worlds, until a clean shutdown clears the book.
  std::vector<Suspect> suspect_worlds() const;
  // Its quarantine is durable.
  void settled(const Uuid& id);
  // For tests: one beat of the thread that watches.
  void beat();

 private:
  struct Page;
  class Watch;
  CrashBook() = default;
  void blame(size_t slot);
  void read_last_process();
  // The slot of the command that ran when the last process died.
  std::optional<size_t> only_new_command() const;
  void begin_page();
  void collect_suspects();

  mutable std::mutex mutex_;  // guards the counts in the page, and the suspects
  Page* page_ = nullptr;      // mapped and never unmapped: threads may still write there at the end
  std::vector<Suspect> suspects_;
  std::vector<Suspect> suspect_worlds_;
  uint64_t beats_ = 0;
  std::unique_ptr<Watch> watch_;
};

}  // namespace pawl
