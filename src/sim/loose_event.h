// An event taken out of its record, to be read, changed or put back by planted bugs.
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

// Hands every event of this type to `change`, and keeps what it made of it if it says so.
template <class Event, class Change>
void change_each(LooseFrame& frame, Change&& change) {
  for (LooseEvent& each : frame) {
    Event event;
    if (read(each, event) && change(event)) each = loose(event);
  }
}

// In the place of an event that a bug swallows, so that those behind it keep their numbers: the
// deletion of a document that is not there changes nothing.
inline LooseEvent nothing_happened() {
  return loose(DocDeleted{DocKind::Pool, std::string(kSwallowed)});
}

}  // namespace pawl::sim
