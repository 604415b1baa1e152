#include "front/merge_events.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_writer.h"

namespace pawl::front {
namespace {

struct EventsPart {
  json::Doc doc;
  std::vector<json::View> events;  // oldest first
  std::vector<std::string> times;
  std::vector<json::View> items;  // the same, newest first, of a page by number
  EventPosition end;              // where it continues
  bool more = false;
  bool gap = false;
  uint64_t total = 0;
  bool is_estimate = false;
  size_t taken = 0;
};

// A place in the lists of the parts.
struct EventAt {
  size_t part;
  size_t index;
};

std::string text_of_member(json::View object, std::string_view name) {
  auto found = object.find(name);
  return found && found->is_string() ? found->string() : "";
}

std::string time_of(json::View event) {
  const std::string time = text_of_member(event, "time");
  return time.empty() ? text_of_member(event, "timestamp") : time;
}

bool flag(json::View object, std::string_view name) {
  auto found = object.find(name);
  return found && found->is_true();
}

bool read_part(std::string_view body, EventsPart& part) {
  auto doc = json::parse(body);
  if (!doc.ok()) return false;
  part.doc = std::move(doc).value();
  const json::View root = part.doc.root();
  auto list = root.find("events");
  auto end = EventPosition::parse(text_of_member(root, "cursor"));
  if (!list || !list->is_array() || !end) return false;
  list->each_element([&](json::View event) {
    part.events.push_back(event);
    part.times.push_back(time_of(event));
  });
  if (auto items = root.find("items"))
    items->each_element([&](json::View item) { part.items.push_back(item); });
  part.end = *end;
  part.more = flag(root, "has_more");
  part.gap = flag(root, "gap");
  auto pagination = root.find("pagination");
  auto total = pagination ? pagination->find("total") : std::nullopt;
  if (total) part.total = static_cast<uint64_t>(total->as_int().value_or(0));
  part.is_estimate = pagination && flag(*pagination, "total_is_estimate");
  return true;
}

// Oldest first, at most `limit`; up to where a partition that has more was looked through.
std::vector<EventAt> oldest(std::vector<EventsPart>& parts, size_t limit) {
  std::vector<EventAt> chosen;
  while (chosen.size() < limit) {
    EventsPart* next = nullptr;
    for (EventsPart& part : parts) {
      if (part.taken == part.events.size()) {
        if (part.more) return chosen;
        continue;
      }
      if (next == nullptr || part.times[part.taken] < next->times[next->taken]) next = &part;
    }
    if (next == nullptr) return chosen;
    chosen.push_back({static_cast<size_t>(next - parts.data()), next->taken++});
  }
  return chosen;
}

// The newest `count`, oldest first.
std::vector<EventAt> newest(std::vector<EventsPart>& parts, size_t count) {
  for (EventsPart& part : parts) part.more = false;
  std::vector<EventAt> all = oldest(parts, SIZE_MAX);
  if (all.size() > count) all.erase(all.begin(), all.end() - static_cast<ptrdiff_t>(count));
  return all;
}

// Where each partition goes on: behind the last event that was taken, or behind what was looked
// through.
EventCursor cursor_of(const std::vector<EventsPart>& parts, const EventsWish& wish) {
  EventCursor cursor;
  for (size_t k = 0; k < parts.size(); ++k) {
    const EventsPart& part = parts[k];
    if (part.taken == part.events.size()) {
      cursor.positions.push_back(part.end);
    } else if (part.taken > 0) {
      const json::View last = part.events[part.taken - 1];
      cursor.positions.push_back(
          EventPosition::parse(text_of_member(last, "id")).value_or(EventPosition{}));
    } else {
      cursor.positions.push_back(wish.after ? wish.after->positions[k] : EventPosition{0});
    }
  }
  return cursor;
}

void write_items(json::Writer& w, const EventsWish& wish, const std::vector<EventsPart>& parts,
                 const std::vector<EventAt>& chosen) {
  uint64_t total = 0;
  bool is_estimate = false;
  for (const EventsPart& part : parts) {
    total += part.total;
    is_estimate |= part.is_estimate;
  }
  w.key("items").begin_array();
  for (auto at = chosen.rbegin(); at != chosen.rend(); ++at) {
    const EventsPart& part = parts[at->part];
    const size_t place = part.events.size() - 1 - at->index;
    if (place < part.items.size()) w.raw(part.items[place].raw());
  }
  w.end_array().key("pagination").begin_object().field_int("total", total);
  if (is_estimate) w.field_bool("total_is_estimate", true);
  w.field_int("page", wish.page->number).field_int("per_page", wish.page->limit);
  w.field_bool("has_more", total > wish.page->offset + wish.page->limit).end_object();
}

}  // namespace

Result<std::string> merge_events(const EventsWish& wish,
                                 const std::vector<std::string_view>& bodies) {
  std::vector<EventsPart> parts(bodies.size());
  for (size_t k = 0; k < bodies.size(); ++k)
    if (!bodies[k].empty() && !read_part(bodies[k], parts[k]))
      return Error{ErrorCode::Internal, "partition " + std::to_string(k) +
                                            " gave a list of events that cannot be merged"};
  std::vector<EventAt> chosen;
  if (wish.page) {
    chosen = newest(parts, wish.page->offset + wish.page->limit);
    chosen.resize(chosen.size() - std::min(chosen.size(), wish.page->offset));
  } else if (wish.latest && !wish.after) {
    chosen = newest(parts, wish.limit);
  } else {
    chosen = oldest(parts, wish.limit);
  }
  bool more = false;
  bool gap = false;
  for (const EventsPart& part : parts) {
    more |= part.more || part.taken < part.events.size();
    gap |= part.gap;
  }
  const std::string cursor = cursor_of(parts, wish).text();
  json::ObjectWriter w;
  w.key("events").begin_array();
  for (const EventAt& at : chosen) w.raw(parts[at.part].events[at.index].raw());
  w.end_array().field("cursor", cursor).field_bool("has_more", more);
  if (more) w.field("next_cursor", cursor);
  if (gap) w.field_bool("gap", true);
  if (wish.page) write_items(w, wish, parts, chosen);
  return w.close();
}

}  // namespace pawl::front
