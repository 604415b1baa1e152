// TimerKey: when a job or a run is due.
#pragma once

#include <compare>
#include <cstdint>

#include "base/uuid.h"

namespace pawl {

enum class TimerKind : uint8_t { Job = 1, Run = 2 };

struct TimerKey {
  int64_t due_ms = 0;
  TimerKind kind = TimerKind::Job;
  Uuid id;

  auto operator<=>(const TimerKey&) const = default;
};

}  // namespace pawl
