// Each merge: the answers of several partitions in, the one of the server out.
#include "front/merge.h"

#include <gtest/gtest.h>

#include "api/part_call.h"
#include "api/server_parts.h"
#include "base/base64.h"
#include "base/hash.h"
#include "base/partition.h"
#include "engine/testing/core_world.h"
#include "front/event_cursor.h"
#include "front/merge_bulk.h"
#include "front/merge_events.h"
#include "front/request_edit.h"
#include "front/worker_merge.h"

namespace pawl::front {
namespace {

using Bodies = std::vector<std::string>;

api::Route route_of(std::string_view method, std::string_view pattern) {
  return {method, pattern, api::Permission::Read, api::Routing::Gather, nullptr};
}

std::vector<http::Response> answers_of(const Bodies& bodies) {
  std::vector<http::Response> answers;
  for (const std::string& body : bodies) {
    const int status = body[0] == '{' ? 200 : std::stoi(body);
    answers.push_back({.status = status, .body = body[0] == '{' ? body : body.substr(4)});
  }
  return answers;
}

// "200 {…}" or the status alone. A body that begins with a number is an answer of that status.
std::string merged(std::string_view pattern, const std::string& target, const Bodies& bodies,
                   MergeAbout about = {}, std::string_view method = "GET",
                   const std::string& body = "") {
  const api::Route route = route_of(method, pattern);
  const http::RequestParts request{std::string(method), target, {}, body};
  const auto partitions = static_cast<uint16_t>(bodies.size());
  about.partitions = partitions;
  auto asked = ask_parts(route, request, partitions);
  if (!asked.ok()) return "400";
  http::Response answer = merge_answers(route, request, *asked, answers_of(bodies), about);
  return answer.status == 200 ? "200 " + answer.body : std::to_string(answer.status);
}

// --- which routes

TEST(Merge, EveryRouteThatAsksAllPartitionsHasItsMerge) {
  TestClock clock;
  const api::ServerParts server({}, clock);
  for (const api::Route& route : server.router().routes()) {
    const bool asks_all =
        route.routing == api::Routing::Gather || route.routing == api::Routing::Broadcast;
    const bool of_workers = route.pattern.find("/workers") != std::string_view::npos;
    EXPECT_EQ(asks_all && !of_workers, merge_rule_of(route) != nullptr)
        << route.method << " " << route.pattern;
  }
}

// --- lists

// Ids whose order is that of the number.
std::string id(int number) {
  const std::string digits = std::to_string(100 + number);
  return "00000000-0000-7000-8000-000000000" + digits;
}

std::string jobs(const std::vector<int>& numbers, int next = 0, const std::string& total = "") {
  std::string text = R"({"jobs":[)";
  for (int number : numbers) text += R"({"id":")" + id(number) + "\"},";
  if (text.back() == ',') text.pop_back();
  text += R"(],"pagination":{)" + (total.empty() ? "" : "\"total\":" + total) + "}";
  if (next != 0) text += R"(,"next_cursor":")" + id(next) + "\"";
  return text + "}";
}

std::string shown(const std::string& answer, const std::string& list = "jobs") {
  auto doc = json::parse(std::string_view(answer).substr(4));
  if (!doc.ok()) return answer;
  std::string text;
  doc->root().find(list)->each_element([&](json::View entry) {
    const std::string of = entry.find("id")->string();
    text += std::to_string(std::stoi(of.substr(of.size() - 3)) - 100) + " ";
  });
  auto next = doc->root().find("next_cursor");
  if (next && next->is_string())
    text += "then " + std::to_string(std::stoi(next->string().substr(33)) - 100);
  return text;
}

constexpr std::string_view kJobs = "/ojs/v1/jobs";
constexpr std::string_view kDead = "/ojs/v1/dead-letter";

TEST(MergeList, NewestFirst) {
  EXPECT_EQ(shown(merged(kJobs, "/ojs/v1/jobs", {jobs({9, 4}), jobs({7, 5, 1}), jobs({})})),
            "9 7 5 4 1 ");
}

TEST(MergeList, OldestFirst) {
  EXPECT_EQ(shown(merged(kDead, "/ojs/v1/dead-letter?limit=3", {jobs({4, 9}), jobs({1, 5, 7})})),
            "1 4 5 then 7");
}

TEST(MergeList, AFullPageGoesOnAtTheFirstEntryNotShown) {
  EXPECT_EQ(shown(merged(kJobs, "/ojs/v1/jobs?limit=2", {jobs({9, 4}, 2), jobs({7, 5}, 1)})),
            "9 7 then 5");
}

