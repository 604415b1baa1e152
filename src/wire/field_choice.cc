#include "wire/field_choice.h"

#include <algorithm>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"

namespace pawl {
namespace {

constexpr uint32_t kDepthMax = 1'000;  // outputs may be deeper than what clients may send

using Names = std::vector<std::string_view>;

// Sorted, with those that always stay.
Names split(std::string_view fields) {
  Names names = {"id", "next_cursor"};
  while (!fields.empty()) {
    size_t end = std::min(fields.find(','), fields.size());
    names.push_back(fields.substr(0, end));
    fields.remove_prefix(std::min(end + 1, fields.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_named(const Names& names, std::string_view name) {
  constexpr std::string_view kMarker = "_omitted";
  auto has = [&](std::string_view one) {
    return std::binary_search(names.begin(), names.end(), one);
  };
  return has(name) ||
         (name.ends_with(kMarker) && has(name.substr(0, name.size() - kMarker.size())));
}

void write_chosen(json::Writer& w, json::View object, const Names& names) {
  w.begin_object();
  object.each_member([&](json::View key, json::View value) {
    std::string name = key.string();
    if (is_named(names, name)) w.field_raw(name, value.raw());
  });
  w.end_object();
}

}  // namespace

bool is_chosen(std::string_view fields, std::string_view name) {
  if (fields.empty()) return true;
  const Names names = split(fields);
  return std::binary_search(names.begin(), names.end(), name);
}

std::string keep_fields(std::string body, std::string_view member, std::string_view fields) {
  auto doc = json::parse(body, {.depth_max = kDepthMax, .nodes_max = UINT32_MAX});
  if (!doc.ok()) return body;
  const Names names = split(fields);
  json::ObjectWriter w;
  doc->root().each_member([&](json::View key, json::View value) {
    w.key(key.string());
    if (!key.equals(member)) {
      w.raw(value.raw());
    } else if (value.is_array()) {
      w.begin_array();
      value.each_element([&](json::View each) { write_chosen(w, each, names); });
      w.end_array();
    } else {
      write_chosen(w, value, names);
    }
  });
  return w.close();
}

}  // namespace pawl
