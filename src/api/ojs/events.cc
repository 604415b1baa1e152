// GET /ojs/v1/events and /v1/events: events as a list with a cursor or as a stream; and
// /ojs/v1/workflows/{id}/events, /v1/runs/{id}/events: the same for one workflow or run.

#include "api/app.h"
#include "api/event_stream.h"
#include "api/ojs/events_query.h"
#include "api/paging.h"
#include "api/part_call.h"
#include "api/reader_pool.h"
#include "api/routes.h"
#include "api/worlds/instance_calls.h"
#include "base/quote.h"
#include "base/read_number.h"
#include "effects/event_reader.h"
#include "engine/waiting_task.h"
#include "kernel/compositions/planned_runs.h"
#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/state.h"
#include "plan/ojs/parse_workflow.h"
#include "wire/script_projection.h"

namespace pawl::api {
namespace {

constexpr size_t kEventsListedMost = 1000;
constexpr size_t kFilterEntriesMax = 100;
constexpr size_t kPagedEventsMax = 10'000;

Result<std::vector<std::string>> comma_list(const Call& call, std::string_view name,
                                            std::string_view other_name) {
  std::string text = call.query(name);
  if (text.empty()) text = call.query(other_name);
  std::vector<std::string> list;
  for (size_t at = 0; at < text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) list.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  if (list.size() > kFilterEntriesMax)
    return Error{ErrorCode::InvalidRequest, std::string(name) + " lists more than 100 entries"};
  return list;
}

Result<std::optional<EventPosition>> parse_after(const Call& call, const Store& store) {
  std::string text(call.request.header("last-event-id"));
  if (text.empty()) text = call.query("after");
  if (text.empty()) text = call.query("cursor");
  if (text.empty()) return std::optional<EventPosition>();
  auto position = EventPosition::parse(text);
  if (!position)
    return Error{ErrorCode::InvalidRequest,
                 "after must be a cursor or an event id, not " + in_quotes(text)};
  if (*position > journal_end(store))
    return Error{ErrorCode::InvalidRequest, "the cursor " + in_quotes(text) +
                                                " lies ahead of this server's journal; it was "
                                                "made by another one"};
  return position;
}

}  // namespace

Result<EventsQuery> parse_events_query(App& app, const Call& call) {
  EventsQuery query;
  query.filter.tenant = call.tenant;
  query.filter.definitions = call.surface() == Surface::V1;
  PAWL_TRY(query.filter.types, comma_list(call, "types", "type"));
  PAWL_TRY(query.filter.queues, comma_list(call, "queues", "queue"));
  PAWL_TRY(query.filter.job_types, comma_list(call, "job_types", "job_type"));
  if (std::string id = call.query("workflow_id"); !id.empty())
    query.filter.workflow = workflow_id(id, app.config().partitions).text();
  PAWL_TRY(query.after, parse_after(call, app.store()));
  query.latest = call.query("latest") == "true";
  if (std::string text = call.query("limit"); !text.empty()) {
    if (!read_number(text, query.limit) || query.limit < 1 || query.limit > kEventsListedMost)
      return Error{ErrorCode::InvalidRequest, "limit must be a whole number from 1 to 1000"};
  }
  return query;
}

namespace {

// The same events for the admin UI: newest first, with the time under the name it expects.
void render_items(json::Writer& w, const EventsQuery& query, const EventPage& page) {
  w.key("items").begin_array();
  for (auto event = page.events.rbegin(); event != page.events.rend(); ++event) {
    std::string text;
    json::Writer item(text);
    render_event(item, *event);
    text.pop_back();
    item.field_time("timestamp", event->time_ms).end_object();
    w.raw(text);
  }
  w.end_array().key("pagination").begin_object();
  w.field_int("total", page.found);
  if (page.older) w.field_bool("total_is_estimate", true);
  w.field_int("page", query.page->number);
  w.field_int("per_page", query.page->limit);
  w.field_bool("has_more", page.found > query.page->offset + query.page->limit).end_object();
}

http::Response render_page(Surface surface, const EventsQuery& query, const EventPage& page) {
  json::ObjectWriter w;
  w.key("events").begin_array();
  for (const OjsEvent& event : page.events)
    surface == Surface::V1&& event.of_definition ? render_run_event(w, event)
                                                 : render_event(w, event);
  w.end_array().field("cursor", page.next.text()).field_bool("has_more", page.more);
  if (page.more) w.field("next_cursor", page.next.text());
  if (page.gap) w.field_bool("gap", true);
  if (query.page) render_items(w, query, page);
  return json_response(surface, 200, w.close());
}

// Page 1 holds the newest events.
void answer_numbered_page(App& app, Call& call, const EventsQuery& query) {
  size_t wanted = query.page->offset + query.page->limit;
  PAWL_TRY_CALL(call, auto page, read_latest_events(app.store(), query.filter, wanted));
  size_t newer = std::min(page.events.size(), query.page->offset);
  page.events.resize(page.events.size() - newer);
  call.answer(render_page(call.surface(), query, page));
}

}  // namespace

void answer_events_page(App& app, Call& call, const EventsQuery& query) {
  if (query.page) return answer_numbered_page(app, call, query);
  ReadBudget budget{.events_max = query.limit};
  PAWL_TRY_CALL(call, auto page,
                query.latest && !query.after
                    ? read_latest_events(app.store(), query.filter, query.limit)
                    : read_events(app.store(), query.after.value_or(journal_start(app.store())),
                                  query.filter, budget));
  call.answer(render_page(call.surface(), query, page));
}

void list_events(App& app, Call&& call, EventsQuery query) {
  auto shared = std::make_shared<Call>(std::move(call));
  std::function<void()> work = [&app, shared, query = std::move(query)] {
    answer_events_page(app, *shared, query);
  };
  if (Status taken = app.readers().run(work); !taken.ok()) shared->fail(taken.error());
}

void stream_events(App& app, Call&& call, EventsQuery query, StreamStyle style) {
  EventPosition after = query.after.value_or(journal_end(app.store()));
  if (is_part(app, call)) {
    style.tells_position = true;
    style.first += position_comment(after);
  }
  Status added = app.events().add(call.responder, std::move(query.filter), after, std::move(style));
  if (!added.ok()) call.fail(added.error());
}

bool wants_stream(const Call& call) {
  std::string asked = call.query("stream");
  if (!asked.empty()) return asked == "true" || asked == "1";
  std::string_view accept = call.request.header("accept");
  if (accept.find("text/event-stream") != std::string_view::npos) return true;
  return call.surface() == Surface::V1 && accept.find("json") == std::string_view::npos;
}

namespace {

// As the admin UI asks.
Status read_page(const Call& call, EventsQuery& query) {
  bool by_number = !call.query("page").empty() || !call.query("per_page").empty();
  if (!by_number || call.surface() != Surface::Ojs || query.after) return ok_status();
  PAWL_TRY(query.page, parse_page(call));
  if (query.page->offset > kPagedEventsMax)
    return Error{ErrorCode::InvalidRequest, "page is too far back in the list; use after instead"};
  return ok_status();
}

void events(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto query, parse_events_query(app, call));
  if (wants_stream(call)) return stream_events(app, std::move(call), std::move(query));
  if (Status read = read_page(call, query); !read.ok()) return call.fail(read.error());
  list_events(app, std::move(call), std::move(query));
}

// The id may be in the query, so the error must name it.
Error no_such_workflow(const std::string& named, bool any_kind) {
  Error error{ErrorCode::NotFound, "Workflow " + named.substr(0, 128) + " not found"};
  if (!any_kind)
    error.details = {{"resource_type", "workflow"}, {"resource_id", named.substr(0, 128)}};
  return error;
}

}  // namespace