// What lies beyond the place where one partition stopped may not be all that is there.
TEST(MergeList, ThePageEndsWhereTheFirstPartitionStoppedLooking) {
  EXPECT_EQ(shown(merged(kJobs, "/ojs/v1/jobs?limit=5", {jobs({9}, 6), jobs({8, 7, 5, 1})})),
            "9 8 7 then 6");
  EXPECT_EQ(shown(merged(kDead, "/ojs/v1/dead-letter?limit=5", {jobs({1}, 4), jobs({2, 5, 7})})),
            "1 2 then 4");
  EXPECT_EQ(shown(merged(kJobs, "/ojs/v1/jobs", {jobs({}, 6), jobs({5})})), "then 6");
}

TEST(MergeList, TotalsAddIfAllKnowTheirs) {
  const std::string all = merged(kJobs, "/ojs/v1/jobs", {jobs({2}, 0, "1"), jobs({1}, 0, "1")});
  EXPECT_NE(all.find(R"("pagination":{"total":2,)"), std::string::npos) << all;
  EXPECT_NE(all.find(R"("total":2})"), std::string::npos) << all;
  const std::string some = merged(kJobs, "/ojs/v1/jobs", {jobs({2}, 0, "1"), jobs({1})});
  EXPECT_EQ(some.find("total"), std::string::npos) << some;
}

TEST(MergeList, AnEstimateAmongTheTotalsMakesTheirSumOne) {
  const std::string all = merged(
      kJobs, "/ojs/v1/jobs",
      {R"({"jobs":[],"pagination":{"total":5,"total_is_estimate":true}})", jobs({1}, 0, "1")});
  EXPECT_NE(all.find(R"("total":6,"total_is_estimate":true)"), std::string::npos) << all;
}

TEST(MergeList, AListIsNeverShorterBecauseAPartitionFailed) {
  EXPECT_EQ(merged(kJobs, "/ojs/v1/jobs", {jobs({2}), "503 {}"}), "503");
  EXPECT_EQ(merged(kJobs, "/ojs/v1/jobs", {jobs({2}), "400 {}"}), "400");
  EXPECT_EQ(merged(kJobs, "/ojs/v1/jobs", {jobs({2}), "{"}), "500");
}

TEST(MergeList, AnOffsetIsCutOutOfTheFirstEntriesOfAll) {
  const http::RequestParts request{"GET", "/ojs/v1/jobs?page=3&per_page=2&state=active"};
  auto asked = ask_parts(route_of("GET", kJobs), request, 2);
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked->request.target, "/ojs/v1/jobs?per_page=2&state=active&page=1");
  EXPECT_EQ(header_value(asked->request, api::kPartLimitHeader), "6");
  EXPECT_EQ(
      shown(merged(kJobs, "/ojs/v1/jobs?page=2&per_page=2", {jobs({9, 4}, 2), jobs({7, 5}, 1)})),
      "5 4 then 2");
  EXPECT_EQ(merged(kJobs, "/ojs/v1/jobs?offset=10001", {jobs({}), jobs({})}), "400");
}

TEST(MergeList, ARunOfAClientsOwnIdStandsWhereItsIdBelongs) {
  const std::string mine = "order-1";
  const std::string a = R"({"runs":[{"id":")" + mine + R"("}]})";
  const std::string b = R"({"runs":[{"id":")" + id(1) + R"("}]})";
  const std::string both = merged("/v1/runs", "/v1/runs", {b, a});
  EXPECT_LT(both.find(mine), both.find(id(1))) << both;  // derived ids are of version 8 or random
  EXPECT_EQ(both.find("pagination"), std::string::npos);
}

TEST(MergeList, WorkflowsEndWithNull) {
  const std::string end = R"({"workflows":[],"pagination":{},"next_cursor":null})";
  EXPECT_NE(
      merged("/ojs/v1/workflows", "/ojs/v1/workflows", {end, end}).find("\"next_cursor\":null"),
      std::string::npos);
}

