#include "actions/stop_signal.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace pawl::actions {
namespace {

constexpr int64_t kStopTimeoutMsMax = int64_t{365} * 86400 * 1000;

void ring(int event) {
  uint64_t one = 1;
  (void)!::write(event, &one, sizeof one);
}

}  // namespace

StopSignal::StopSignal(int64_t timeout_ms)
    : deadline_(timeout_ms <= 0
                    ? Time::max()
                    : std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(std::min(timeout_ms, kStopTimeoutMsMax))) {}

void StopSignal::raise() {
  std::lock_guard lock(mutex_);
  raised_ = true;
  if (event_.is_open()) ring(event_.get());
}

int StopSignal::descriptor() {
  std::lock_guard lock(mutex_);
  if (!event_.is_open()) {
    event_ = FileHandle(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (event_.is_open() && raised_) ring(event_.get());
  }
  return event_.get();
}

}  // namespace pawl::actions
