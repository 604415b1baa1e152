#include "store/sqlite_checkpoint.h"

#include <unistd.h>

#include <utility>

namespace pawl {
namespace {

// While the gate is closed only readers can be in the way, for microseconds each: look often, give
// up soon.
constexpr int kBusyPauseUs = 50;
constexpr int kBusyTriesMax = 400;

int wait_for_readers(void*, int tries) {
  if (tries >= kBusyTriesMax) return 0;
  ::usleep(kBusyPauseUs);
  return 1;
}

}  // namespace

Checkpointer::Checkpointer(Connection connection, uint64_t frame_bytes, CheckpointLimits limits)
    : connection_(std::move(connection)),
      frame_bytes_(frame_bytes),
      limits_(limits),
      wake_bytes_(limits.start_bytes),
      thread_([this] { run(); }) {}

Checkpointer::~Checkpointer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Status Checkpointer::begin_commit() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !gate_closed_; });
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
    wake = gate_closed_ || wal_bytes_ >= wake_bytes_;
  }
  if (wake) changed_.notify_all();
}

uint64_t Checkpointer::wal_bytes() const {
  std::lock_guard lock(mutex_);
  return wal_bytes_;
}

bool Checkpointer::failed() const {
  std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void Checkpointer::run() {
  sqlite3_busy_handler(connection_.handle(), wait_for_readers, nullptr);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || wal_bytes_ >= wake_bytes_; });
    if (stop_) return;
    lock.unlock();
    if (passive_rounds()) finish();
    lock.lock();
    if (failure_) return;
  }
}

bool Checkpointer::passive_rounds() {
  while (true) {
    int frames = 0;
    int moved = 0;
    const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                               SQLITE_CHECKPOINT_PASSIVE, &frames, &moved);
    const bool busy = (code & 0xff) == SQLITE_BUSY;
    if (code != SQLITE_OK && !busy) {
      fail(code);
      return false;
    }
    const auto bytes = [&](int count) { return static_cast<uint64_t>(count) * frame_bytes_; };
    std::lock_guard lock(mutex_);
    if (stop_) return false;
    if (busy || bytes(frames - moved) > limits_.finish_bytes) {  // a reader pins the log
      wake_bytes_ = wal_bytes_ + limits_.start_bytes;
      return false;
    }
    if (wal_bytes_ <= bytes(moved) + limits_.finish_bytes) return true;
    if (wal_bytes_ >= limits_.max_bytes) return true;
  }
}

void Checkpointer::finish() {
  {
    std::unique_lock lock(mutex_);
    gate_closed_ = true;
    changed_.wait(lock, [&] { return !committing_; });
  }
  const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                             SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) fail(code);
  {
    std::lock_guard lock(mutex_);
    if (code == SQLITE_OK) wal_bytes_ = 0;
    wake_bytes_ = wal_bytes_ + limits_.start_bytes;
    gate_closed_ = false;
  }
  changed_.notify_all();
}

void Checkpointer::fail(int code) {
  std::lock_guard lock(mutex_);
  failure_ = connection_.error(code, "moving the log into the database");
}

}  // namespace pawl
