#include "main/memory_return.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>

#include "api/process_usage.h"

// From jemalloc, if the program is linked with it.
extern "C" int mallctl(const char* name, void* old, size_t* old_bytes, void* fresh,
                       size_t fresh_bytes) __attribute__((weak));

namespace pawl {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

// 4096 stands for all arenas together.
size_t kept_bytes() {
  uint64_t epoch = 1;
  mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);  // the figures are of the last epoch
  size_t pages = 0, bytes = sizeof pages;
  if (mallctl("stats.arenas.4096.pdirty", &pages, &bytes, nullptr, 0) != 0) return 0;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

MemoryReturn::MemoryReturn(Bounds bounds) : bounds_(bounds) {
  if (mallctl != nullptr) thread_ = std::thread([this] { watch(); });
}

MemoryReturn::~MemoryReturn() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  ends_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MemoryReturn::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kBetweenLooks, [this] { return over_; })) {
    if (api::process_usage().resident_bytes > bounds_.resident_bytes &&
        kept_bytes() > bounds_.kept_bytes)
      mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
  }
}

}  // namespace pawl
