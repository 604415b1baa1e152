#include "wasm/stack_room.h"

#include <pthread.h>

#include <cstdint>

namespace pawl::wasm {
namespace {

// The lowest address of this thread's stack.
uintptr_t stack_begin() {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return UINTPTR_MAX;
  void* begin = nullptr;
  size_t size = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &begin, &size) == 0;
  ::pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<uintptr_t>(begin) : UINTPTR_MAX;
}

}  // namespace

bool stack_has_room(size_t bytes) {
  static thread_local const uintptr_t kBegin = stack_begin();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > kBegin && here - kBegin >= bytes;
}

}  // namespace pawl::wasm
