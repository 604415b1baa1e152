#include "front/merge_bulk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/partition.h"
#include "base/uuid.h"
#include "base/value.h"

namespace pawl::front {
namespace {

// As the partitions bound them (api/ojs/bulk_jobs.cc).
constexpr size_t kIdsMax = 10'000;
constexpr size_t kItemsMax = 1'000;
constexpr size_t kErrorsMax = 100;

struct NamedJobs {
  std::string member;  // "ids" or "job_ids"
  std::vector<JobId> ids;
};

// Nothing if the body names no jobs; no ids if it does not do so well.
std::optional<NamedJobs> named_jobs(json::View body) {
  for (std::string_view name : {"ids", "job_ids"}) {
    auto list = body.find(name);
    if (!list || list->is_null()) continue;
    NamedJobs named{std::string(name), {}};
    bool good = list->is_array() && list->size() <= kIdsMax;
    if (good)
      list->each_element([&](json::View text) {
        auto id = text.is_string() ? JobId::parse(text.string()) : std::nullopt;
        good = good && id.has_value();
        if (good) named.ids.push_back(*id);
      });
    if (!good) named.ids.clear();
    return named;
  }
  return std::nullopt;
}

std::string body_for(json::View body, const std::string& member, const std::vector<JobId>& ids) {
  json::ObjectWriter w;
  body.each_member([&](json::View key, json::View value) {
    if (!key.equals(member)) w.key(key.string()).raw(value.raw());
  });
  w.key(member).begin_array();
  for (const JobId& id : ids) w.uuid(id);
  w.end_array();
  return w.close();
}

// Where a job stands in the request; those of a filter are in the order of their ids.
using Order = std::map<std::string, size_t>;

Order order_of(const std::string& body) {
  Order order;
  auto doc = json::parse(body);
  auto named = doc.ok() ? named_jobs(doc->root()) : std::nullopt;
  if (named)
    for (const JobId& id : named->ids) order.emplace(id.text(), order.size());
  return order;
}

struct Entry {
  size_t place = 0;
  std::string job;
  Value::Object members;

  bool operator<(const Entry& other) const {
    return place != other.place ? place < other.place : job < other.job;
  }
};

void collect(const Value* list, const Order& order, std::vector<Entry>& entries) {
  if (list == nullptr || !list->is_array()) return;
  for (const Value& one : list->as_array()) {
    const Value* job = one.find("job_id");
    if (job == nullptr || !job->is_string()) continue;
    const auto at = order.find(job->as_string());
    entries.push_back(
        {at == order.end() ? order.size() : at->second, job->as_string(), one.as_object()});
  }
}

Value listed(std::vector<Entry> entries, size_t most, bool numbered) {
  std::sort(entries.begin(), entries.end());
  entries.resize(std::min(entries.size(), most));
  Value::Array list;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (numbered) entries[i].members.set("index", static_cast<int64_t>(i));
    list.emplace_back(std::move(entries[i].members));
  }
  return list;
}

}  // namespace

std::vector<Part> divide_bulk(const std::string& body, uint16_t partitions) {
  std::vector<Part> parts;
  auto doc = json::parse(body);
  auto named = doc.ok() ? named_jobs(doc->root()) : std::nullopt;
  if (!named) {
    for (uint16_t k = 0; k < partitions; ++k) parts.push_back({k, body});
    return parts;
  }
  std::map<uint16_t, std::vector<JobId>> by_partition;
  for (const JobId& id : named->ids) by_partition[partition_of(id, partitions)].push_back(id);
  if (by_partition.empty()) return {{0, body}};
  for (const auto& [partition, ids] : by_partition)
    parts.push_back({partition, body_for(doc->root(), named->member, ids)});
  return parts;
}

std::string merge_bulk(const std::string& body, const std::vector<Part>& parts,
                       const std::vector<http::Response>& answers) {
  const Order order = order_of(body);
  Value::Object report;
  Value::Array failed;
  std::vector<Entry> items, errors;
  for (size_t i = 0; i < answers.size(); ++i) {
    auto answer = answers[i].status < 400 ? Value::parse(answers[i].body)
                                          : Result<Value>(Error{ErrorCode::Internal, ""});
    if (!answer.ok() || !answer->is_object()) {
      if (answers[i].status != 404) failed.emplace_back(static_cast<int64_t>(parts[i].partition));
      continue;
    }
    collect(answer->find("items"), order, items);
    collect(answer->find("errors"), order, errors);
    for (const Value::Member& member : answer->as_object()) {
      const Value* sum = report.find(member.key);
      if (sum != nullptr && sum->is_int() && member.value.is_int()) {
        report.set(member.key, sum->as_int() + member.value.as_int());
      } else if (sum == nullptr) {
        report.set(member.key, member.value);
      }
    }
  }
  const bool truncated = items.size() > kItemsMax;
  report.set("items", listed(std::move(items), kItemsMax, true));
  if (truncated) report.set("items_truncated", true);
  report.set("errors", listed(std::move(errors), kErrorsMax, false));
  if (!failed.empty()) report.set("partitions_failed", std::move(failed));
  return Value(std::move(report)).json();
}

}  // namespace pawl::front