// With hashes of its keys if they are all on the page.
std::string queues(const std::vector<std::string>& names, const std::string& last = "",
                   int total = -1) {
  std::string items, keys, hashes;
  for (const std::string& name : names) {
    const std::string comma = items.empty() ? "" : ",";
    items += comma + R"({"name":")" + name +
             R"(","depth":1,"counts":{"active":2},"paused":true,"created_at":"2026-01-0)" +
             std::to_string(names.size()) + R"(T00:00:00.000Z"})";
    keys += comma + "\"" + name + "\"";
    const uint64_t hash = hash64(name);
    hashes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  }
  std::string text = R"({"queues":[)" + items + R"(],"part_keys":[)" + keys +
                     R"(],"pagination":{)" +
                     (total < 0 ? "" : "\"total\":" + std::to_string(total)) + "}";
  if (!last.empty()) text += R"(,"next_cursor":")" + api::cursor_of_key(last) + "\"";
  if (last.empty()) text += R"(,"part_hashes":")" + base64(hashes) + "\"";
  return text + "}";
}

std::string names_in(const std::string& answer) {
  auto doc = json::parse(std::string_view(answer).substr(4));
  if (!doc.ok()) return answer;
  std::string text;
  doc->root().find("queues")->each_element([&](json::View entry) {
    text += entry.find("name")->string() + ":" + std::string(entry.find("depth")->raw()) + " ";
  });
  auto next = doc->root().find("next_cursor");
  if (next) text += "then " + *api::key_of_cursor(next->string());
  return text;
}

constexpr std::string_view kQueues = "/ojs/v1/queues";

TEST(MergeNames, EqualNamesBecomeOne) {
  const std::string all = merged(kQueues, "/ojs/v1/queues",
                                 {queues({"a", "c"}, "", 2), queues({"a", "b", "c"}, "", 3)});
  EXPECT_EQ(names_in(all), "a:2 b:1 c:2 ");
  EXPECT_NE(
      all.find(
          R"({"name":"a","depth":2,"counts":{"active":4},"paused":true,"created_at":"2026-01-02T00:00:00.000Z"})"),
      std::string::npos)
      << all;
  EXPECT_NE(all.find(R"("total":3,"page")"), std::string::npos) << all;
  EXPECT_EQ(all.find("part_"), std::string::npos) << all;
}

TEST(MergeNames, ThePageEndsAtTheFirstLastKey) {
  EXPECT_EQ(names_in(merged(kQueues, "/ojs/v1/queues?limit=3",
                            {queues({"a", "d"}, "d"), queues({"b", "c", "d"}, "d")})),
            "a:1 b:1 c:1 then c");
  EXPECT_EQ(names_in(merged(kQueues, "/ojs/v1/queues?limit=9",
                            {queues({"a", "b"}, "b"), queues({"b", "c"})})),
            "a:1 b:2 then b");
}

TEST(MergeNames, WithoutTheKeysOfAllPartitionsTheirNumberIsAnEstimate) {
  const std::string some = merged(kQueues, "/ojs/v1/queues?limit=2",
                                  {queues({"a", "b"}, "b", 10), queues({"a", "b"}, "b", 10)});
  EXPECT_NE(some.find(R"("total":10,"total_is_estimate":true)"), std::string::npos) << some;
}

TEST(MergeNames, TheHomeOfALimitKnowsItsSettings) {
  const std::string key = "k";
  const auto entry = [&](int active, int limit) {
    return R"({"items":[{"key":"k","active":)" + std::to_string(active) +
           R"(,"concurrency":{"active":)" + std::to_string(active) + R"(,"limit":)" +
           std::to_string(limit) +
           R"(,"available":0}}],"part_keys":["k"],"pagination":{"total":1}})";
  };
  Bodies bodies{entry(0, 9), entry(0, 9), entry(0, 9)};
  bodies[home_of(NameKind::Limit, "", key, 3)] = entry(2, 5);
  const std::string all = merged("/ojs/v1/rate-limits", "/ojs/v1/rate-limits", bodies);
  EXPECT_NE(all.find(R"("active":2,"concurrency":{"active":2,"limit":5,"available":3})"),
            std::string::npos)
      << all;
}

// --- things

TEST(MergeThing, OneThatOnlySomePartitionsHave) {
  const std::string path = "/ojs/v1/queues/q/priority-stats";
  const std::string pattern = "/ojs/v1/queues/{q}/priority-stats";
  const std::string a =
      R"({"queue":"q","distribution":[{"priority":10,"count":1},{"priority":-2,"count":3}],"counts_by_priority":{"-2":3,"10":1},"total":4})";
  const std::string b =
      R"({"queue":"q","distribution":[{"priority":9,"count":5},{"priority":-2,"count":1}],"counts_by_priority":{"-2":1,"9":5},"total":6})";
  EXPECT_EQ(
      merged(pattern, path, {a, "404 {}", b}),
      R"(200 {"queue":"q","distribution":[{"priority":10,"count":1},{"priority":9,"count":5},{"priority":-2,"count":4}],"counts_by_priority":{"-2":4,"10":1,"9":5},"total":10})");
  EXPECT_EQ(merged(pattern, path, {"404 {}", "404 {}"}), "404");
}

