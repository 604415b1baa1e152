// The engine from a failed commit until the store takes commits again. Engine thread.
#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "engine/core.h"
#include "engine/engine.h"
#include "kernel/scripts/run.h"

namespace pawl {
namespace {

using SteadyClock = std::chrono::steady_clock;

int64_t ms_between(SteadyClock::time_point from, SteadyClock::time_point to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
}

// Damage does not mend itself, and a partition that another owner has is not ours to reopen.
bool is_final(const Error& error) {
  return error.code == ErrorCode::Corrupt || error.code == ErrorCode::Fenced;
}

}  // namespace

// A lost connection to a database is an outage like any other: who submits tasks keeps those that
// an outage refuses, and takes Unavailable and Overloaded for the engine's own words.
Error EngineLoop::outage_of(const Error& error) {
  const bool passing = error.code == ErrorCode::Unavailable || error.code == ErrorCode::Conflict ||
                       error.code == ErrorCode::Overloaded;
  return passing ? Error{ErrorCode::StoreFailed, error.message} : error;
}

// Refuses all waiting tasks: submitted, decided and parked ones.
void EngineLoop::go_down() {
  finish_commit();
  Error error = *failed();
  down_ = true;
  down_since_ = SteadyClock::now();
  retry_pause_ = std::chrono::milliseconds(kRetryMsMin);
  retry_at_ = is_final(error) ? SteadyClock::time_point::max() : down_since_ + retry_pause_;
  log::error("the store failed; new work is refused until it is back",
             {{"code", wire_code(error.code)}, {"error", error.message}});
  ClosedBatch open = core_->close_batch(false);
  Core::refuse(open, error);
  answer_parked();
  open_to_read();
  {
    std::lock_guard lock(mutex_);
    ++stats_.outages;
    stats_.parked = 0;
    stats_.dirty = 0;
  }
  refuse_while_down();
}

void EngineLoop::refuse_while_down() {
  // Moved: whoever waits for the end of all calls would wait for one that is answered, but kept
  // here.
  std::move(deciding_.begin() + static_cast<ptrdiff_t>(next_), deciding_.end(),
            std::back_inserter(heavy_));
  next_ = deciding_.size();
  heavy_.insert(heavy_.end(), reads_.begin(), reads_.end());
  reads_.clear();
  for (TaskPtr& task : std::exchange(heavy_, {})) {
    if (task->only_reads()) {
      answer_from_disk(task);
    } else {
      task->refuse(*failed());
    }
  }
  if (SteadyClock::now() >= retry_at_) come_back();
}

void EngineLoop::answer_from_disk(const TaskPtr& task) {
  if (task->abandoned()) return;
  if (core_ == nullptr) return task->refuse(*failed());
  if (core_->decide_read_only(*task)) {
    Wakes wakes;
    return task->durable(wakes);
  }
  task->refuse(*failed());
  open_to_read();
}

int64_t EngineLoop::retry_in_ms() const {
  auto now = SteadyClock::now();
  return retry_at_ <= now ? 0 : std::min(ms_between(now, retry_at_), kRetryMsMax) + 1;
}

// The memory was ahead of the disk; this opens the durable state.
void EngineLoop::open_to_read() {
  core_ = nullptr;
  auto core = Core::open(store_, config_.core, clock_, random_);
  if (core.ok()) core_ = std::move(core).value();
}

void EngineLoop::come_back() {
  Status back = reopen();
  if (!back.ok()) {
    {
      std::lock_guard lock(mutex_);
      failure_ = outage_of(back.error());
    }
    const bool final = is_final(back.error());
    if (final) log::error("the store is not reopened", {{"error", back.error().message}});
    retry_pause_ = std::min(retry_pause_ * 2, std::chrono::milliseconds(kRetryMsMax));
    retry_at_ = final ? SteadyClock::time_point::max() : SteadyClock::now() + retry_pause_;
    if (core_ == nullptr) open_to_read();
    return;
  }
  down_ = false;
  {
    std::lock_guard lock(mutex_);
    failure_.reset();
  }
  log::info("the store works again; the server continues",
            {{"after_ms", std::to_string(ms_between(down_since_, SteadyClock::now()))}});
}

Status EngineLoop::reopen() {
  PAWL_TRY_DO(store_.reopen());
  core_ = nullptr;
  PAWL_TRY(core_, Core::open(store_, config_.core, clock_, random_));
  quarantine();
  return publish_found();
}

// A batch whose commit failed may turn out to be durable: then the listeners must get it.
Status EngineLoop::publish_found() {
  return store_.read_journal(published_ + 1, SIZE_MAX,
                             [&](uint64_t number, std::string_view record) {
                               ClosedBatch found;
                               found.batch.number = number;
                               found.batch.journal = record;
                               Core::release(found, follow_);
                               return true;
                             });
}

}  // namespace pawl
