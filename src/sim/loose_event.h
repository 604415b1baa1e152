// An event extracted from its record, for planted bugs to read, change or put back.
#pragma once

#include <string>
#include <vector>

#include "base/codec.h"
#include "journal/events.h"
#include "sim/model.h"

namespace pawl::sim {

struct LooseEvent {
  EventType type;
  std::string bytes;
};

template <class Event>
LooseEvent loose(const Event& event) {
  return {event_type<Event>(), codec::encoded(event)};
}

// The event, if it is one of this type.
template <class Event>
bool read(const LooseEvent& from, Event& event) {
  return from.type == event_type<Event>() && codec::decode(from.bytes, event);
}

using LooseFrame = std::vector<LooseEvent>;

// Passes every event of this type to `change`, and stores the result if it returns true.
template <class Event, class Change>
void change_each(LooseFrame& frame, Change&& change) {
  for (LooseEvent& each : frame) {
    Event event;
    if (read(each, event) && change(event)) each = loose(event);
  }
}

// Replaces an event that a bug drops, so that later events keep their numbers: deleting a missing
// document changes nothing.
inline LooseEvent nothing_happened() {
  return loose(DocDeleted{DocKind::Pool, std::string(kSwallowed)});
}

}  // namespace pawl::sim