TEST(MergeThing, MeansAreWeighedByWhatTheyAreOf) {
  const auto stats = [](int done, double mean) {
    return R"({"queue":"q","completed_last_hour":)" + std::to_string(done) +
           R"(,"failed_last_hour":0,"avg_wait_ms":)" + std::to_string(mean) + "}";
  };
  EXPECT_EQ(merged("/ojs/v1/queues/{q}/stats", "/ojs/v1/queues/q/stats",
                   {stats(1, 100), stats(3, 20), stats(0, 0)}),
            R"(200 {"queue":"q","completed_last_hour":4,"failed_last_hour":0,"avg_wait_ms":40.0})");
}

TEST(MergeThing, SumsTimesAndNames) {
  EXPECT_EQ(
      merged(
          "/ojs/v1/dead-letter/stats", "/ojs/v1/dead-letter/stats",
          {R"({"total":1,"by_queue":{"a":1},"oldest_at":"2026-01-02T00:00:00.000Z","newest_at":"2026-01-02T00:00:00.000Z"})",
           R"({"total":0,"by_queue":{}})",
           R"({"total":3,"by_queue":{"a":2,"b":1},"oldest_at":"2026-01-01T00:00:00.000Z","newest_at":"2026-01-01T00:00:00.000Z","partial":true})"}),
      R"(200 {"total":4,"by_queue":{"a":3,"b":1},"oldest_at":"2026-01-01T00:00:00.000Z","newest_at":"2026-01-02T00:00:00.000Z","partial":true})");
}

TEST(MergeThing, HistoryAddsPeriodByPeriod) {
  const auto history = [](const std::string& points, const std::string& since) {
    return R"({"period":"5m","data":[)" + points + R"(],"recorded_since":")" + since + "\"}";
  };
  EXPECT_EQ(
      merged("/ojs/v1/admin/stats/history", "/ojs/v1/admin/stats/history",
             {history(R"({"timestamp":"t2","failed":1})", "s1"),
              history(R"({"timestamp":"t1","failed":2},{"timestamp":"t2","failed":4})", "s0")}),
      R"(200 {"period":"5m","data":[{"timestamp":"t1","failed":2},{"timestamp":"t2","failed":5}],"recorded_since":"s0"})");
}

TEST(MergeThing, QueuesOfTwoTenantsStayTwo) {
  const auto stats = [](const std::string& queues) {
    return R"({"stats":{"strategy":"strict_order","queues":[)" + queues + "]}}";
  };
  EXPECT_EQ(
      merged(
          "/ojs/v1/admin/scheduling/stats", "/ojs/v1/admin/scheduling/stats",
          {stats(
               R"({"queue":"q","available":1,"head_wait_ms":5},{"queue":"q","tenant_id":"t","available":1})"),
           stats(R"({"queue":"q","tenant_id":"t","available":2,"head_wait_ms":7})")}),
      R"(200 {"stats":{"strategy":"strict_order","queues":[{"queue":"q","available":1,"head_wait_ms":5},{"queue":"q","tenant_id":"t","available":3,"head_wait_ms":7}]}})");
}

