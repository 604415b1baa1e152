// Any bytes as each kind of event: decoding never crashes, and encoded events read back the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/codec.h"
#include "journal/events.h"

namespace {

template <class Event>
void try_as(std::string_view bytes) {
  Event event;
  if (!pawl::codec::decode(bytes, event)) return;
  // Only our own encoding must round-trip: a field whose default is not 0 cannot hold 0.
  Event first;
  PAWL_CHECK(pawl::codec::decode(pawl::codec::encoded(event), first));
  const std::string written = pawl::codec::encoded(first);
  Event again;
  PAWL_CHECK(pawl::codec::decode(written, again));
  PAWL_CHECK(pawl::codec::encoded(again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
#define PAWL_EVENT(number, name) try_as<pawl::name>(bytes);
#include "journal/event_types.def"
#undef PAWL_EVENT
  return 0;
}
