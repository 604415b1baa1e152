// Queries for events: all, or those of a workflow, a job or a queue.
#pragma once

#include <optional>

#include "api/app.h"
#include "api/event_stream.h"
#include "api/paging.h"
#include "effects/event_reader.h"

namespace pawl::api {

struct EventsQuery {
  EventFilter filter;
  std::optional<EventPosition> after;  // Last-Event-ID, or ?after=, or ?cursor=
  size_t limit = 100;
  bool latest = false;
  std::optional<Page> page;  // a page by number: the first has the newest events
};

// Reads types, queues, job_types, workflow_id, after, limit and latest. InvalidRequest names what
// is wrong.
Result<EventsQuery> parse_events_query(App& app, const Call& call);

// Whether the caller wants server-sent events and not a list.
bool wants_stream(const Call& call);

// Answers {events, cursor, has_more}, for a numbered page also {items, pagination}. The first runs
// on a reader thread, the second moves to one.
void answer_events_page(App& app, Call& call, const EventsQuery& query);
void list_events(App& app, Call&& call, EventsQuery query);

// For the workflow or run of this name, which must exist.
void answer_workflow_events(App& app, Call&& call, const std::string& named, bool streams);

// From query.after on, or from now on.
void stream_events(App& app, Call&& call, EventsQuery query, StreamStyle style = {render_sse});

}  // namespace pawl::api
