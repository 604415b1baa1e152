// Tests quickly whether a record holds an event of some kind: nothing is copied and no checksum is
// computed. For records that this process has just written; the format is that of record.h.
#pragma once

#include <string_view>

#include "base/codec.h"
#include "journal/events.h"

namespace pawl::journal {

inline bool holds(std::string_view record, EventType wanted) {
  constexpr size_t kHeaderSize = 3;
  constexpr size_t kChecksumSize = 4;
  if (record.size() < kHeaderSize + kChecksumSize) return false;
  codec::Reader frames(record.substr(kHeaderSize, record.size() - kHeaderSize - kChecksumSize));
  while (!frames.done()) {
    codec::Reader body(frames.bytes());
    (void)body.varint();  // its time
    for (uint64_t count = body.varint(); count > 0 && !body.failed(); --count) {
      if (static_cast<EventType>(body.varint()) == wanted && !body.failed()) return true;
      (void)body.bytes();
    }
    if (frames.failed() || body.failed()) return false;
  }
  return false;
}

}  // namespace pawl::journal
