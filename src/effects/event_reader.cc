#include "effects/event_reader.h"

#include <algorithm>

namespace pawl {
namespace {

// Collects from one record after the other until the budget is used up.
class PageReader {
 public:
  PageReader(const EventFilter& filter, const ReadBudget& budget, EventPage& page)
      : filter_(filter), budget_(budget), page_(page) {}

  // False when the page is full.
  bool take(uint64_t number, std::string_view record) {
    auto events = journal::read_record(number, record);
    if (!events.ok()) return failure_ = events.error(), false;
    scanned_bytes_ += record.size();
    ++records_;
    for (const journal::EventBytes& event : *events) {
      if (event.sequence < page_.next.sequence) continue;
      if (!take_event(event)) return false;
    }
    EventPosition end{journal::sequence(number + 1, 0) - 1, EventPosition::kAllParts};
    page_.next = std::max(page_.next, end);
    page_.more = records_ >= budget_.records_max || scanned_bytes_ >= budget_.scanned_bytes_max;
    return !page_.more;
  }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  bool take_event(const journal::EventBytes& event) {
    scratch_.clear();
    project(event, scratch_);
    for (OjsEvent& found : scratch_) {
      if (found.position <= page_.next || !filter_.wants(found)) continue;
      bool full =
          page_.events.size() >= budget_.events_max || found_bytes_ >= budget_.found_bytes_max;
      if (full) return page_.more = true, false;
      found_bytes_ += found.data.size();
      page_.next = found.position;
      page_.events.push_back(std::move(found));
    }
    page_.next = EventPosition{event.sequence, EventPosition::kAllParts};
    return true;
  }

  const EventFilter& filter_;
  const ReadBudget& budget_;
  EventPage& page_;
  std::vector<OjsEvent> scratch_;
  size_t records_ = 0;
  size_t scanned_bytes_ = 0;
  size_t found_bytes_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

EventPosition journal_start(const Store& store) {
  uint64_t first = store.journal_first();
  if (first == 0) return {0, EventPosition::kAllParts};
  return {journal::sequence(first, 0) - 1, EventPosition::kAllParts};
}

EventPosition journal_end(const Store& store) {
  return {journal::sequence(store.journal_last() + 1, 0) - 1, EventPosition::kAllParts};
}

EventPosition position_before(Store& store, int64_t time_ms) {
  uint64_t low = store.journal_first();
  uint64_t high = store.journal_last() + 1;
  while (low != 0 && low < high) {
    uint64_t middle = low + (high - low) / 2;
    std::optional<int64_t> reached;
    Status read = store.read_journal(middle, 1, [&](uint64_t number, std::string_view record) {
      auto events = journal::read_record(number, record);
      if (events.ok() && !events->empty()) reached = events->back().time_ms;
      return false;
    });
    if (!read.ok() || !reached) return journal_start(store);
    (*reached < time_ms ? low : high) = *reached < time_ms ? middle + 1 : middle;
  }
  if (low == 0) return journal_start(store);
  return {journal::sequence(low, 0) - 1, EventPosition::kAllParts};
}

Result<EventPage> read_events(Store& store, const EventPosition& after, const EventFilter& filter,
                              const ReadBudget& budget) {
  EventPage page;
  EventPosition start = journal_start(store);
  page.gap = after < start && after.sequence != 0;
  page.next = std::max(after, start);
  PageReader reader(filter, budget, page);
  // The next event may be in this record or, if `after` was its last event, in the next one.
  PAWL_TRY_DO(store.read_journal(
      journal::record_of(page.next.sequence), budget.records_max + 1,
      [&](uint64_t number, std::string_view record) { return reader.take(number, record); }));
  if (reader.failure()) return *reader.failure();
  return page;
}

Result<EventPage> read_latest_events(Store& store, const EventFilter& filter, size_t limit,
                                     size_t records_max) {
  uint64_t last = store.journal_last();
  uint64_t from = last > records_max ? last - records_max : 0;
  EventPosition after{journal::sequence(from, journal::kEventsPerRecordMax)};
  EventPage newest;
  newest.older = from != 0 && store.journal_first() <= from;
  ReadBudget budget{.events_max = SIZE_MAX};
  do {
    PAWL_TRY(EventPage page, read_events(store, after, filter, budget));
    after = newest.next = page.next;
    newest.found += page.events.size();
    std::move(page.events.begin(), page.events.end(), std::back_inserter(newest.events));
    if (newest.events.size() > limit)
      newest.events.erase(newest.events.begin(),
                          newest.events.end() - static_cast<ptrdiff_t>(limit));
    newest.more = page.more;
  } while (newest.more && journal::record_of(after.sequence) < last);
  newest.more = false;
  return newest;
}

}  // namespace pawl
