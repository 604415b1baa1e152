#include "store/sqlite_checkpoint.h"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace pawl {
namespace {

// While the gate is closed only readers can block, for microseconds each: retry often, give up
// soon.
constexpr int kBusyPauseUs = 50;
constexpr int kBusyTriesMax = 100;

// A congested log counts as pinned once the gate was closed this often in vain; from then on
// commits continue, and the gate is closed for another try only now and then.
constexpr std::chrono::milliseconds kPinnedPause{5};
constexpr int kPinnedTriesMax = 4;
constexpr int kPinnedRoundsPerTry = 16;

int wait_for_readers(void*, int tries) {
  if (tries >= kBusyTriesMax) return 0;
  ::usleep(kBusyPauseUs);
  return 1;
}

}  // namespace

Checkpointer::Checkpointer(Connection connection, uint64_t frame_bytes, CheckpointLimits limits)
    : connection_(std::move(connection)), frame_bytes_(frame_bytes), limits_(limits) {
  PAWL_CHECK(limits.start_bytes <= limits.max_bytes);  // or a commit would wait for a sleeping
                                                       // thread
  if (!limits.in_commit) thread_ = std::thread([this] { run(); });
}

Checkpointer::~Checkpointer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Checkpointer::begin_commit() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return failure_ || !(gate_closed_ || (wal_bytes_ >= limits_.max_bytes && !pinned_));
  });
  if (failure_) return *failure_;
  committing_ = true;
  return ok_status();
}

void Checkpointer::end_commit(std::optional<uint64_t> wal_bytes) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    committing_ = false;
    if (wal_bytes) wal_bytes_ = *wal_bytes;
    wake = gate_closed_ || wal_bytes_ >= limits_.start_bytes;
  }
  if (wake && limits_.in_commit) return run_here();
  if (wake) changed_.notify_all();
}

void Checkpointer::run_here() {
  if (passive_rounds()) finish();
  std::lock_guard lock(mutex_);
  pinned_ = wal_bytes_ >= limits_.max_bytes;  // by a reader, which only ends after this commit
}

uint64_t Checkpointer::wal_bytes() const {
  std::lock_guard lock(mutex_);
  return wal_bytes_;
}

bool Checkpointer::congested() const {
  std::lock_guard lock(mutex_);
  return wal_bytes_ >= limits_.congested_bytes() && !pinned_ && !failure_;
}

bool Checkpointer::failed() const {
  std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void Checkpointer::run() {
  sqlite3_busy_handler(connection_.handle(), wait_for_readers, nullptr);
  const auto stopped = [&] { return stop_; };
  std::unique_lock lock(mutex_);
  int failed_tries = 0;
  for (int rounds = 0;; ++rounds) {
    changed_.wait(lock, [&] { return stop_ || wal_bytes_ >= limits_.start_bytes; });
    if (stop_) return;
    lock.unlock();
    const bool moved = passive_rounds();
    lock.lock();
    // The rest may belong to the current commit, not to a reader: only a try can tell.
    const bool congested = wal_bytes_ >= limits_.congested_bytes();
    const bool look = !pinned_ || rounds % kPinnedRoundsPerTry == 0;
    End end = End::Held;
    if (!failure_ && !stop_ && (moved || (congested && look))) {
      lock.unlock();
      end = finish();
      lock.lock();
      failed_tries = end == End::Held ? failed_tries + 1 : 0;
    }
    if (failure_) return;
    pinned_ = failed_tries >= kPinnedTriesMax;
    changed_.notify_all();
    if (end == End::Held) changed_.wait_for(lock, kPinnedPause, stopped);
  }
}

bool Checkpointer::passive_rounds() {
  while (true) {
    int frames = 0;
    int moved = 0;
    const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                               SQLITE_CHECKPOINT_PASSIVE, &frames, &moved);
    if ((code & 0xff) == SQLITE_BUSY) return false;
    if (code != SQLITE_OK) {
      fail(code);
      return false;
    }
    const auto bytes = [&](int count) { return static_cast<uint64_t>(count) * frame_bytes_; };
    std::lock_guard lock(mutex_);
    if (stop_ || bytes(frames - moved) > limits_.finish_bytes) return false;
    if (wal_bytes_ <= bytes(moved) + limits_.finish_bytes) return true;
    if (wal_bytes_ >= limits_.max_bytes) return true;
  }
}

Checkpointer::End Checkpointer::finish() {
  {
    std::unique_lock lock(mutex_);
    const uint64_t before = wal_bytes_;
    gate_closed_ = true;
    changed_.wait(lock, [&] { return !committing_; });
    // Not if the log was this long before: then a reader blocks, and only a try can tell for how
    // long.
    if (wal_bytes_ > before + limits_.finish_bytes && wal_bytes_ < limits_.max_bytes) {
      gate_closed_ = false;
      changed_.notify_all();
      return End::MoreCame;
    }
  }
  const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                             SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) fail(code);
  {
    std::lock_guard lock(mutex_);
    if (code == SQLITE_OK) wal_bytes_ = 0;
    gate_closed_ = false;
  }
  changed_.notify_all();
  return code == SQLITE_OK ? End::Restarted : End::Held;
}

void Checkpointer::fail(int code) {
  {
    std::lock_guard lock(mutex_);
    failure_ = connection_.error(code, "moving the log into the database");
  }
  changed_.notify_all();
}

}  // namespace pawl
