// CrashBook: what killed the processes before this one, kept in a small mapped file beside the
// store. The net below all checks: whoever's work the server has died of twice in a row is not
// taken up a third time (kernel/quarantine.h), and everybody else is served.
//
// Every watched thread has a slot in the file (base/working_on.h) and writes there for whom it
// works: plain stores into shared memory, which the kernel keeps when the process is gone. A
// handler of fatal signals marks whose slot the dying thread had, or whose command sent the signal,
// so blame is exact. A death without a mark (SIGKILL, the machine's OOM killer) is blamed on work
// that a thread had been at for more than a second, by the beats of a thread that watches, and
// never on an action that may wait for the outside; and on a command, if it was the only one and
// had begun within the last second, since it may have sent the signal. Any other kill -9 of an
// operator is nobody's fault. A clean end clears the book.
//
// The book is advice, not truth: it is never synced, and one that is missing, damaged or cannot be
// written means that nobody is blamed.
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

// Somebody whose work the server died of at least twice in a row.
struct Suspect {
  Uuid id;  // a run or a job
  uint32_t deaths = 0;
  int signal = 0;              // of the last death; 0 if it was not seen
  std::string doing;           // for people: "a decision", "an effect", "reading the journal"
  uint64_t fold_sequence = 0;  // the event that could not be applied; 0 if it was something else
};

class CrashBook {
 public:
  static constexpr uint32_t kDeathsMax = 2;  // so many, and it is not tried again

  // Reads what the last process left and begins this one's page. Never fails: see above.
  static std::unique_ptr<CrashBook> open(const std::string& path);
  ~CrashBook();  // a clean end: whoever was blamed is forgiven
  CrashBook(const CrashBook&) = delete;
  CrashBook& operator=(const CrashBook&) = delete;

  // Those about whom nothing was done yet.
  std::vector<Suspect> suspects() const;
  // What was to be done about it is durable.
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

  mutable std::mutex mutex_;  // guards the counts in the page, and suspects_
  Page* page_ = nullptr;      // mapped and never unmapped: threads may still write there at the end
  std::vector<Suspect> suspects_;
  uint64_t beats_ = 0;
  std::unique_ptr<Watch> watch_;
};

}  // namespace pawl
