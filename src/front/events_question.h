// EventsQuestion: what a request of Routing::Stream asks for, and what each partition is asked for
// it. Pure.
#pragma once

#include <optional>

#include "front/merge_events.h"
#include "front/request_edit.h"

namespace pawl::front {

struct EventsQuestion {
  enum class Kind : uint8_t {
    One,     // a channel of one job or workflow: its partition answers
    List,    // of events
    Stream,  // of events, without an end
  } kind = Kind::List;
  std::optional<EventCursor> after = {};
  uint16_t partition = 0;  // of Kind::One
  EventsWish wish = {};    // of Kind::List
};

Result<EventsQuestion> read_events_question(const api::Call& call, uint16_t partitions);

// The request to a partition: from this position on, or from where the path means.
http::RequestParts events_request(const http::RequestParts& request, const EventsQuestion& question,
                                  const std::optional<EventPosition>& after);

// Requests for the events of one job or run may bring a cursor of all: then its partition is asked
// from the position that this names for it. False: there is nothing to change.
bool names_cursor_of_all(const http::Request& request);
Status localize_cursor(http::RequestParts& request, uint16_t partition, uint16_t partitions);

}  // namespace pawl::front
