// MergeEvents: the lists of events of all partitions as one, in the order of their times; those of
// one partition stay in its order.
//
// A page ends where the first partition stopped looking, as lists do (front/merge_list.h). Its
// cursor is a place in each partition (front/event_cursor.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/paging.h"
#include "base/result.h"
#include "front/event_cursor.h"

namespace pawl::front {

struct EventsWish {
  std::optional<EventCursor> after = {};  // nothing: from the start, or from what the path means
  size_t limit = 100;
  bool latest = false;                 // the newest ones
  std::optional<api::Page> page = {};  // by number: the first has the newest events
};

// `bodies`: the answers, by partition; empty: the partition has nothing of it.
Result<std::string> merge_events(const EventsWish& wish,
                                 const std::vector<std::string_view>& bodies);

}  // namespace pawl::front
