#include "front/merge_list.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "api/part_call.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "front/request_edit.h"
#include "plan/ojs/parse_workflow.h"

namespace pawl::front {
namespace {

// The keys of the list's order, so that the first entry has the smallest one.
class KeyOrder {
 public:
  explicit KeyOrder(ListOrder order) : downwards_(order == ListOrder::NewestFirst) {}
  bool operator()(const std::string& a, const std::string& b) const {
    return downwards_ ? b < a : a < b;
  }

 private:
  bool downwards_;
};

struct ListPart {
  json::Doc doc;
  std::vector<std::string> keys;
  std::vector<json::View> entries;
  std::optional<std::string> stop;  // where it stopped looking: a key
  std::optional<int64_t> total;
  bool is_estimate = false;
  std::string hashes;  // of all its keys; "" if they are not told
};

Error unreadable(size_t partition) {
  return {ErrorCode::Internal,
          "partition " + std::to_string(partition) + " gave an answer that cannot be merged"};
}

std::string shown_text(json::View object, std::string_view name) {
  auto found = object.find(name);
  return found && found->is_string() ? found->string() : "";
}

// A run of a client's own id stands where the id that follows from it belongs.
std::string id_of_entry(json::View entry, size_t partitions) {
  return workflow_id(shown_text(entry, "id"), static_cast<uint16_t>(partitions)).text();
}

bool read_keys(const ListRule& rule, json::View root, size_t partitions, ListPart& part) {
  if (rule.order != ListOrder::ByKey) {
    for (json::View entry : part.entries) part.keys.push_back(id_of_entry(entry, partitions));
    return true;
  }
  auto keys = root.find("part_keys");
  if (!keys) return part.entries.empty();
  keys->each_element([&](json::View key) { part.keys.push_back(key.string()); });
  return part.keys.size() == part.entries.size();
}

bool read_end(const ListRule& rule, json::View root, ListPart& part) {
  if (auto end = root.find("pagination")) {
    if (auto total = end->find("total")) part.total = total->as_int();
    if (auto estimate = end->find("total_is_estimate")) part.is_estimate = estimate->is_true();
  }
  if (!from_base64(shown_text(root, "part_hashes"), part.hashes)) return false;
  const std::string cursor = shown_text(root, "next_cursor");
  if (cursor.empty()) return true;
  part.stop = rule.order == ListOrder::ByKey ? api::key_of_cursor(cursor) : cursor;
  return part.stop.has_value();
}

Result<std::vector<ListPart>> read_parts(const ListRule& rule,
                                         const std::vector<std::string_view>& bodies) {
  std::vector<ListPart> parts(bodies.size());
  for (size_t k = 0; k < bodies.size(); ++k) {
    auto doc = json::parse(bodies[k]);
    if (!doc.ok()) return unreadable(k);
    ListPart& part = parts[k];
    part.doc = std::move(doc).value();
    auto list = part.doc.root().find(rule.names.front());
    if (!list || !list->is_array()) return unreadable(k);
    list->each_element([&](json::View entry) { part.entries.push_back(entry); });
    if (!read_keys(rule, part.doc.root(), bodies.size(), part) ||
        !read_end(rule, part.doc.root(), part))
      return unreadable(k);
  }
  return parts;
}

struct Place {
  uint16_t part;
  json::View entry;
};
using Places = std::map<std::string, std::vector<Place>, KeyOrder>;

// Everything before the first place where a partition stopped; that place.
std::optional<std::string> complete_entries(const ListRule& rule,
                                            const std::vector<ListPart>& parts, Places& all) {
  const KeyOrder before(rule.order);
  std::optional<std::string> stop;
  for (const ListPart& part : parts)
    if (part.stop && (!stop || before(*part.stop, *stop))) stop = part.stop;
  const bool shown_itself = rule.order == ListOrder::ByKey;  // the cursor is the last one shown
  for (size_t k = 0; k < parts.size(); ++k)
    for (size_t i = 0; i < parts[k].entries.size(); ++i) {
      const std::string& key = parts[k].keys[i];
      if (stop && !before(key, *stop) && !(shown_itself && key == *stop)) break;
      all[key].push_back({static_cast<uint16_t>(k), parts[k].entries[i]});
    }
  return stop;
}

void write_entry(json::Writer& w, const ListRule& rule, const std::string& key,
                 const std::vector<Place>& places, const void* about) {
  const bool touched = rule.finish != nullptr || (rule.joins != nullptr && places.size() > 1);
  if (!touched) {
    w.raw(places.front().entry.raw());
    return;
  }
  std::vector<Value::Object> from;
  std::vector<uint16_t> numbers;
  for (const Place& place : places) {
    auto value = Value::from(place.entry);
    if (!value.ok() || !value->is_object()) continue;
    from.push_back(std::move(value->as_object()));
    numbers.push_back(place.part);
  }
  std::vector<const Value::Object*> objects;
  for (const Value::Object& one : from) objects.push_back(&one);
  if (objects.empty()) return;
  static const Recipe kNone;
  Value::Object entry = join_objects(rule.joins != nullptr ? *rule.joins : kNone, objects);
  if (rule.finish != nullptr) rule.finish(entry, {key, numbers, from}, about);
  w.raw(Value(std::move(entry)).json());
}

// How many keys there are, those that several partitions have counting once. Nothing if a partition
// does not tell its keys.
std::optional<uint64_t> distinct_keys(const std::vector<ListPart>& parts) {
  std::set<uint64_t> hashes;
  for (const ListPart& part : parts) {
    if (part.hashes.size() != static_cast<size_t>(*part.total) * sizeof(uint64_t))
      return std::nullopt;
    for (size_t at = 0; at < part.hashes.size(); at += sizeof(uint64_t)) {
      uint64_t hash = 0;
      std::memcpy(&hash, part.hashes.data() + at, sizeof hash);
      hashes.insert(hash);
    }
  }
  return hashes.size();
}

// How many entries the whole list has.
void add_up(const ListRule& rule, const std::vector<ListPart>& parts, const Places& all,
            api::PageEnd& end) {
  uint64_t sum = 0;
  for (const ListPart& part : parts) {
    if (!part.total) return;
    sum += static_cast<uint64_t>(*part.total);
    end.total_is_estimate |= part.is_estimate;
  }
  end.total = sum;
  if (rule.joins != nullptr)
    if (const auto distinct = distinct_keys(parts)) {
      end.total = distinct;
      return;
    }
  size_t seen = 0;
  for (const auto& [key, places] : all) seen += places.size();
  if (rule.joins == nullptr || seen == 0) return;
  // Else as many count more than once as among those that the page shows.
  end.total = std::max<uint64_t>(all.size(), sum * all.size() / seen);
  end.total_is_estimate = true;
}

void write_end(json::ObjectWriter& w, const ListRule& rule, const api::Page& page,
               const api::PageEnd& end) {
  if (rule.end == ListEnd::CursorOnly) {
    if (!end.next_cursor.empty()) w.field("next_cursor", end.next_cursor);
    return;
  }
  api::write_pagination(w, page, end);
  if (rule.end == ListEnd::Pagination) return;
  if (rule.end == ListEnd::Workflows && end.next_cursor.empty()) w.key("next_cursor").null();
  if (end.total) w.field_int("total", *end.total);
}

}  // namespace

Status ask_for_list(const ListRule& rule, const api::Page& page, http::RequestParts& request) {
  if (rule.joins != nullptr) mark_part(request, api::kPartNames);
  if (rule.end == ListEnd::CursorOnly || page.offset == 0) return ok_status();
  if (page.offset > api::kPartOffsetMax)
    return Error{ErrorCode::InvalidRequest, "too far into the list; use the cursor instead"};
  edit_query(request, {{"offset", ""}, {"page", "1"}});
  set_header(request, api::kPartLimitHeader, std::to_string(page.offset + page.limit));
  return ok_status();
}

Result<std::string> merge_list(const ListRule& rule, const api::Page& page,
                               const std::vector<std::string_view>& bodies, const void* about) {
  PAWL_TRY(std::vector<ListPart> parts, read_parts(rule, bodies));
  Places all{KeyOrder(rule.order)};
  const std::optional<std::string> stop = complete_entries(rule, parts, all);
  const size_t offset = rule.end == ListEnd::CursorOnly ? 0 : page.offset;
  std::string items;
  json::Writer list(items);
  list.begin_array();
  size_t place = 0;
  api::PageFill fill(items, page.limit);
  std::string last, beyond;
  for (const auto& [key, places] : all) {
    if (place++ < offset) continue;
    if (fill.full()) {
      beyond = key;
      break;
    }
    fill.take();
    write_entry(list, rule, key, places, about);
    last = key;
  }
  list.end_array();
  api::PageEnd end;
  const bool by_key = rule.order == ListOrder::ByKey;
  if (!beyond.empty()) {
    end.next_cursor = by_key ? api::cursor_of_key(last) : beyond;
  } else if (stop) {
    end.next_cursor = by_key ? api::cursor_of_key(*stop) : *stop;
  }
  add_up(rule, parts, all, end);
  json::ObjectWriter w;
  for (std::string_view name : rule.names) w.field_raw(name, items);
  write_end(w, rule, page, end);
  return w.close();
}

}  // namespace pawl::front
