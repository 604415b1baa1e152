// How much of its stack a thread has left. Code of modules runs on the stack of the thread that
// calls it, and the bound of its depth (kStackBytesMax) holds only where there is so much.
#pragma once

#include <cstddef>

namespace pawl::wasm {

// Whether the calling thread has `bytes` left.
bool stack_has_room(size_t bytes);

}  // namespace pawl::wasm
