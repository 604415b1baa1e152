#include "front/splitting.h"

#include <strings.h>

#include <map>

#include "api/part_call.h"
#include "base/json_writer.h"
#include "base/uuid.h"
#include "front/gathering.h"
#include "front/merge.h"
#include "front/placement.h"
#include "front/request_edit.h"
#include "front/sinks.h"

namespace pawl::front {
namespace {

constexpr std::string_view kBeatPattern = "/ojs/v1/workers/beat";

std::optional<uint16_t> partition_of_member(json::View object, std::string_view name,
                                            uint16_t partitions) {
  auto found = object.find(name);
  if (!found || !found->is_string()) return std::nullopt;
  return place_of_id(found->string(), partitions);
}

// POST /workers/ack and its like name the job as job_id or id.
std::optional<uint16_t> partition_of_job(json::View object, uint16_t partitions) {
  auto found = partition_of_member(object, "job_id", partitions);
  return found ? found : partition_of_member(object, "id", partitions);
}

// The members of an object but for these, as "name":value,… with a comma at the end.
std::string members_without(json::View object, std::initializer_list<std::string_view> names) {
  std::string text;
  object.each_member([&](json::View key, json::View value) {
    const std::string name = key.string();
    if (std::find(names.begin(), names.end(), name) == names.end())
      text.append(key.raw()).append(":").append(value.raw()).append(",");
  });
  return text;
}

std::string object_of(std::string members) {
  if (!members.empty()) members.pop_back();
  return "{" + members + "}";
}

std::string text_member_of(json::View object, std::string_view name) {
  auto found = object.find(name);
  return found && found->is_string() ? found->string() : "";
}

// Entries of one array, divided by the partition that has them.
struct Divided {
  std::map<uint16_t, std::vector<size_t>> by_partition;  // places in the array
  std::vector<std::string> entries;                      // as JSON

