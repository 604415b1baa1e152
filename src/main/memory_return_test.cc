#include "main/memory_return.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

extern "C" int mallctl(const char* name, void* old, size_t* old_bytes, void* fresh,
                       size_t fresh_bytes) __attribute__((weak));

namespace pawl {
namespace {

size_t resident_pages() {
  std::ifstream statm("/proc/self/statm");
  size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident;
}

// The allocator alone would keep these pages until it is used again.
TEST(MemoryReturn, FreedMemoryOfALargeProcessGoesBack) {
  if (mallctl == nullptr) GTEST_SKIP() << "built without jemalloc";
  constexpr size_t kBlocks = 128, kBlockBytes = size_t{1} << 20;
  std::vector<void*> blocks(kBlocks);
  for (void*& block : blocks) std::memset(block = std::malloc(kBlockBytes), 1, kBlockBytes);
  const size_t full = resident_pages();
  for (void* block : blocks) std::free(block);
  MemoryReturn memory_return({.resident_bytes = 32u << 20, .kept_bytes = 32u << 20});
  while (resident_pages() > full - 64 * kBlockBytes / 4096) std::this_thread::yield();
}

}  // namespace
}  // namespace pawl
