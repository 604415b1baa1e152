#include "front/fetch_order.h"

#include <algorithm>

#include "base/json_writer.h"
#include "plan/ojs/parse_job.h"
#include "plan/ojs/queue_name.h"

namespace pawl::front {
namespace {

constexpr int64_t kJobsMost = 1'000'000;
constexpr int64_t kWaitMost = 3'600'000;

// Nothing if it is there and no whole number within the bounds.
std::optional<int64_t> number_of(json::View body, std::string_view name, int64_t fallback,
                                 int64_t least, int64_t most) {
  auto found = body.find(name);
  if (!found || found->is_null()) return fallback;
  auto number = found->as_int();
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

bool add_queue(FetchOrder& order, json::View name, std::string_view tenant) {
  if (!name.is_string()) return false;
  FetchOrder::Queue queue{name.string(), scoped_queue(tenant, name.string())};
  if (!is_queue_name(queue.name) || is_internal_queue(queue.scoped)) return false;
  order.queues.push_back(std::move(queue));
  return true;
}

bool read_queues(FetchOrder& order, json::View body, std::string_view tenant) {
  auto list = body.find("queues");
  if (!list || list->is_null()) {
    auto one = body.find("queue");
    return one && add_queue(order, *one, tenant);
  }
  bool good = list->is_array() && list->size() > 0;
  list->each_element([&](json::View name) { good = good && add_queue(order, name, tenant); });
  return good;
}

}  // namespace

std::string FetchOrder::part(const std::vector<Queue>& of, uint32_t jobs) const {
  std::string body = "{" + others + "\"count\":" + std::to_string(jobs) + ",\"queues\":";
  json::Writer w(body);
  w.begin_array();
  for (const Queue& queue : of) w.string(queue.name);
  w.end_array();
  return body + "}";
}

std::optional<FetchOrder> read_fetch_order(json::View body, std::string_view tenant,
                                           std::string_view worker_id) {
  FetchOrder order;
  if (!body.is_object() || !read_queues(order, body, tenant)) return std::nullopt;
  const auto count = number_of(body, "count", 1, 1, kJobsMost);
  const auto wait = number_of(body, "wait_ms", 0, 0, kWaitMost);
  if (!count || !wait) return std::nullopt;
  order.count = static_cast<uint32_t>(*count);
  order.wait_ms = *wait;
  bool names_worker = false;
  body.each_member([&](json::View key, json::View value) {
    const std::string name = key.string();
    if (name == "queues" || name == "queue" || name == "count" || name == "wait_ms") return;
    names_worker = names_worker || (name == "worker_id" && value.is_string());
    order.others.append(key.raw()).append(":").append(value.raw()).append(",");
  });
  if (!names_worker && !worker_id.empty()) {
    std::string text;
    json::Writer(text).string(worker_id);
    order.others += "\"worker_id\":" + text + ",";
  }
  return order;
}

}  // namespace pawl::front
