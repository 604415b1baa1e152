// For ThreadSanitizer, which does not see inside the library: a memory goes from one call to the
// next under the library's own locks.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace pawl::wasm {

// This call got the memory that another one gave back.
inline void mark_taken([[maybe_unused]] void* memory) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(memory);
#endif
}

// After this the library may give the memory to another call.
inline void mark_given_back([[maybe_unused]] void* memory) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(memory);
#endif
}

}  // namespace pawl::wasm
