// MemoryReturn: returns freed memory to the system early when the process has become large.
//
// The allocator keeps freed pages for ten seconds (malloc_conf in main.cc), since fresh ones are
// expensive. After a burst of large texts these can be most of the process: 376 MB
// in use were measured beside an RSS of 1,250. In a process of more than a gigabyte, more than 256
// MiB of such pages are returned at once.
//
// Thread: its own, which sleeps between checks and ends with the object. Without jemalloc (the
// sanitizers' builds) it does nothing.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace pawl {

class MemoryReturn {
 public:
  struct Bounds {
    size_t resident_bytes = size_t{1} << 30;
    size_t kept_bytes = size_t{256} << 20;  // freed but not returned
  };
  explicit MemoryReturn(Bounds bounds);
  ~MemoryReturn();

 private:
  void watch();

  const Bounds bounds_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace pawl
