// Reading events back from the journal, a bounded piece at a time.
//
// Thread: any; it reads the store and may take long, so not an I/O thread.
#pragma once

#include <cstddef>
#include <vector>

#include "store/store.h"
#include "wire/event_projection.h"

namespace pawl {

struct ReadBudget {
  size_t events_max = 1000;
  size_t records_max = 20'000;
  size_t scanned_bytes_max = 32u << 20;
  size_t found_bytes_max = 8u << 20;  // of the events' data
};

struct EventPage {
  std::vector<OjsEvent> events;  // oldest first
  EventPosition next;            // where to continue, also if nothing was found
  bool more = false;             // the budget ended the page, not the journal
  bool gap = false;              // the events right after `after` are no longer kept
  // Of read_latest_events: how many it found, and whether there are earlier records.
  uint64_t found = 0;
  bool older = false;
};

// The wanted events after `after`. One event larger than the budget is still returned, so that
// every call makes progress. Corrupt when a record cannot be read.
Result<EventPage> read_events(Store& store, const EventPosition& after, const EventFilter& filter,
                              const ReadBudget& budget);

// The newest `limit` wanted events among the last records_max records, oldest first.
Result<EventPage> read_latest_events(Store& store, const EventFilter& filter, size_t limit,
                                     size_t records_max = 2'000);

// The start of the journal: before everything that is kept.
EventPosition journal_start(const Store& store);
// Its end: after everything that is durable.
EventPosition journal_end(const Store& store);
// Before the first record that reaches this time, found by bisection: times in a journal never go
// back. The start, if a record cannot be read.
EventPosition position_before(Store& store, int64_t time_ms);

}  // namespace pawl
