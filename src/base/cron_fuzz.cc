// Any text either is refused with a message or gives a schedule whose due times strictly ascend.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/cron.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto zone = *pawl::TimeZone::find("Australia/Lord_Howe");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto schedule = pawl::CronSchedule::parse(text);
  if (!schedule.ok()) {
    PAWL_CHECK(!schedule.error().message.empty() && schedule.error().message.size() < 400);
    return 0;
  }
  int64_t at = 1'700'000'000'000 + static_cast<int64_t>(size) * 86'400'000;
  for (int i = 0; i < 4; ++i) {
    const auto next = schedule->next_after(at, *zone);
    if (!next) break;
    PAWL_CHECK(*next > at);
    at = *next;
  }
  return 0;
}