// Events of an unknown workflow would be an empty list; so the workflow is looked up first, on a
// reader thread since that waits for the engine.
void answer_workflow_events(App& app, Call&& call, const std::string& named, bool streams) {
  PAWL_TRY_CALL(call, auto query, parse_events_query(app, call));
  RunId id = workflow_id(named, app.config().partitions);
  bool any_kind = call.surface() == Surface::V1;
  (any_kind ? query.filter.run : query.filter.workflow) = id.text();
  auto shared = std::make_shared<Call>(std::move(call));
  std::function<void()> work = [&app, shared, id, any_kind, named, streams,
                                query = std::move(query)]() mutable {
    const std::string& tenant = query.filter.tenant;
    bool found = false;
    uint64_t created_sequence = 0;
    auto look = [&](const Frame& frame) {
      const Run* run = frame.state().find_run(id);
      found = run != nullptr && (tenant.empty() || run->tenant == tenant);
      if (found) created_sequence = family_of(*run).created_sequence(*run);
      if (auto planned = found ? std::nullopt : find_planned(frame.state(), id))
        found = tenant.empty() || planned->around->tenant == tenant;
    };
    if (Status ran = run_on_engine(app.engine(), look, false); !ran.ok())
      return shared->fail(ran.error());
    if (!found) return shared->fail(no_such_workflow(named, any_kind));
    if (any_kind) query.filter.tenant.clear();  // it was found to be the caller's
    if (!query.after && created_sequence > 0)
      query.after = EventPosition{created_sequence - 1, EventPosition::kAllParts};
    if (!streams) return answer_events_page(app, *shared, query);
    stream_events(app, std::move(*shared), query);
  };
  if (Status taken = app.readers().run(work); !taken.ok()) shared->fail(taken.error());
}

namespace {

void workflow_events(App& app, Call&& call) {
  bool streams =
      call.surface() == Surface::V1 ? call.query("stream") == "true" : wants_stream(call);
  auto of_any_run = [&app, streams](Call&& any) {
    std::string named = any.params[0];
    answer_workflow_events(app, std::move(any), named, streams);
  };
  if (streams || call.surface() != Surface::V1) return of_any_run(std::move(call));
  if_instance(
      app, std::move(call),
      [&app](Call&& instance, const std::string& world) {
        instance_events(app, std::move(instance), world);
      },
      of_any_run);
}

}  // namespace

void add_event_routes(Router& router) {
  router.add({"GET", "/ojs/v1/events", Permission::Read, Routing::Stream, events});
  router.add({"GET", "/v1/events", Permission::Read, Routing::Stream, events});
  router.add({"GET", "/v1/runs/{id}/events", Permission::Read, Routing::ById, workflow_events});
  router.add(
      {"GET", "/ojs/v1/workflows/{id}/events", Permission::Read, Routing::ById, workflow_events});
}

}  // namespace pawl::api
