// EventCursor: a place in the events of all partitions: a position in each partition's journal.
//
// Its text, "v1." and base64url, is what lists and streams of events give as cursor and as SSE id.
// Before: how many partitions there are, and for each the event's sequence with its part; so it
// grows by some six bytes for each partition. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/event_projection.h"

namespace pawl::front {

struct EventCursor {
  std::vector<EventPosition> positions;  // by partition

  std::string text() const;
  // "0" is the start of all. InvalidRequest for anything but a cursor of a server with as many
  // partitions.
  static Result<EventCursor> parse(std::string_view text, uint16_t partitions);
  // Whether it is meant as one for all partitions: else it is a position in one of them.
  static bool is_one(std::string_view text) { return text.starts_with("v1."); }
};

}  // namespace pawl::front