TEST(MergeThing, QueuesAndWorkersOfTheServerCountOnce) {
  MergeAbout about{.now_ms = 100'000};
  about.workers = {{.id = "w1", .last_seen_ms = 90'000}, {.id = "w2", .last_seen_ms = 1'000}};
  const auto stats = [](const std::string& names, const std::string& queues) {
    return R"({"queues":)" + queues +
           R"(,"workers":7,"jobs":{"active":2,"total":2},"paused_queues":1,"part_queues":[)" +
           names + R"(],"part_paused":["b"]})";
  };
  const std::string path = "/ojs/v1/admin/stats";
  EXPECT_EQ(merged(path, path, {stats(R"("a","b")", "2"), stats(R"("b","c")", "2")}, about),
            R"(200 {"queues":3,"workers":2,"jobs":{"active":4,"total":4},"paused_queues":1})");
  const std::string objects = R"({"total":2,"active":1,"paused":1})";
  EXPECT_EQ(
      merged(path, path, {stats(R"("a","b")", objects), stats(R"("b","c")", objects)}, about),
      R"(200 {"queues":{"total":3,"active":2,"paused":1},"workers":{"total":2,"running":1,"quiet":0,"stale":1},"jobs":{"active":4,"total":4},"paused_queues":1})");
}

TEST(MergeThing, ATenantsQueuesAndWorkersCountOnce) {
  MergeAbout about{.now_ms = 100'000};
  about.workers = {{.id = "w1", .queues = {"t\x1fq"}}, {.id = "w2", .queues = {"q"}}};
  const std::string part =
      R"({"id":"t","queues":1,"total_jobs":2,"stats":{"queues":1,"workers":9},"part_queues":["t\u001fq"]})";
  EXPECT_EQ(
      merged("/ojs/v1/admin/tenants/{t}", "/ojs/v1/admin/tenants/t", {part, "404 {}", part}, about),
      R"(200 {"id":"t","queues":1,"total_jobs":4,"stats":{"queues":1,"workers":1}})");
}

// --- bulk

TEST(MergeBulk, IdsGoWhereTheirJobsAre) {
  const auto of = [](uint16_t partition) {
    return Uuid::v7(1'000, 1, partition, partition).text();
  };
  const std::string body = R"({"confirm":true,"job_ids":[")" + of(2) + "\",\"" + of(0) + R"("]})";
  const std::vector<Part> parts = divide_bulk(body, 3);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].partition, 0);
  EXPECT_EQ(parts[0].body, R"({"confirm":true,"job_ids":[")" + of(0) + R"("]})");
  EXPECT_EQ(parts[1].partition, 2);
  EXPECT_EQ(divide_bulk(R"({"confirm":true,"filter":{}})", 3).size(), 3u);
  EXPECT_EQ(divide_bulk(R"({"ids":["x"]})", 3).size(), 1u);
  EXPECT_EQ(divide_bulk("", 3).size(), 3u);
}

TEST(MergeBulk, WhatTheOthersDidIsToldIfAPartitionFails) {
  const std::string pattern = "/ojs/v1/admin/jobs/bulk/cancel";
  const std::string body = R"({"confirm":true,"filter":{}})";
  const auto report = [](int job) {
    return R"({"action":"cancel","matched":1,"succeeded":1,"items":[{"index":0,"job_id":")" +
           id(job) + R"("}],"errors":[]})";
  };
  EXPECT_EQ(merged(pattern, pattern, {report(2), "503 {}", report(1)}, {}, "POST", body),
            R"(200 {"action":"cancel","matched":2,"succeeded":2,"items":[{"index":0,"job_id":")" +
                id(1) + R"("},{"index":1,"job_id":")" + id(2) +
                R"("}],"errors":[],"partitions_failed":[1]})");
  EXPECT_EQ(merged(pattern, pattern, {"503 {}", "503 {}", "503 {}"}, {}, "POST", body), "503");
  EXPECT_EQ(merged(pattern, pattern, {"400 {}", "400 {}", "400 {}"}, {}, "POST", body), "400");
}

// --- workers

TEST(MergeWorkers, TheLastThatItSaidCountsAndCountsAdd) {
  const api::WorkerInfo early{.id = "w",
                              .state = "running",
                              .first_seen_ms = 5,
                              .last_seen_ms = 10,
                              .fetched = 3,
                              .active = 2,
                              .beat_ms = 9,
                              .queues = {"a"},
                              .hostname = "h"};
  const api::WorkerInfo late{.id = "w",
                             .state = "quiet",
                             .told = "terminate",
                             .first_seen_ms = 8,
                             .last_seen_ms = 20,
                             .fetched = 4,
                             .active = 0,
                             .beat_ms = 0,
                             .queues = {"b"}};
  for (const auto& order : {std::vector{early, late}, std::vector{late, early}}) {
    const auto merged = merge_workers({{order[0]}, {order[1], {.id = "v"}}});
    ASSERT_EQ(merged.size(), 2u);
    EXPECT_EQ(merged[0].id, "v");
    EXPECT_EQ(
        workers_text({merged[1]}),
        R"({"workers":[{"id":"w","state":"quiet","told":"terminate","first_seen_ms":5,"last_seen_ms":20,"fetched":7,"finished":0,"active":2,"beat_ms":9,"hostname":"h","pid":0,"queues":["b"]}]})");
  }
}

