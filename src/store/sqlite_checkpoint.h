// Checkpointer: moves the write-ahead log into the database, so that the log stays short while
// commits never wait long for it. A thread with its own connection, woken when the log passes
// `start_bytes`:
//
// 1. passive rounds, while commits continue, until at most `finish_bytes` are left;
//   2. the gate closes for new commits, the rest is moved, the log restarts from its beginning, and
//      the gate opens. This is the only time a commit waits: a few pages and two or three syncs.
//      If the commit that was under way has added more than a few, the gate opens at once, and it
//      is step 1 again.
//
// If commits outrun step 1, they wait at `max_bytes` until the log has restarted: it never grows
// beyond that by more than one batch. From half of it on the store is congested(), so that writers
// of megabytes can wait and small writers never have to. Only a reader with a long transaction (a
// backup) can pin the log; then commits continue and it grows until the reader ends, which is
// checked every few milliseconds.
//
// A failed write or sync of the database file ends it, as for a commit: begin_commit() reports it
// from then on. The log still holds every batch that no successful sync has moved; reopening the
// store moves all of these again, since the operating system may have dropped the pages of a failed
// sync.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "store/sqlite_connection.h"

namespace pawl {

struct CheckpointLimits {
  uint64_t start_bytes = uint64_t{16} << 20;
  uint64_t finish_bytes = uint64_t{1} << 20;
  uint64_t max_bytes = uint64_t{64} << 20;
  uint64_t congested_bytes() const { return std::max(start_bytes, max_bytes / 2); }
  // No thread: the commit that passes start_bytes runs the checkpoint before it returns. For a
  // simulated disk, which needs a deterministic order.
  bool in_commit = false;
};

class Checkpointer {
 public:
  Checkpointer(Connection connection, uint64_t frame_bytes, CheckpointLimits limits);
  ~Checkpointer();
  Checkpointer& operator=(Checkpointer&&) = delete;

  // Committing thread, around each write. After an ok begin_commit() end_commit() must follow.
  Status begin_commit();
  // `wal_bytes`: in use after it; nullopt if nothing was written.
  void end_commit(std::optional<uint64_t> wal_bytes);

  uint64_t wal_bytes() const;
  bool congested() const;
  bool failed() const;

 private:
  void run();
  void run_here();
  bool passive_rounds();  // true: little is left; false: much is held, stopping or failed
  enum class End { Restarted, Held, MoreCame };
  End finish();
  void fail(int code);

  Connection connection_;
  const uint64_t frame_bytes_;
  const CheckpointLimits limits_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool stop_ = false;
  bool committing_ = false;
  bool gate_closed_ = false;
  bool pinned_ = false;  // by a reader, for several tries: commits do not wait for the log
  uint64_t wal_bytes_ = 0;
  std::optional<Error> failure_;

  std::thread thread_;
};

}  // namespace pawl
