// An event taken out of its record, to be read, changed or put back by planted bugs.
#pragma once

#include <string>

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

// In the place of an event that a bug swallows, so that those behind it keep their numbers: the
// deletion of a document that is not there changes nothing.
inline LooseEvent nothing_happened() {
  return loose(DocDeleted{DocKind::Pool, std::string(kSwallowed)});
}

}  // namespace pawl::sim
