#include "front/events_question.h"

#include "api/ojs/events_query.h"
#include "api/part_call.h"
#include "base/read_number.h"
#include "base/url.h"
#include "front/placement.h"

namespace pawl::front {
namespace {

using Kind = EventsQuestion::Kind;

constexpr std::string_view kLastEventId = "last-event-id";

// The first that is given counts, as for a server with one partition.
std::string given_cursor(std::string_view last_event_id, std::string_view query) {
  if (!last_event_id.empty()) return std::string(last_event_id);
  for (std::string_view name : {"after", "cursor"})
    if (auto text = query_param(query, name); text && !text->empty()) return *text;
  return "";
}

// The id of the job or workflow whose channel it is.
std::optional<std::string> channel_of_one(const api::Call& call) {
  if (call.route->pattern != "/ojs/v1/events/stream") return std::nullopt;
  const std::string channel = call.query("channel");
  for (std::string_view kind : {"job:", "workflow:"})
    if (channel.starts_with(kind) && channel.size() > kind.size())
      return channel.substr(kind.size());
  return std::nullopt;
}

// Only this list has pages by number (api/ojs/events.cc).
bool has_page_number(const api::Call& call) {
  return call.route->pattern == "/ojs/v1/events" &&
         (!call.query("page").empty() || !call.query("per_page").empty());
}

Status read_wish(const api::Call& call, EventsQuestion& question) {
  EventsWish& wish = question.wish;
  wish.after = question.after;
  wish.latest = call.query("latest") == "true";
  (void)read_number(call.query("limit"), wish.limit);  // else the partitions refuse it
  if (question.after || !has_page_number(call)) return ok_status();
  auto page = api::parse_page(call);
  if (!page.ok()) return ok_status();  // likewise
  wish.page = std::move(page).value();
  if (wish.page->offset > api::kPartOffsetMax)
    return Error{ErrorCode::InvalidRequest, "page is too far back in the list; use after instead"};
  return ok_status();
}

}  // namespace

Result<EventsQuestion> read_events_question(const api::Call& call, uint16_t partitions) {
  EventsQuestion question;
  const std::string cursor = given_cursor(call.request.header(kLastEventId), call.request.query);
  if (auto one = channel_of_one(call)) {
    question.kind = Kind::One;
    question.partition = place_of_id(*one, partitions);
    if (!EventCursor::is_one(cursor)) return question;
  }
  if (!cursor.empty()) {
    PAWL_TRY(question.after, EventCursor::parse(cursor, partitions));
  }
  if (question.kind == Kind::One) return question;
  const bool streams = call.route->pattern == "/ojs/v1/events/stream" || api::wants_stream(call);
  question.kind = streams ? Kind::Stream : Kind::List;
  if (!streams) PAWL_TRY_DO(read_wish(call, question));
  return question;
}

http::RequestParts events_request(const http::RequestParts& request, const EventsQuestion& question,
                                  const std::optional<EventPosition>& after) {
  http::RequestParts part = request;
  mark_part(part);
  if (after) {
    drop_header(part, kLastEventId);
    edit_query(part, {{"after", after->text()}, {"cursor", ""}});
  }
  if (question.wish.page) {
    edit_query(part, {{"page", "1"}, {"offset", ""}});
    set_header(part, api::kPartLimitHeader,
               std::to_string(question.wish.page->offset + question.wish.page->limit));
  }
  return part;
}

bool names_cursor_of_all(const http::Request& request) {
  return EventCursor::is_one(request.header(kLastEventId)) ||
         (request.query.find("=v1.") != std::string_view::npos &&
          EventCursor::is_one(given_cursor("", request.query)));
}

Status localize_cursor(http::RequestParts& request, uint16_t partition, uint16_t partitions) {
  const size_t mark = request.target.find('?');
  const std::string text =
      given_cursor(header_value(request, kLastEventId),
                   mark == std::string::npos ? std::string_view()
                                             : std::string_view(request.target).substr(mark + 1));
  if (!EventCursor::is_one(text)) return ok_status();
  PAWL_TRY(EventCursor cursor, EventCursor::parse(text, partitions));
  drop_header(request, kLastEventId);
  edit_query(request, {{"after", cursor.positions[partition].text()}, {"cursor", ""}});
  return ok_status();
}

}  // namespace pawl::front