TEST(MergeWorkers, WhatOneNodeTellsTheOtherReadsTheSame) {
  const std::vector<api::WorkerInfo> workers{{.id = "a\"b", .queues = {"t\x1fq"}}, {.id = "c"}};
  EXPECT_EQ(workers_text(*read_workers(workers_text(workers))), workers_text(workers));
  EXPECT_FALSE(read_workers("{}").has_value());
  const WorkerOrder order = read_order(order_text({.ids = {"a", "b"}, .forget = true}));
  EXPECT_EQ(order.ids, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(order.forget);
}

// --- events

TEST(EventCursors, SayTheSameAfterwards) {
  EventCursor cursor{{{0}, {1, 0}, {uint64_t{1} << 61, 2}, {300, 3}}};
  EXPECT_EQ(EventCursor::parse(cursor.text(), 4)->positions, cursor.positions);
  EXPECT_EQ(cursor.text().find_first_of("+/= "), std::string::npos);
  EXPECT_EQ(EventCursor::parse("0", 2)->positions, std::vector<EventPosition>(2));
  for (const char* bad : {"", "1", "x", "v1.", "v1.*", "v1.AA", "v2.AQ"})
    EXPECT_FALSE(EventCursor::parse(bad, 4).ok()) << bad;
  EXPECT_FALSE(EventCursor::parse(cursor.text(), 3).ok());
  EXPECT_FALSE(EventCursor::parse(cursor.text() + "AAAA", 4).ok());
}

TEST(EventCursors, FitIntoAHeaderForAsManyPartitionsAsThereMayBe) {
  const EventCursor cursor{std::vector<EventPosition>(256, {uint64_t{1} << 40})};
  EXPECT_LT(cursor.text().size(), 3'000u);
}

OjsEvent event_at(uint64_t sequence, int64_t time_ms) {
  OjsEvent event;
  event.position = {sequence, 0};
  event.time_ms = time_ms;
  event.type = "job.enqueued";
  event.subject = std::to_string(sequence);
  event.data = "{}";
  return event;
}

std::string events_of(const std::vector<std::pair<uint64_t, int64_t>>& events, uint64_t end,
                      bool more = false) {
  json::ObjectWriter w;
  w.key("events").begin_array();
  for (const auto& [sequence, time_ms] : events) render_event(w, event_at(sequence, time_ms));
  w.end_array().field("cursor", std::to_string(end)).field_bool("has_more", more);
  return w.close();
}

std::string told(const EventsWish& wish, const Bodies& bodies) {
  auto merged = merge_events(wish, {bodies.begin(), bodies.end()});
  if (!merged.ok()) return merged.error().message;
  auto doc = json::parse(*merged);
  std::string text;
  doc->root().find("events")->each_element(
      [&](json::View event) { text += event.find("subject")->string() + " "; });
  text += "|";
  auto cursor = EventCursor::parse(doc->root().find("cursor")->string(),
                                   static_cast<uint16_t>(bodies.size()));
  for (const EventPosition& one : cursor->positions) text += " " + one.text();
  return text + (doc->root().find("has_more")->is_true() ? " more" : "");
}

TEST(MergeEvents, ByTimeAndInOrderWithinAPartition) {
  EXPECT_EQ(told({}, {events_of({{1, 10}, {2, 30}}, 9), events_of({{5, 20}, {6, 30}}, 8)}),
            "1 5 2 6 | 9 8");
}

TEST(MergeEvents, TheCursorIsBehindWhatWasShownInEach) {
  const EventsWish wish{.after = EventCursor{{{0}, {4}, {7}}}, .limit = 2};
  EXPECT_EQ(told(wish, {events_of({{1, 10}, {2, 30}}, 9), events_of({{5, 20}}, 8),
                        events_of({{8, 40}}, 8)}),
            "1 5 | 1.0 8 7 more");
}

// The next event of a partition that stopped looking may be older than what others have.
TEST(MergeEvents, NothingBeyondWhereAPartitionStoppedLooking) {
  EXPECT_EQ(told({.after = EventCursor{{{0}, {4}}}},
                 {events_of({{1, 10}}, 3, true), events_of({{5, 5}, {6, 20}}, 8)}),
            "5 1 | 3 5.0 more");
}

TEST(MergeEvents, TheNewestOfAll) {
  EXPECT_EQ(told({.limit = 2, .latest = true},
                 {events_of({{1, 10}, {2, 30}}, 9), events_of({{5, 20}, {6, 25}}, 8)}),
            "6 2 | 9 8");
}

}  // namespace
}  // namespace pawl::front