  std::string array_of(uint16_t partition) const {
    std::string text = "[";
    for (size_t place : by_partition.at(partition)) text += entries[place] + ",";
    if (text.size() > 1) text.pop_back();
    return text + "]";
  }
};

// Nothing if an entry names no job: then the call is refused as a whole, before anything happens.
std::optional<Divided> divide(json::View array, uint16_t partitions,
                              std::optional<uint16_t> (*place)(json::View, uint16_t)) {
  if (!array.is_array() || array.size() == 0) return std::nullopt;
  Divided divided;
  bool good = true;
  array.each_element([&](json::View entry) {
    const auto partition = place(entry, partitions);
    good = good && partition.has_value();
    if (!good) return;
    divided.by_partition[*partition].push_back(divided.entries.size());
    divided.entries.emplace_back(entry.raw());
  });
  return good ? std::optional(std::move(divided)) : std::nullopt;
}

std::optional<uint16_t> partition_of_text(json::View text, uint16_t partitions) {
  if (!text.is_string()) return std::nullopt;
  return place_of_id(text.string(), partitions);
}

// {"job_id", "error"} for an entry whose partition gave no answer.
std::string unanswered_entry(const std::string& entry, const http::Response& answer) {
  auto sent = json::parse(entry);
  auto said = json::parse(answer.body);
  std::string text = "{\"job_id\":";
  json::Writer(text).string(sent.ok() ? text_member_of(sent->root(), "job_id") : "");
  auto error = said.ok() ? said->root().find("error") : std::nullopt;
  text += ",\"error\":";
  text += error ? std::string(error->raw())
                : "{\"code\":\"partition_unavailable\",\"message\":\"no answer\"}";
  return text + "}";
}

// The results of all, in the order of the request.
std::vector<std::string> results_of(const Divided& divided,
                                    const std::vector<http::Response>& answers) {
  std::vector<std::string> results(divided.entries.size());
  size_t part = 0;
  for (const auto& [partition, places] : divided.by_partition) {
    const http::Response& answer = answers[part++];
    auto doc = json::parse(answer.body);
    auto list = answer.status < 400 && doc.ok() ? doc->root().find("results") : std::nullopt;
    if (!list || !list->is_array() || list->size() != places.size()) {
      for (size_t place : places) results[place] = unanswered_entry(divided.entries[place], answer);
      continue;
    }
    size_t i = 0;
    list->each_element([&](json::View result) { results[places[i++]] = result.raw(); });
  }
  return results;
}

// An open object, with a comma at its end.
std::string acked_text(const std::vector<std::string>& results) {
  bool acknowledged = true;
  std::string body = "{\"results\":[";
  for (size_t i = 0; i < results.size(); ++i) {
    body += (i > 0 ? "," : "") + results[i];
    auto doc = json::parse(results[i]);
    acknowledged = acknowledged && doc.ok() && !doc->root().find("error");
  }
  return body + "],\"acknowledged\":" + (acknowledged ? "true" : "false") + ",";
}

// Which jobs were not where their ids say. A job that was made with others under an id of its
// client may live with them: a call for it alone finds it there.
std::vector<size_t> not_found_among(const std::vector<std::string>& results) {
  std::vector<size_t> missing;
  for (size_t i = 0; i < results.size(); ++i) {
    auto doc = json::parse(results[i]);
    auto error = doc.ok() ? doc->root().find("error") : std::nullopt;
    if (error && text_member_of(*error, "code") == "not_found") missing.push_back(i);
  }
  return missing;
}

// As an entry of `results`: what a call for one job answered.
std::string result_of_one(const std::string& former, const http::Response& answer) {
  auto doc = json::parse(answer.body);
  if (answer.status >= 400 || !doc.ok()) return former;
  std::string text = "{\"job_id\":";
  json::Writer(text).string(text_member_of(doc->root(), "job_id"));
  text += ",\"state\":";
  json::Writer(text).string(text_member_of(doc->root(), "state"));
  return text + "}";
}

int strength_of(std::string_view directive) {
  return directive == "terminate" ? 2 : directive == "quiet" ? 1 : 0;
}

// A beat is acknowledged and tells nothing of lost jobs; a heartbeat does.
std::string merged_heartbeat(const std::vector<http::Response>& answers, bool is_beat) {
  std::string state = "running", extended, lost, time;
  for (const http::Response& answer : answers) {
    auto doc = json::parse(answer.body);
    if (!doc.ok()) continue;
    const std::string said = text_member_of(doc->root(), "state");
    if (strength_of(said) >= strength_of(state) && !said.empty()) state = said;
    const auto add = [&](std::string_view list, std::string& to) {
      if (auto ids = doc->root().find(list))
        ids->each_element([&](json::View id) { to.append(id.raw()).append(","); });
    };
    add("jobs_extended", extended);
    add("jobs_lost", lost);
    time = text_member_of(doc->root(), "server_time");
  }
  for (std::string* list : {&extended, &lost})
    if (!list->empty()) list->pop_back();
  json::ObjectWriter w;
  if (is_beat) w.field_bool("acknowledged", true);
  w.field("state", state).field_raw("jobs_extended", "[" + extended + "]");
  if (!is_beat) w.field_raw("jobs_lost", "[" + lost + "]");
  w.field("server_time", time);
  return w.close();
}

}  // namespace

void Splitting::answer(SplitCall call) {
  auto doc = json::parse(call.request.body);
  // Whoever gets what nobody can read refuses it.
  if (!doc.ok() || !doc->root().is_object()) return pass_whole(std::move(call), 0);
  const std::string_view path = call.route->pattern;
  const json::View body = doc->root();
  if (path == "/ojs/v1/workers/ack") return ack(std::move(call), body);
  if (path == "/ojs/v1/workers/heartbeat" || path == kBeatPattern)
    return heartbeat(std::move(call), body);
  if (path == "/ojs/v1/jobs/results") return results(std::move(call), body);
  pass_whole(std::move(call), partition_of_job(body, map_.partitions()).value_or(0));
}

void Splitting::pass_whole(SplitCall&& call, uint16_t partition) {
  Errand errand{.request = std::move(call.request), .route = call.route};
  errand.partition = partition;
  errand.sink = std::move(call.sink);
  passing_.pass(std::move(errand));
}

// --- ack

void Splitting::ack(SplitCall&& call, json::View body) {
  auto acks = body.find("acks");
  if (acks && !acks->is_null()) return ack_many(std::move(call), body, *acks);
  const uint16_t partition = partition_of_job(body, map_.partitions()).value_or(0);
  auto fetch = body.find("fetch");
  if (!fetch || fetch->is_null()) return pass_whole(std::move(call), partition);
  auto order = read_fetch_order(*fetch, call.tenant, text_member_of(body, "worker_id"));
  if (!order) return pass_whole(std::move(call), partition);
  std::vector<Part> part{{partition, object_of(members_without(body, {"fetch"}))}};
  const http::RequestParts request = call.request;
  const api::Route& route = *call.route;
  gather(passing_, request, route, std::move(part),
         [this, call = std::make_shared<SplitCall>(std::move(call)),
          order = std::move(*order)](std::vector<http::Response>&& answers) {
           http::Response& acked = answers.front();
           auto doc = json::parse(acked.body);
           if (acked.status >= 400 || !doc.ok()) return call->sink->answer(std::move(acked));
           // The worker has the job: only its outcome is returned.
           fetch_after(std::move(*call), order, "{" + members_without(doc->root(), {"job"}));
         });
}

void Splitting::ack_many(SplitCall&& call, json::View body, json::View acks) {
  auto divided = divide(acks, map_.partitions(), partition_of_job);
  auto fetch = body.find("fetch");
  std::optional<FetchOrder> order;
  if (fetch && !fetch->is_null())
    order = read_fetch_order(*fetch, call.tenant, text_member_of(body, "worker_id"));
  if (!divided || (fetch && !fetch->is_null() && !order)) return pass_whole(std::move(call), 0);
  const std::string others = members_without(body, {"acks", "fetch"});
  std::vector<Part> parts;
  for (const auto& [partition, places] : divided->by_partition)
    parts.push_back({partition, "{" + others + "\"acks\":" + divided->array_of(partition) + "}"});
  const http::RequestParts request = call.request;
  const api::Route& route = *call.route;
  gather(passing_, request, route, std::move(parts),
         [this, call = std::make_shared<SplitCall>(std::move(call)), order = std::move(order),
          divided = std::move(*divided)](std::vector<http::Response>&& answers) {
           if (answers.size() == 1 && answers.front().status >= 400)
             return call->sink->answer(std::move(answers.front()));
           ack_strays(std::move(*call), order, divided.entries, results_of(divided, answers));
         });
}

void Splitting::ack_strays(SplitCall&& call, std::optional<FetchOrder> order,
                           const std::vector<std::string>& entries,
                           std::vector<std::string> results) {
  const std::vector<size_t> missing = not_found_among(results);
  if (missing.empty()) return fetch_after(std::move(call), std::move(order), acked_text(results));
  auto doc = json::parse(call.request.body);
  std::string worker;
  if (const std::string id = text_member_of(doc->root(), "worker_id"); !id.empty()) {
    json::Writer(worker).string(id);
    worker = "\"worker_id\":" + worker + ",";
  }
  std::vector<Part> parts;
  for (size_t place : missing) {
    auto entry = json::parse(entries[place]);
    const bool named = entry->root().find("worker_id").has_value();
    parts.push_back({partition_of_job(entry->root(), map_.partitions()).value_or(0),
                     "{" + (named ? "" : worker) + entries[place].substr(1)});
  }
  // The key stands for the whole call, not for one job of it.
  http::RequestParts request = call.request;
  std::erase_if(request.headers, [](const auto& header) {
    return header.first.size() == 15 && strcasecmp(header.first.c_str(), "idempotency-key") == 0;
  });
  const api::Route& route = *call.route;
  gather(passing_, request, route, std::move(parts),
         [this, call = std::make_shared<SplitCall>(std::move(call)), order = std::move(order),
          missing, results = std::move(results)](std::vector<http::Response>&& answers) mutable {
           for (size_t i = 0; i < missing.size(); ++i)
             results[missing[i]] = result_of_one(results[missing[i]], answers[i]);
           fetch_after(std::move(*call), std::move(order), acked_text(results));
         });
}

// acked: the object of the answer, open, with a comma at its end.
void Splitting::fetch_after(SplitCall&& call, std::optional<FetchOrder> order, std::string acked) {
  if (!order) {
    acked.back() = '}';
    return call.sink->answer(api::json_response(api::Surface::Ojs, 200, std::move(acked)));
  }
  FetchDesk::Wish wish{.order = std::move(*order), .request = std::move(call.request)};
  wish.request.target = "/ojs/v1/workers/fetch";
  wish.route = call.route;
  wish.is_gone = [sink = call.sink] { return sink->disconnected(); };
  desk_.fetch(std::move(wish), [sink = call.sink, acked = std::move(acked)](FetchedJobs fetched) {
    // The acks have happened: what refuses the fetch does not take them back.
    sink->answer(api::json_response(api::Surface::Ojs, 200, jobs_body(fetched.jobs, acked)));
  });
}

// --- heartbeat

void Splitting::heartbeat(SplitCall&& call, json::View body) {
  auto jobs = body.find("active_jobs");
  const bool is_list = jobs && jobs->is_array();
  if (!is_list) jobs = body.find("active_job_ids");
  const std::string name = is_list ? "active_jobs" : "active_job_ids";
  auto divided = jobs ? divide(*jobs, map_.partitions(), partition_of_text) : std::nullopt;
  if (!divided || divided->by_partition.size() == 1) {
    const auto any = map_.any_here();
    const uint16_t alone = divided ? divided->by_partition.begin()->first : any ? any->first : 0;
    return pass_whole(std::move(call), alone);
  }
  const std::string others = members_without(body, {"active_jobs", "active_job_ids"});
  std::vector<Part> parts;
  for (const auto& [partition, places] : divided->by_partition)
    parts.push_back(
        {partition, "{" + others + "\"" + name + "\":" + divided->array_of(partition) + "}"});
  const auto told = body.find("active_jobs");
  const auto number = told ? told->as_int() : std::nullopt;
  set_header(call.request, api::kActiveJobsHeader,
             std::to_string(number.value_or(static_cast<int64_t>(jobs->size()))));
  const bool is_beat = call.route->pattern == kBeatPattern;
  gather(passing_, call.request, *call.route, std::move(parts),
         [sink = call.sink, is_beat](std::vector<http::Response>&& answers) {
           if (const http::Response* failure = failure_among(answers))
             return sink->answer(http::Response(*failure));
           sink->answer(
               api::json_response(api::Surface::Ojs, 200, merged_heartbeat(answers, is_beat)));
         });
}

// --- results of many jobs

void Splitting::results(SplitCall&& call, json::View body) {
  const std::string name = body.find("ids") ? "ids" : "job_ids";
  auto ids = body.find(name);
  auto divided = ids ? divide(*ids, map_.partitions(), partition_of_text) : std::nullopt;
  if (!divided || divided->by_partition.size() == 1)
    return pass_whole(std::move(call), divided ? divided->by_partition.begin()->first : 0);
  std::vector<Part> parts;
  for (const auto& [partition, places] : divided->by_partition)
    parts.push_back({partition, "{\"" + name + "\":" + divided->array_of(partition) + "}"});
  gather(passing_, call.request, *call.route, std::move(parts),
         [sink = call.sink, divided = *divided](std::vector<http::Response>&& answers) {
           if (const http::Response* failure = failure_among(answers))
             return sink->answer(http::Response(*failure));
           std::vector<std::string> members(divided.entries.size());
           size_t part = 0;
           for (const auto& [partition, places] : divided.by_partition) {
             auto doc = json::parse(answers[part++].body);
             auto list = doc.ok() ? doc->root().find("results") : std::nullopt;
             size_t i = 0;
             if (list)
               list->each_member([&](json::View key, json::View value) {
                 if (i < places.size())
                   members[places[i++]] = std::string(key.raw()) + ":" + std::string(value.raw());
               });
           }
           std::string all;
           for (const std::string& member : members)
             if (!member.empty()) all += (all.empty() ? "" : ",") + member;
           sink->answer(api::json_response(api::Surface::Ojs, 200, "{\"results\":{" + all + "}}"));
         });
}

}  // namespace pawl::front
