#include "front/worker_merge.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/json_writer.h"

namespace pawl::front {
namespace {

using api::WorkerInfo;

void add(WorkerInfo& known, const WorkerInfo& other) {
  if (other.last_seen_ms > known.last_seen_ms) {
    known.state = other.state;
    known.last_seen_ms = other.last_seen_ms;
    if (!other.queues.empty()) known.queues = other.queues;
    if (!other.hostname.empty()) known.hostname = other.hostname;
    if (other.pid != 0) known.pid = other.pid;
  } else {
    if (known.queues.empty()) known.queues = other.queues;
    if (known.hostname.empty()) known.hostname = other.hostname;
    if (known.pid == 0) known.pid = other.pid;
  }
  if (other.beat_ms > known.beat_ms) {
    known.beat_ms = other.beat_ms;
    known.active = other.active;
  }
  if (known.told.empty() || other.told == "terminate") known.told = other.told;
  known.first_seen_ms = std::min(known.first_seen_ms, other.first_seen_ms);
  known.fetched += other.fetched;
  known.finished += other.finished;
}

std::string text_in(json::View object, std::string_view name) {
  auto found = object.find(name);
  return found && found->is_string() ? found->string() : "";
}

int64_t number_in(json::View object, std::string_view name) {
  auto found = object.find(name);
  return found ? found->as_int().value_or(0) : 0;
}

std::vector<std::string> texts_in(json::View object, std::string_view name) {
  std::vector<std::string> texts;
  if (auto list = object.find(name))
    list->each_element([&](json::View text) {
      if (text.is_string()) texts.push_back(text.string());
    });
  return texts;
}

void write_texts(json::Writer& w, std::string_view name, const std::vector<std::string>& texts) {
  w.key(name).begin_array();
  for (const std::string& text : texts) w.string(text);
  w.end_array();
}

}  // namespace

std::vector<WorkerInfo> merge_workers(const std::vector<std::vector<WorkerInfo>>& nodes) {
  std::map<std::string, WorkerInfo> by_id;
  for (const auto& node : nodes)
    for (const WorkerInfo& worker : node) {
      const auto [at, fresh] = by_id.try_emplace(worker.id, worker);
      if (!fresh) add(at->second, worker);
    }
  std::vector<WorkerInfo> all;
  for (auto& [id, worker] : by_id) all.push_back(std::move(worker));
  return all;
}

std::string workers_text(const std::vector<WorkerInfo>& workers) {
  json::ObjectWriter w;
  w.key("workers").begin_array();
  for (const WorkerInfo& worker : workers) {
    w.begin_object().field("id", worker.id).field("state", worker.state);
    w.field("told", worker.told).field_int("first_seen_ms", worker.first_seen_ms);
    w.field_int("last_seen_ms", worker.last_seen_ms).field_int("fetched", worker.fetched);
    w.field_int("finished", worker.finished).field_int("active", worker.active);
    w.field_int("beat_ms", worker.beat_ms).field("hostname", worker.hostname);
    w.field_int("pid", worker.pid);
    write_texts(w, "queues", worker.queues);
    w.end_object();
  }
  w.end_array();
  return w.close();
}

std::optional<std::vector<WorkerInfo>> read_workers(std::string_view text) {
  auto doc = json::parse(text);
  auto list = doc.ok() ? doc->root().find("workers") : std::nullopt;
  if (!list || !list->is_array()) return std::nullopt;
  std::vector<WorkerInfo> workers;
  list->each_element([&](json::View one) {
    WorkerInfo worker;
    worker.id = text_in(one, "id");
    worker.state = text_in(one, "state");
    worker.told = text_in(one, "told");
    worker.first_seen_ms = number_in(one, "first_seen_ms");
    worker.last_seen_ms = number_in(one, "last_seen_ms");
    worker.fetched = static_cast<uint64_t>(number_in(one, "fetched"));
    worker.finished = static_cast<uint64_t>(number_in(one, "finished"));
    worker.active = static_cast<uint64_t>(number_in(one, "active"));
    worker.beat_ms = number_in(one, "beat_ms");
    worker.hostname = text_in(one, "hostname");
    worker.pid = number_in(one, "pid");
    worker.queues = texts_in(one, "queues");
    workers.push_back(std::move(worker));
  });
  return workers;
}

std::string order_text(const WorkerOrder& order) {
  json::ObjectWriter w;
  write_texts(w, "ids", order.ids);
  w.field("directive", order.directive).field_bool("forget", order.forget);
  return w.close();
}

WorkerOrder read_order(std::string_view text) {
  auto doc = json::parse(text);
  if (!doc.ok()) return {};
  auto forget = doc->root().find("forget");
  return {texts_in(doc->root(), "ids"), text_in(doc->root(), "directive"),
          forget && forget->is_true()};
}

}  // namespace pawl::front
